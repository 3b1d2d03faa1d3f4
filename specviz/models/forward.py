"""The one place that touches caches: feed tokens, get logits, roll back.

The key-value buffers are ours: allocated once for the run's limit; rollback moves a length and copies
nothing; sliding-window layers keep all keys and the model's own mask hides the old ones. So rollback is
exact and free for every attention model of transformers, whatever its window.
"""

import inspect
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from specviz.trace.errors import SpecvizError

_SPARE_ROWS = 8  # rows of logits that may be computed and thrown away
REFUSED = (
    "{name} cannot take part: its memory of the text cannot be rolled back ({why}), so a rejected draft would "
    "stay in it. Choose a model with attention layers only."
)


class BufferLayer(CacheLayerMixin):
    """Keys and values of one layer, [1, heads, capacity, head_dim], of which the first `length` count."""

    is_sliding = False
    is_croppable = True

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.length = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        # key_states, value_states: [1, heads, new, head_dim]; their head_dim may differ
        self.keys = key_states.new_empty((*key_states.shape[:2], self.capacity, key_states.shape[3]))
        self.values = value_states.new_empty((*value_states.shape[:2], self.capacity, value_states.shape[3]))
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[2]
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        return self.length

    def get_max_length(self) -> int:
        return -1  # not a static cache: the views that `update` returns have the true length

    def pick(self, base: int, places: Sequence[int]) -> None:
        """Of what follows the first `base` tokens keep those at `places` (absolute), moved together in this order."""
        end = base + len(places)
        if list(places) != list(range(base, end)):
            index = torch.tensor(list(places), device=self.keys.device)
            self.keys[:, :, base:end] = self.keys[:, :, index]  # indexing copies, so overlaps do no harm
            self.values[:, :, base:end] = self.values[:, :, index]
        self.length = end

    def crop(self, tokens_to_remove: int) -> None:
        """Transformers' own sign (5.24): a negative count drops that many tokens."""
        if not -self.length <= tokens_to_remove <= 0:
            raise ValueError(f"cannot drop {-tokens_to_remove} of {self.length} cached tokens")
        self.length += tokens_to_remove


