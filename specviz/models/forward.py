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

    def crop(self, tokens_to_remove: int) -> None:
        """Transformers' own sign (5.24): a negative count drops that many tokens."""
        if not -self.length <= tokens_to_remove <= 0:
            raise ValueError(f"cannot drop {-tokens_to_remove} of {self.length} cached tokens")
        self.length += tokens_to_remove


class Stepper:
    """One model's place in one sequence. Single owner, not shared between runs; the model is never changed."""

    def __init__(self, model: Any, capacity: int) -> None:
        self.model = model
        self.length = 0
        self._capacity = capacity
        self._cache = Cache(layer_class_to_replicate=partial(BufferLayer, capacity))
        self._device = model_device(model)

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

    def _run(self, module: Any, ids: Sequence[int], logits_to_keep: int) -> Any:
        end = self.length + len(ids)
        if end > self._capacity:
            raise ValueError(f"{end} tokens do not fit the {self._capacity} places of this run")
        arguments = {
            "input_ids": torch.tensor([ids], device=self._device),
            "position_ids": torch.arange(self.length, end, device=self._device)[None],
            "cache": self._cache,
            "use_cache": True,
            "logits_to_keep": logits_to_keep,
        }
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


@lru_cache(maxsize=64)
def _forward_arguments(kind: type) -> frozenset[str]:
    return frozenset(inspect.signature(kind.forward).parameters)
