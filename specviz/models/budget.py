"""Findings on memory: weights, caches and logits against what a device has to spare. The seed's third criterion."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import floor

from specviz.models.examined import Examined
from specviz.models.memory import cache_bytes, free_bytes, logits_bytes, weight_bytes
from specviz.trace.errors import SpecvizError
from specviz.trace.findings import Finding, Number

_NEARLY_FULL = 0.9  # of the free memory: beyond, little is left for what the layers compute on the way
_FEW = 64  # tokens: a context so short helps nobody


def memory(
    models: Sequence[Examined],
    others: Sequence[Number],
    context: int,
    gamma: int,
    device: str,
    free: int | None,
    beside: Sequence[Examined] = (),
) -> list[Finding]:
    """What the pair takes: computed from shapes, and measured where it is loaded.

    models: the target, then the draft if there is one. others: what else is loaded with them, in bytes; a part that
    is not known is named and left out of the sums. context: tokens of prompt and output. free: bytes that `device`
    has to spare; None if not known. beside: models among the others, which have caches too (as many tokens, if they
    are of their own: a text may take more). The weights of loaded models are there already, so only the rest must
    still fit.
    """
    try:
        weights = [_weights(model) for model in models]
        caches = [_cache(model, context, free) for model in (*models, *beside)]
    except SpecvizError as error:
        return [Finding("memory", "fault", str(error), "Choose a smaller context or a smaller model.")]
    unknown, others = [n for n in others if _known(n) is None], [n for n in others if _known(n) is not None]
    both = Number(
        "weights and caches",
        "the sum of the above",
        _sum([n.computed for n in (*weights, *others, *caches)]),
        _sum([n.measured for n in (*weights, *others, *caches)]),
    )
    numbers = (*weights, *others, *caches, both, *unknown, *_rest(models, both, gamma, device, free))
    held, growing = _sum(map(_known, (*weights, *others))), _sum(map(_known, caches))
    if held is None or growing is None:
        what = "How much memory they take cannot be told from their configurations and files."
        return [Finding("memory", "note", what, "Watch the memory.", numbers, "bytes")]
    loaded = models[0].loaded is not None
    total = held + growing + next(n.computed for n in numbers if n.name == "logits")
    tokens = models[0].capacity(context)
    finding = _judged(total, total - held if loaded else total, growing, tokens, device, free, numbers)
    if unknown:
        names = " and ".join(n.name for n in unknown)
        said = f"{finding.sentence} Not counted, as the files do not tell: {names}."
        finding = replace(finding, sentence=said, level="note" if finding.level == "ok" else finding.level)
    return [finding, *([] if loaded else _passes_through_main_memory(weights, device))]


def _weights(model: Examined) -> Number:
    measured = None if model.loaded is None else weight_bytes(model.loaded)
    return Number(f"{model.role} weights", "parameters and buffers, shared ones once", model.weights(), measured)


def _cache(model: Examined, context: int, free: int | None) -> Number:
    """A loaded model's buffers are really made, unless there is no room for them. Raises SpecvizError as that does."""
    capacity, computed, measured = model.capacity(context), model.room(context), None
    if model.loaded is not None and not (computed and free is not None and computed > free):
        measured = cache_bytes(model.loaded, capacity, model.title)
    about = f"keys and values of {capacity:,} tokens, in buffers made once for a run"
    return Number(f"{model.role} cache", about, computed, measured)


def _rest(
    models: Sequence[Examined], both: Number, gamma: int, device: str, free: int | None
) -> tuple[Number, Number, Number]:
    """Logits, the sum of all, and what is there."""
    target = models[0]
    logits = logits_bytes(target.width, gamma, target.model.dtype.itemsize, len(models) > 1)
    about = f"rows of target, p and q in a round with {gamma} drafts; the prompt's passes compute none"
    total = None if both.computed is None else both.computed + logits
    return (
        Number("logits", about, logits),
        Number("all together", "weights, caches and logits; what layers compute on the way comes on top", total),
        Number(f"free on {device}", "what the device had to spare when it was asked", measured=free),
    )


def _judged(
    total: float, needed: float, caches: float, context: int, device: str, free: int | None, numbers: tuple[Number, ...]
) -> Finding:
    """total: bytes of all; needed: of these, what is not there yet; caches: of these, what grows with the context."""
    what = f"Weights, caches for {context:,} tokens and logits take {_size(total)}"
    if needed != total:
        what += f", {_size(needed)} of them beside the loaded weights"
    if free is None:
        what = f"{what}; what {device} has to spare is not known."
        return Finding("memory", "note", what, "Watch the memory.", numbers, "bytes")
    what = f"{what}; {device} has {_size(free)} to spare."
    if needed <= _NEARLY_FULL * free:
        return Finding("memory", "ok", what, "", numbers, "bytes")
    tokens = floor(context * max(0.0, _NEARLY_FULL * free - (needed - caches)) / caches) if caches else 0
    do = f"A context of {tokens:,} tokens would fit." if tokens >= _FEW else "Choose smaller models or a shorter dtype."
    return Finding("memory", "fault" if needed > free else "warning", what, do, numbers, "bytes")


def _passes_through_main_memory(weights: Sequence[Number], device: str) -> list[Finding]:
    """Before they move to a GPU, weights are read into main memory, one model after the other."""
    room = free_bytes("cpu") if device.startswith("cuda") else None
    largest = max(n.computed for n in weights)
    if room is None or largest <= room:
        return []
    what = f"Main memory has {_size(room)} to spare, and models pass through it: the larger takes"
    return [Finding("memory", "warning", f"{what} {_size(largest)}.", "Close other programs before you load it.")]


def _known(number: Number) -> float | None:
    """The computed value, else the measured one."""
    return number.measured if number.computed is None else number.computed


def _sum(values: Iterable[float | None]) -> float | None:
    """None if one is not known."""
    values = list(values)
    return None if None in values else sum(values)


def _size(size: float) -> str:
    """In a sentence: megabytes, from one gigabyte on gigabytes."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