class Tree:
    """The shape of the tokens fed since `base`: `parents` index them, -1 stands for the sequence before."""

    def __init__(self, base: int) -> None:
        self.base = base
        self.parents: list[int] = []

    def depths(self) -> list[int]:
        """Tokens between the sequence and each node."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return depths

    def positions(self, first: int, whole: bool = False) -> Tensor:
        """Position of each node from `first` on; `whole`: of the sequence too."""
        nodes = self.base + torch.tensor(self.depths()[first:])
        return torch.cat([torch.arange(self.base), nodes]) if whole else nodes

    def visible(self, first: int) -> Tensor:
        """[R, base + nodes] bool: what each node from `first` on attends to."""
        seen = torch.zeros(len(self.parents), len(self.parents), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] = seen[parent]
            seen[node, node] = True
        return torch.cat([torch.ones(len(seen) - first, self.base, dtype=torch.bool), seen[first:]], dim=1)


class Stepper:
    """One model's place in one sequence. Single owner, not shared between runs; the model is never changed."""

    def __init__(self, model: Any, capacity: int) -> None:
        self.model = model
        self.length = 0
        self._tree: Tree | None = None
        self._capacity = capacity
        self._cache = Cache(layer_class_to_replicate=partial(BufferLayer, capacity))
        self._device = model_device(model)

    @property
    def bytes(self) -> int:
        """Bytes of the key-value buffers; 0 before the first token."""
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in self._cache.layers if layer.is_initialized)

    @torch.inference_mode()
    def feed(self, ids: Sequence[int], keep: int = 1) -> Tensor:
        """Append `ids` (at least one) and return the logits of the last `keep` of them, [keep, V], as computed.

        Raises SpecvizError if the model did not store every token in the cache it was given.
        """
        # A few rows too many cost nothing, while a sliced input to the output layer costs a lot: in bfloat16 on a
        # CPU oneDNN refuses its stride and a reference kernel takes over (450 ms in place of 12 for 896 x 151,936).
        wanted = len(ids) if len(ids) - keep <= _SPARE_ROWS else keep
        return self._run(self.model, ids, logits_to_keep=wanted).logits[0, -keep:]

    @torch.inference_mode()
    def absorb(self, ids: Sequence[int]) -> None:
        """Append `ids` (at least one) without logits: of a prompt nothing but the keys and values is needed."""
        body = getattr(self.model, "base_model", self.model)
        self._run(body if "cache" in _forward_arguments(type(body)) else self.model, ids, logits_to_keep=1)

    @torch.inference_mode()
    def feed_tree(self, ids: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Append the nodes `ids` of a tree and return their logits, [len(ids), V].

        parents: the index of the token before each one, counted over all tokens fed since the tree began; -1 for one
        that follows the sequence. Each node sees the sequence, its ancestors and itself; its position is its depth.
        The tree ends with `keep_path`.
        """
        if self._tree is None:
            self._tree = Tree(self.length)
        first = len(self._tree.parents)
        self._tree.parents += parents
        visible = self._tree.visible(first)  # [R, length + R] bool
        options = {"position_ids": self._tree.positions(first).to(self._device)[None]}
        options["attention_mask"] = self._masks(visible.to(self._device), options["position_ids"][0])
        return self._run(self.model, ids, logits_to_keep=len(ids), **options).logits[0]

    @torch.inference_mode()
    def keep_path(self, indices: Sequence[int]) -> None:
        """End the tree: of its tokens only those at `indices` (in feeding order, root first) stay in the cache."""
        if self._tree is None:
            raise ValueError("no tree was fed")
        base, self._tree = self._tree.base, None
        for layer in self._cache.layers:
            layer.pick(base, [base + i for i in indices])
        self.length = base + len(indices)
        self._assert_length()

    def _masks(self, visible: Tensor, positions: Tensor) -> Any:
        """What the model takes as its attention mask: one [1, 1, R, T] of 0 and -inf, or one per kind of layer."""
        config = self.model.config.get_text_config()
        window = getattr(config, "sliding_window", None)
        kinds = set(getattr(config, "layer_types", None) or ())
        full = _additive(visible, self.model.dtype)
        if not window or kinds == {"full_attention"}:
            return full
        distance = positions[:, None] - self._tree.positions(0, whole=True).to(positions.device)[None]
        sliding = _additive(visible & (distance < window), self.model.dtype)
        if len(kinds) <= 1:
            return sliding
        return {"full_attention": full, "sliding_attention": sliding}

    def _run(self, module: Any, ids: Sequence[int], logits_to_keep: int, **options: Any) -> Any:
        end = self.length + len(ids)
        if end > self._capacity:
            raise ValueError(f"{end} tokens do not fit the {self._capacity} places of this run")
        arguments = {
            "input_ids": torch.tensor([ids], device=self._device),
            "position_ids": torch.arange(self.length, end, device=self._device)[None],
            "cache": self._cache,
            "use_cache": True,
            "logits_to_keep": logits_to_keep,
        } | options
        known = _forward_arguments(type(module))
        out = module(**{name: value for name, value in arguments.items() if name in known})
        self.length = end
        self._assert_length()
        return out

    def rollback(self, count: int) -> None:
        """Forget the last `count` tokens."""
        if count:
            self._cache.crop(-count)
            self.length -= count
            self._assert_length()

    def _assert_length(self) -> None:
        layers = self._cache.layers
        if not layers or any(layer.get_seq_length() != self.length for layer in layers):
            name = type(self.model).__name__
            raise SpecvizError(REFUSED.format(name=name, why="some layers did not use the key-value cache"))


def _additive(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """[R, T] bool -> [1, 1, R, T] in the model's dtype, 0 where visible and the least number elsewhere."""
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill(~visible, torch.finfo(dtype).min)[None, None]


def synchronize(devices: Iterable[torch.device]) -> None:
    """Wait for the GPUs among `devices`, so that a clock read after this includes the work before it."""
    for device in devices:
        if device.type == "cuda":
            torch.cuda.synchronize(device)


def model_device(model: Any) -> torch.device:
    """Where a model takes its ids: the device of its input embeddings."""
    return model.get_input_embeddings().weight.device


@torch.inference_mode()
def require_rollback(model: Any, name: str) -> None:
    """Raise SpecvizError, with the reason, if a rejected token would leave something behind in `model`.

    Feeds a few tokens, rolls one back and compares with a fresh run of the same shapes: the logits must agree.
    It also warms the model up.
    """
    if getattr(model, "_is_stateful", False):
        raise SpecvizError(REFUSED.format(name=name, why="recurrent layers keep one running state"))
    if why := _why_not(model):
        raise SpecvizError(REFUSED.format(name=name, why=why))


def _why_not(model: Any) -> str | None:
    used, fresh = Stepper(model, 8), Stepper(model, 8)
    try:
        used.feed([0, 1])
        used.feed([2])
        used.rollback(1)
        after = used.feed([1]).float()
        fresh.feed([0, 1])
        before = fresh.feed([1]).float()
    except SpecvizError:
        return "some layers did not use the key-value cache"
    except torch.OutOfMemoryError:
        return "there is not even memory for three tokens"
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        return f"it refused the key-value cache: {str(error).splitlines()[0][:160]}"
    if torch.allclose(after, before, rtol=1e-3, atol=1e-3, equal_nan=True):
        return None
    return "a test rollback changed its next prediction"


@torch.inference_mode()
def tree_problem(model: Any) -> str | None:
    """Why `model` cannot judge a tree (None: it can): each row of a small tree must equal a forward of its own path.

    Some attention kernels ignore a mask of this shape. Compares the next logits after the tree, too.
    """
    ids, parents = [1, 2, 3, 2, 1], [-1, 0, 0, 1, 2]
    try:
        used = Stepper(model, 12)
        used.feed([0, 1, 2])
        rows = used.feed_tree(ids, parents).float()
        used.keep_path([0, 2, 4])
        after = used.feed([2]).float()
        for row, path in enumerate([[0], [0, 1], [0, 2], [0, 1, 3], [0, 2, 4]]):
            fresh = Stepper(model, 12)
            alone = fresh.feed([0, 1, 2, *(ids[i] for i in path)]).float()
            if not _close(rows[row], alone[0]):
                return "its attention does not keep the branches of a tree apart"
        if not _close(after, fresh.feed([2]).float()):
            return "its cache does not hold the accepted path alone"
    except torch.OutOfMemoryError:
        raise  # says nothing of the model, so it must not be remembered
    except (SpecvizError, AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        return f"it refused the mask of a tree: {str(error).splitlines()[0][:160]}"
    return None


def _close(one: Tensor, other: Tensor) -> bool:
    """Equal up to what half precision changes in other shapes (a leaking sibling changes far more)."""
    return bool((one - other).abs().amax() <= 5e-2 * other.abs().amax().clamp(min=1e-6))


@lru_cache(maxsize=64)
def _forward_arguments(kind: type) -> frozenset[str]:
    return frozenset(inspect.signature(kind.forward).parameters)
