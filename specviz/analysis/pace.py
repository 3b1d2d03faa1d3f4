"""The speedup of a lane over prompts and repeats: its figure, its interval and its spread."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import median

import numpy as np

from specviz.analysis import intervals, speed
from specviz.analysis.groups import grouped
from specviz.analysis.totals import Totals
from specviz.trace.measured import Decoded
from specviz.trace.schema import Round


@dataclass(frozen=True, slots=True)
class Pace:
    """One prompt in one repeat: what the lane and the plain lane beside it took. Only seconds and tokens count."""

    prompt: str
    repeat: int
    lane: Totals
    plain: Totals


@dataclass(frozen=True, slots=True)
class Speed:
    """value: plain seconds per token / lane seconds per token, both pooled over prompts, in the median repeat.

    low, high: 95% interval, `over` prompts, or over the rounds of the only prompt; None without either. least, most:
    slowest and quickest repeat; None with fewer than two. prompts, repeats: how many took part.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    over: str | None = None
    least: float | None = None
    most: float | None = None
    prompts: int = 0
    repeats: int = 0


def speed_of(decodes: Sequence[Decoded]) -> Speed:
    """Speedup of the decodes of one lane that have a plain lane; no value without one, or with too few tokens.

    The interval is over prompts (`intervals.speedup_interval`); of a single prompt it is over the rounds of both lanes
    (`speed.speedup_interval`) and says nothing of other prompts. It then takes the repeat nearest to the value alone:
    repeats write the same tokens, so more of them would say no more of the luck of the drafts.
    """
    measured = whole(decodes)
    found = speed_over(list(map(_pace, measured)))
    if found.prompts != 1 or found.value is None:
        return found
    value = found.value
    gains = [(gain, d) for d in measured if (gain := _gain([_pace(d)])) is not None]
    gain, nearest = min(gains, key=lambda pair: abs(pair[0] - value))
    ends = speed.speedup_interval(nearest.trace.rounds, plain_rounds_of([nearest]))
    return replace(found, low=ends[0] * value / gain, high=ends[1] * value / gain, over="rounds") if ends else found


def speed_over(paces: Sequence[Pace]) -> Speed:
    """Speedup from the paces of one lane in whole repeats, with its interval over prompts; empty ones do not count."""
    paces = [p for p in paces if p.lane.seconds_per_token and p.plain.seconds_per_token]
    by_repeat, by_prompt = (grouped(paces, attrgetter(name)).values() for name in ("repeat", "prompt"))
    gains = [gain for group in by_repeat if (gain := _gain(group)) is not None]
    found = Speed(prompts=len(by_prompt), repeats=len(by_repeat))
    if not gains:
        return found
    value = median(gains)
    found = replace(found, value=value)
    if len(gains) > 1:
        found = replace(found, least=min(gains), most=max(gains))
    factors = intervals.speedup_interval(np.array([_times(group) for group in by_prompt]))
    return replace(found, low=value * factors[0], high=value * factors[1], over="prompts") if factors else found


def whole(decodes: Iterable[Decoded]) -> list[Decoded]:
    """Decodes with rounds in both lanes, without repeats that a stop cut short: these would compare other prompts."""
    measured = [d for d in decodes if d.trace.rounds and d.trace.baseline and d.trace.baseline.rounds]
    counts = Counter(d.repeat for d in measured)
    return [d for d in measured if counts[d.repeat] == max(counts.values())]


def rounds_of(decodes: Iterable[Decoded]) -> list[Round]:
    """All rounds of these decodes, one after another."""
    return [record for decode in decodes for record in decode.trace.rounds]


def plain_rounds_of(decodes: Iterable[Decoded]) -> list[Round]:
    """All rounds of the plain lanes beside these decodes."""
    return [record for decode in decodes if decode.trace.baseline for record in decode.trace.baseline.rounds]


def _pace(decode: Decoded) -> Pace:
    """Of a decode with a plain lane."""
    return Pace(decode.prompt, decode.repeat, Totals.of(decode.trace.rounds), Totals.of(plain_rounds_of([decode])))


def _gain(paces: Sequence[Pace]) -> float | None:
    lane, plain = (
        Totals(emitted=sum(t.emitted for t in group), other=sum(t.seconds for t in group))
        for group in ([p.lane for p in paces], [p.plain for p in paces])
    )
    return speed.speedup(lane, plain)


def _times(repeats: Sequence[Pace]) -> list[float]:
    """Plain seconds and tokens, lane seconds and tokens of one prompt, each the median of its repeats."""
    totals = [[p.plain for p in repeats], [p.lane for p in repeats]]
    return [median(getattr(t, name) for t in group) for group in totals for name in ("seconds", "emitted")]
