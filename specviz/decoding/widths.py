"""How long one pass takes at each width: warm, synchronised, widths in turn."""

from collections.abc import Sequence
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
    pair: Pair, settings: Settings, widths: Sequence[int], context: int = 64, repeats: int = 10
) -> list[StepTimes]:
    """Seconds of one target pass at each of `widths` (tokens fed), and of one draft pass of one token.

    context: tokens in the cache, cut to what the model can hold. The draft is the model that settings.method drafts
    with; a method without one has no draft row. Passes only: what a round does around them is not in it. The widths
    take turns, so that a machine that slows down slows all alike. The ids fed are the vocabulary's in order: for a
    mixture of experts the time may differ from that of real text. Raises SpecvizError for a bad width or context.
    """
    if not widths or min(widths) < 1 or context < 1 or repeats < 1:
        raise SpecvizError("Widths, context and repeats must be whole numbers above 0.")
    benches = [_Bench("target", pair, pair.target, context, widths)]
    if (draft := draft_model(pair, settings)) is not None:
        benches.append(_Bench("draft", pair, draft, context, [1]))
    for repeat in range(-1, repeats):  # the first turn warms up
        for bench in benches:
            bench.turn(shift=repeat, counts=repeat >= 0)
    return [times for bench in benches for times in bench.times()]


def warm_widths(pair: Pair, settings: Settings, ids: Sequence[int]) -> None:
    """One pass of every width that a run with these settings may feed, after `ids`: first calls cost more."""
    widest = 1 + (node_count(settings.tree) or settings.gamma if settings.gamma else 0)
    _Bench("target", pair, pair.target, ids, range(1, widest + 1)).turn(0, False)
    if settings.gamma and (draft := draft_model(pair, settings)) is not None:
        _Bench("draft", pair, draft, len(ids), _DRAFT_WIDTHS).turn(0, False)


def draft_model(pair: Pair, settings: Settings) -> Any | None:
    """The model that drafts with this method; None if none does (copies, heads, the target's own layers)."""
    need = METHODS[settings.method].needs
    return pair.draft if need == "draft" else pair.foreign.model if need == "foreign" else None


class _Bench:
    """One model in front of a filled cache. context: how many tokens fill it, or their ids."""

    def __init__(self, part: str, pair: Pair, model: Any, context: int | Sequence[int], widths: Sequence[int]) -> None:
        text = model.config.get_text_config()
        limit = getattr(text, "max_position_embeddings", None)
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

    def turn(self, shift: int, counts: bool) -> None:
        """One pass of every width, each rolled back; `shift` says which is first."""
        start = shift % len(self._widths)
        for width in [*self._widths[start:], *self._widths[:start]]:
            clock = Clock(self._wait)
            self._stepper.feed(self._ids[:width], keep=width)
            clock.mark("verify")
            self._stepper.rollback(width)
            if counts:
                self._seconds[width].append(clock.timing().verify)

    def times(self) -> list[StepTimes]:
        return [StepTimes(self._part, width, seconds, self._context) for width, seconds in self._seconds.items()]
