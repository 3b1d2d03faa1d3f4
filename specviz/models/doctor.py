"""The pair doctor: may these two work together here, is it worth a try, and if not, what to do.

`examine` looks before anything is loaded, at configurations, tokenizers and headers of weight files; `examine_pair`
looks at a loaded pair, and adds what is measured.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from traceback import format_exception
from typing import Any

import torch

from specviz.models import budget, compatible, sizes
from specviz.models.catalog import PARTS
from specviz.models.examined import Examined
from specviz.models.loading import load_skeleton, place
from specviz.models.memory import free_bytes, weight_bytes
from specviz.models.pair import Pair
from specviz.models.stored import read_stored
from specviz.trace.errors import SpecvizError
from specviz.trace.findings import VERDICTS, Finding, Number
from specviz.trace.measured import StepTimes

logger = logging.getLogger(__name__)
USUAL_CONTEXT = 4096  # tokens of prompt and output together
_LONGEST_DRAFT, _LONGEST_CONTEXT = 64, 100_000_000
_FOREIGN = PARTS["foreign"]


@dataclass(frozen=True, slots=True)
class _Use:
    """What a pair is to be used for, and where. free: bytes that the device has to spare, None if not known."""

    context: int | None
    gamma: int
    dtype: torch.dtype
    device: str
    free: int | None
    steps: Sequence[StepTimes] = ()


@dataclass(slots=True)
class _Pair:
    """What is examined; what could not be read is None, and a finding says why.

    beside: a further draft with a tokenizer of its own, of which only the memory counts. others: weights of what is
    loaded beside target and draft.
    """

    target: Examined | None = None
    draft: Examined | None = None
    beside: list[Examined] = field(default_factory=list)
    others: list[Number] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)

    @property
    def models(self) -> list[Examined]:
        return [model for model in (self.target, self.draft) if model is not None]


def examine(
    target: str,
    draft: str | None = None,
    *,
    tokenizer: str | None = None,
    others: Sequence[str] = (),
    context: int | None = None,
    gamma: int = 4,
    dtype: str | None = None,
    device: str | None = None,
    free: int | None = None,
) -> list[Finding]:
    """Findings on a target and a draft by folder or hub name, without their weights; the last one is the verdict.

    tokenizer: where that of both is, if not with each. others: what else would be loaded with them (heads, a further
    draft). context: tokens of prompt and output, by default as many as the target takes, at most 4096. dtype, device:
    as in `load_pair`. free: bytes that the device has to spare; the system is asked if None. What cannot be found or
    loaded is a finding, too.
    Raises SpecvizError for a gamma or a context that no run can have.
    """
    _require(context, gamma)
    try:
        kind, where = place(dtype, device)
    except SpecvizError as error:
        return _concluded([Finding("dtype" if error.field == "dtype" else "device", "fault", str(error))])
    use = _Use(context, gamma, kind, where, free_bytes(where) if free is None else free)
    pair = _Pair()
    pair.target = _read(pair, "target", target, kind, tokenizer)
    pair.draft = None if draft is None else _read(pair, "draft", draft, kind, tokenizer)
    for name in others:
        _look_beside(pair, name, kind)
    return _concluded(_findings(pair, use))


def examine_pair(
    pair: Pair,
    *,
    context: int | None = None,
    gamma: int = 4,
    free: int | None = None,
    steps: Sequence[StepTimes] = (),
) -> list[Finding]:
    """Findings on a loaded pair: those of `examine`, with what its weights and caches were measured to take.

    steps: measured times of the target's passes over 1 and gamma + 1 tokens and of the draft's over 1; with them the
    speed is judged as measured. Raises SpecvizError as `examine` does.
    """
    _require(context, gamma)
    device = pair.target_info.device
    use = _Use(context, gamma, pair.target.dtype, device, free_bytes(device) if free is None else free, steps)
    seen = _Pair(Examined.of_loaded("target", pair.target_info.name, pair.target, pair.tokenizer))
    for need, problem in pair.problems.items():
        seen.found.append(Finding("loading", "fault" if need == "draft" else "note", problem))
    if pair.draft is not None:
        tokenizer = pair.draft_tokenizer or pair.tokenizer
        seen.draft = Examined.of_loaded("draft", pair.draft_info.name, pair.draft, tokenizer)
    elif pair.foreign is not None:
        seen.draft = Examined.of_loaded("draft", pair.foreign.info.name, pair.foreign.model, pair.foreign.tokenizer)
    beside = {"Medusa heads": pair.medusa, _FOREIGN: pair.draft and pair.foreign}
    for name, part in beside.items():
        if part is not None:
            size = weight_bytes(getattr(part, "model", part))
            seen.others.append(Number(name, "parameters and buffers, loaded with the pair", size, size))
    if pair.draft is not None and pair.foreign is not None:
        seen.beside.append(Examined.of_loaded(_FOREIGN, pair.foreign.info.name, pair.foreign.model, None))
    return _concluded(_findings(seen, use))


def verdict(findings: Sequence[Finding]) -> Finding:
    """What the findings come to, with the reason that counts most; its level is a key of `VERDICTS`."""
    by_level = {level: [f for f in findings if f.level == level] for level in VERDICTS}
    foreign = [f for f in by_level["warning"] if f.topic == "vocabulary"]
    if by_level["fault"]:
        level, reasons = "fault", by_level["fault"]
    elif foreign:
        level, reasons = "warning", foreign
    else:
        reasons = by_level["warning"] + by_level["note"]
        level = "note" if reasons else "ok"
    if not reasons:
        return Finding("verdict", level, f"{VERDICTS[level]}.")
    return Finding("verdict", level, f"{VERDICTS[level]}: {reasons[0].sentence}", reasons[0].advice)


def _findings(pair: _Pair, use: _Use) -> list[Finding]:
    """All topics, in the order in which a reader asks: can it be had, can it work, is it quick, is there room."""
    found, target, draft = pair.found, pair.target, pair.draft
    context = use.context or (target.capacity(USUAL_CONTEXT) if target else USUAL_CONTEXT)
    for model in pair.models:
        found += _checked(compatible.files, model)
        found += _checked(compatible.custom_code, model)
        found += _checked(compatible.quantisation, model)
        found += _checked(compatible.cache, model, context)
    found += _checked(compatible.precision, pair.models, use.dtype, use.device)
    if target is None:
        return found
    if draft is not None:
        found += _checked(compatible.vocabulary, target, draft)
        found += _checked(compatible.family, target, draft)
    found += _checked(compatible.ends, target, draft)
    found += _checked(compatible.chat_template, target, draft)
    found += _checked(compatible.context, target, draft, context)
    if draft is not None:
        found += _checked(sizes.size, target, draft, use.gamma, use.steps)
        found += _checked(sizes.speed, target, draft, use.gamma, use.steps)
    for model in pair.models:
        found += _checked(sizes.mixture, model, use.gamma)
    if not any(f.topic == "cache" and f.level == "fault" for f in found):  # else there is nothing to add up
        parts = (pair.models, pair.others, context, use.gamma, use.device, use.free, pair.beside)
        found += _checked(budget.memory, *parts)
    return found


def _checked(check: Callable[..., list[Finding]], *arguments: Any) -> list[Finding]:
    """Files of unknown origin may hold anything: a check that stumbles over them is a finding, not the end."""
    try:
        return check(*arguments)
    except SpecvizError as error:
        return [Finding("check", "warning", str(error))]
    except Exception as error:
        logger.error("a check of the doctor failed\n%s", "".join(format_exception(error)))
        what = f"The check of {check.__name__.replace('_', ' ')} could not be made ({type(error).__name__})."
        return [Finding("check", "warning", what, "Look at the models' files.")]


def _concluded(findings: list[Finding]) -> list[Finding]:
    return [*findings, verdict(findings)]


def _read(pair: _Pair, role: str, name: str, dtype: torch.dtype, tokenizer: str | None) -> Examined | None:
    try:
        return Examined.read(role, name, dtype, tokenizer)
    except SpecvizError as error:
        what = f"The {role} cannot be loaded. {error}"  # which says what to do
    pair.found.append(Finding("loading", "fault", what))
    return None


def _look_beside(pair: _Pair, name: str, dtype: torch.dtype) -> None:
    """A part that is loaded beside target and draft: its bytes, and if it is a model, its shapes for the cache."""
    try:
        stored = read_stored(name)
    except SpecvizError as error:
        pair.found.append(Finding("loading", "note", str(error)))
        return
    told = stored and stored.numbers and not stored.damaged  # not by pickles, which are never opened here
    size = stored.numbers * dtype.itemsize if told else None
    pair.others.append(Number(name[:100], "parameters, loaded with the pair", size))
    with suppress(SpecvizError):  # heads are no model of their own, and keep no cache
        pair.beside.append(Examined(_FOREIGN, name, load_skeleton(name, dtype), None))


def _require(context: int | None, gamma: int) -> None:
    """Raise SpecvizError for what no run can have."""
    limits = (("context", "The context", context, _LONGEST_CONTEXT), ("gamma", "Gamma", gamma, _LONGEST_DRAFT))
    for name, title, value, most in limits:
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise SpecvizError(f"{title} must be a whole number from 1 to {most:,}.", field=name)
