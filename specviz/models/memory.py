"""Bytes that a pair takes and reads: of loaded models, or of skeletons without weights; and the bytes there are.

A skeleton has the shapes of its model, and the engine itself runs on it: what its cache would hold is what the cache
of the loaded model will hold, whatever the family.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from specviz.models.forward import REFUSED, Stepper
from specviz.trace.errors import SpecvizError

_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")  # names of other families
_CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk", "moe_k", "moe_top_k")
_ATTENTION = frozenset({"full_attention", "sliding_attention", "chunked_attention"})
_GROUPS = (  # limit, use and statistics of a container's memory: cgroup versions 2 and 1
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)


def weight_bytes(*modules: nn.Module) -> int:
    """Parameters and buffers together; a tensor that several layers or modules share is counted once."""
    tensors = {id(tensor): tensor for module in modules for tensor in (*module.parameters(), *module.buffers())}
    return sum(tensor.nbytes for tensor in tensors.values())


def cache_bytes(model: Any, capacity: int, name: str = "This model") -> int:
    """Key-value buffers for `capacity` tokens of one sequence, as `Stepper` makes them.

    Sliding-window layers keep all keys, so their window saves nothing. Raises SpecvizError if the model does not keep
    its memory of the text in such buffers, or if there is no memory for them.
    """
    stepper = Stepper(model, capacity)
    try:
        stepper.absorb([0])
        return stepper.bytes
    except SpecvizError:
        why = "some layers did not use the key-value cache"
    except (torch.OutOfMemoryError, MemoryError):
        raise SpecvizError(f"There is no memory for the key-value cache of {capacity:,} tokens.") from None
    except (AttributeError, IndexError, TypeError, ValueError, NotImplementedError, RuntimeError) as error:
        if "memory" in str(error):  # a CPU's allocator raises a plain RuntimeError
            raise SpecvizError(f"There is no memory for the key-value cache of {capacity:,} tokens.") from None
        why = "it refused the key-value cache"
    raise SpecvizError(REFUSED.format(name=name, why=why))


def running_state(model: Any) -> str | None:
    """Why rejected tokens cannot be taken out of a model's memory: layers that keep one running state; None if none."""
    kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or ())
    if other := sorted(str(kind) for kind in kinds - _ATTENTION):
        mixed = "hybrid: beside attention it has" if kinds & _ATTENTION else "recurrent: it has"
        return f"it is {mixed} layers of the kind {', '.join(other)[:60]!r}, which keep one running state"
    return "recurrent layers keep one running state" if getattr(model, "_is_stateful", False) else None


def logits_bytes(width: int, gamma: int, itemsize: int, drafts: bool) -> int:
    """What one round holds per vocabulary entry, the prompt's passes compute none.

    gamma + 1 rows of the target as it computes them (`itemsize`) and twice in float32, as scores and as p; of a draft
    gamma rows of q in float32.
    """
    rows = gamma + 1
    return width * (rows * (itemsize + 8) + (4 * gamma if drafts else 0))


def parameters(model: Any, tokens: int | None = None) -> float:
    """How many parameters there are; tokens: how many take part in a pass over so many tokens (see `read_bytes`)."""
    if tokens is None:
        return sum(p.numel() for p in model.parameters())
    return _taking_part(model, tokens, torch.numel)


def read_bytes(model: Any, tokens: int = 1) -> float:
    """Bytes of weights that a pass over `tokens` tokens reads.

    All but embeddings that only look rows up, and of a mixture's experts those that are chosen at least once if every
    token chose its own at random: a share of 1 - (1 - chosen / experts)^tokens.
    """
    return _taking_part(model, tokens, lambda p: p.nbytes)


def experts(model: Any) -> tuple[int, int] | None:
    """(experts of a layer, how many of them each token takes); None if the model is no mixture of experts."""
    config = model.config.get_text_config()
    count, chosen = (
        next((n for key in keys if isinstance(n := getattr(config, key, None), int)), 0) for keys in (_EXPERTS, _CHOSEN)
    )
    return (count, chosen) if count > 1 and 0 < chosen <= count else None


def free_bytes(device: str, root: Path = Path("/")) -> int | None:
    """Memory that `device` has to spare now, within the limit of a container; None if the system does not say."""
    if device.startswith("cuda"):
        return torch.cuda.mem_get_info(device)[0]
    rooms = [_in_container(root, *names) for names in _GROUPS]
    if found := _number(root / "proc/meminfo", r"MemAvailable:\s*(\d+) kB"):
        rooms.append(1024 * found)
    return min((room for room in rooms if room is not None), default=None)


def _taking_part(model: Any, tokens: int, measure: Callable[[Tensor], int]) -> float:
    mixture = experts(model)
    share = 1.0 if mixture is None else 1 - (1 - mixture[1] / mixture[0]) ** tokens
    head = getattr(getattr(model, "get_output_embeddings", lambda: None)(), "weight", None)
    looked_up = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)} - {id(head)}
    return sum(
        measure(p) * (share if ".experts." in name else 1.0)
        for name, p in model.named_parameters()
        if id(p) not in looked_up
    )


def _in_container(root: Path, limit: str, used: str, statistics: str) -> int | None:
    """What a cgroup leaves: its limit less its use, of which files that can be read again do not count."""
    folder = root / "sys/fs/cgroup"
    most, now = _number(folder / limit, r"(\d+)\s*$"), _number(folder / used, r"(\d+)\s*$")
    if most is None or now is None:
        return None
    return max(0, most - now + (_number(folder / statistics, r"(?m)^(?:total_)?inactive_file (\d+)") or 0))


def _number(file: Path, pattern: str) -> int | None:
    """The first match in a file of the system; None if there is no such file or match."""
    try:
        match = re.search(pattern, file.read_text())
    except OSError:
        return None
    return int(match[1]) if match else None
