"""How long one pass takes at each width: warm, synchronised, widths in turn."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from specviz.decoding.clock import Clock
from specviz.models.forward import Stepper, synchronize
from specviz.models.pair import Pair
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import StepTimes
from specviz.trace.methods import METHODS
from specviz.trace.schema import Settings
from specviz.trace.settings import node_count

_DRAFT_WIDTHS = (1, 2)  # a draft model is fed one token a step, two after a full accept


def step_times(
    pair: Pair,
    settings: Settings,
    widths: Sequence[int],
    context: int = 64,
    repeats: int = 10,
    tick: Callable[[], None] = lambda: None,
) -> list[StepTimes]:
    """Seconds of one target pass at each of `widths` (tokens fed), and of one draft pass of one token.

    context: tokens in the cache, cut to what the model can hold. The draft is the model that settings.method drafts
    with; a method without one has no draft row. Passes only: what a round does around them is not in it. The widths
    take turns, so that a machine that slows down slows all alike. The ids fed are the vocabulary's in order: for a
    mixture of experts the time may differ from that of real text. tick: called after every pass; what it raises ends
    the passes. Raises SpecvizError for a bad width or context.
    """
    if not widths or min(widths) < 1 or context < 1 or repeats < 1:
        raise SpecvizError("Widths, context and repeats must be whole numbers above 0.")
    benches = [_Bench("target", pair, pair.target, context, widths)]
    if (draft := draft_model(pair, settings)) is not None:
        benches.append(_Bench("draft", pair, draft, context, [1]))
    for repeat in range(-1, repeats):  # the first turn warms up
        for bench in benches:
            for _ in bench.turn(shift=repeat, counts=repeat >= 0):
                tick()
    return [times for bench in benches for times in bench.times()]


def warm_widths(pair: Pair, settings: Settings, ids: Sequence[int]) -> Iterator[None]:
    """One pass of every width that a run with these settings may feed, after `ids`: first calls cost more.

    Widths that the rest of a model's context has no room for are left out, as drafts are cut there. An iterator: a
    step is a pass. Raises SpecvizError if a model has no room for a single token.
    """
    widest = 1 + (node_count(settings.tree) or settings.gamma if settings.gamma else 0)
    widths = range(1, min(widest, _room(pair.target, ids)) + 1)
    yield from _Bench("target", pair, pair.target, ids, widths).turn(0, False)
    if settings.gamma and (draft := draft_model(pair, settings)) is not None:
        widths = _DRAFT_WIDTHS[: _room(draft, ids)]
        yield from _Bench("draft", pair, draft, len(ids), widths).turn(0, False)


def _room(model: Any, ids: Sequence[int]) -> int:
    """Tokens that fit a model's context after `ids`; at least one is tried."""
    limit = _limit(model)
    return sys.maxsize if limit is None else max(1, limit - len(ids))


def _limit(model: Any) -> int | None:
    return getattr(model.config.get_text_config(), "max_position_embeddings", None)


def draft_model(pair: Pair, settings: Settings) -> Any | None:
    """The model that drafts with this method; None if none does (copies, heads, the target's own layers)."""
    need = METHODS[settings.method].needs
    return pair.draft if need == "draft" else pair.foreign.model if need == "foreign" else None


class _Bench:
    """One model in front of a filled cache. context: how many tokens fill it, or their ids."""

    def __init__(self, part: str, pair: Pair, model: Any, context: int | Sequence[int], widths: Sequence[int]) -> None:
        text = model.config.get_text_config()
        limit = _limit(model)
        wanted = context if isinstance(context, int) else len(context)
        room = wanted if limit is None else min(wanted, limit - max(widths))
        if room < 1:
            raise SpecvizError(f"A pass of {max(widths)} tokens does not fit the model's context of {limit} tokens.")
        self._ids = [i % text.vocab_size for i in range(max(widths))]
        before = [i % text.vocab_size for i in range(room)] if isinstance(context, int) else context[:room]
        self._part, self._widths, self._context = part, list(widths), room
        self._stepper = Stepper(model, room + max(widths))
        self._stepper.absorb(before)
        self._wait = partial(synchronize, pair.devices)
        self._seconds: dict[int, list[float]] = {width: [] for width in self._widths}

    def turn(self, shift: int, counts: bool) -> Iterator[None]:
        """One pass of every width, each rolled back, as an iterator; `shift` says which is first."""
        start = shift % len(self._widths)
        for width in [*self._widths[start:], *self._widths[:start]]:
            clock = Clock(self._wait)
            self._stepper.feed(self._ids[:width], keep=width)
            clock.mark("verify")
            self._stepper.rollback(width)
            if counts:
                self._seconds[width].append(clock.timing().verify)
            yield

    def times(self) -> list[StepTimes]:
        return [StepTimes(self._part, width, seconds, self._context) for width, seconds in self._seconds.items()]
