"""What a round costs here: a model of its time by number of drafts, fitted to measured rounds.

round(k) = fixed + (draft step + judging) * k + target pass of width k + 1, in seconds. Leviathan et al. 2023, section
3.3, has only c; spec-decode-advisor has `fixed + (c_draft + c_verify) * k`.

Which average: speedups are ratios of sums of time, so parts that every round has are means, one per repeat, and the
median of the repeats is taken, as for the measured speedup. Widths that few rounds had would be at the mercy of one
disturbed pass in a mean; their ratio to the usual width is taken from medians instead.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from specviz.analysis.groups import grouped
from specviz.analysis.pace import whole
from specviz.analysis.speed import costs
from specviz.analysis.tables import Column, Row, Table
from specviz.analysis.totals import ratio
from specviz.analysis.words import count
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded, StepTimes
from specviz.trace.schema import Round

DEEPEST = 16  # drafts up to which the model is written out; beyond it goes on in a straight line
_FEW, _ENOUGH = 5, 20  # passes of a width that count as measured: without and with separately measured steps
_TELLING = 5  # times of a single pass from which on a quicker width is not luck
_COLUMNS = [
    Column("part", "part"),
    Column("drafts", "drafts", "count", "exact", "tokens drafted in the round; a pass is one token wider"),
    Column("count", "times seen", "count", "measured", "rounds, passes or steps behind the measured mean"),
    Column("measured", "measured", "seconds", "measured", "mean on the lane's clock"),
    Column("fitted", "model", "seconds", "fitted", "round(k) = fixed + (draft step + judging) k + target pass"),
    Column("relative", "in plain passes", "number", "fitted", "model / one plain pass; of a pass it is v"),
    Column("error", "model error", "percent", "fitted", "model / measured - 1"),
]


@dataclass(frozen=True, slots=True)
class CostModel:
    """Seconds of a round by its number of drafts k.

    draft_step: one more draft step (0 where a whole draft is one step). fixed: what a round with drafts takes whatever
    k is: sampling, bookkeeping, and what the first draft step takes longer than the others. target[k]: a target pass
    k + 1 wide. plain: a whole plain round, and a round without drafts. judging: sampling and bookkeeping per draft.
    c: mean time of all draft steps, first ones too, over a plain target pass (Leviathan et al. 2023, section 3.3); the
    lanes' own figure. None where the plain pass took no time that the clock could tell.
    """

    draft_step: float
    fixed: float
    target: tuple[float, ...]
    plain: float
    judging: float = 0.0
    c: float | None = None

    def v(self, drafts: int) -> float | None:
        """A pass that checks so many drafts over one plain target pass; None where that took no time."""
        return ratio(self.pass_seconds(drafts), self.target[0])

    def pass_seconds(self, drafts: int) -> float:
        """A target pass that checks so many drafts; beyond `target` in a straight line."""
        beyond = drafts - len(self.target) + 1
        if beyond <= 0:
            return self.target[drafts]
        return self.target[-1] + beyond * (self.target[-1] - self.target[-2] if len(self.target) > 1 else 0.0)

    def round_seconds(self, drafts: int) -> float:
        """A whole round with so many drafts."""
        if not drafts:
            return self.plain
        return self.fixed + (self.draft_step + self.judging) * drafts + self.pass_seconds(drafts)


@dataclass(frozen=True, slots=True)
class CostFit:
    """A fitted model. error: mean over the measured rounds of |model / mean of the rounds with as many drafts - 1|."""

    model: CostModel
    error: float
    table: Table


@dataclass(frozen=True, slots=True)
class _Seen:
    """Rounds of the lane and of its plain lane, one list a repeat. usual: the most frequent number of drafts."""

    lane: list[list[Round]]
    plain: list[list[Round]]
    usual: int

    @property
    def rounds(self) -> list[Round]:
        return list(chain.from_iterable(self.lane))

    def mean(self, time: Callable[[Round], float], drafts: int | None = None) -> float:
        """Median over the repeats of the mean over rounds: of the plain lane, or of those with so many drafts."""
        if drafts is None:
            return _typical([time(r) for r in rounds] for rounds in self.plain)
        return _typical([time(r) for r in rounds if len(r.drafted) == drafts] for rounds in self.lane)

    def curve(self, time: Callable[[Round], float], least: int) -> dict[int, float]:
        """Time by number of drafts above 0, for those that at least `least` rounds had, and for the usual one."""
        drafting = grouped((r for r in self.rounds if r.drafted), lambda record: len(record.drafted))
        by_drafts = {drafts: [time(record) for record in records] for drafts, records in drafting.items()}
        level, usual = self.mean(time, self.usual), float(np.median(by_drafts[self.usual]))
        found = {k: level * float(np.median(v)) / usual for k, v in by_drafts.items() if len(v) >= least and usual}
        return dict(sorted((found | {self.usual: level}).items()))


def fit_costs(decodes: Sequence[Decoded], steps: Sequence[StepTimes] = ()) -> CostFit:
    """Fit the model to the rounds of one lane and its plain lane; with several gammas their rounds are pooled.

    steps: times of single target passes, which give the shape of the cost over widths that the rounds did not have; the
    rounds set its level, because a pass in a round finds other data in the processor's caches. Without them the cost
    is a straight line between the widths that were seen and beyond.
    Raises SpecvizError without drafts or without a plain lane.
    """
    seen = _seen(decodes)
    rest = seen.curve(lambda r: r.timing.sampling + r.timing.other, _FEW)
    plain_rest = seen.mean(lambda r: r.timing.sampling + r.timing.other)
    judging = _slope({0: plain_rest, **rest} if len(rest) < 2 else rest)
    judging = min(judging, rest[seen.usual] / seen.usual)
    first, step = _draft_costs(seen)
    model = CostModel(
        draft_step=step,
        fixed=rest[seen.usual] - judging * seen.usual + first - step,
        target=_target(seen, [s for s in steps if s.part == "target" and s.seconds]),
        plain=seen.mean(lambda r: r.timing.total / max(1, len(r.emitted))),
        judging=judging,
        c=costs(seen.rounds, list(chain.from_iterable(seen.plain)), seen.usual).c,
    )
    rows = _round_rows(seen, model)
    error = sum(row["count"] * abs(row["error"]) for row in rows) / sum(row["count"] for row in rows)
    return CostFit(model, error, _table(seen, model, rows, error))


def _seen(decodes: Sequence[Decoded]) -> _Seen:
    lane: dict[int, list[Round]] = {}
    plain: dict[int, list[Round]] = {}
    known: set[int] = set()
    for decoded in whole(decodes):
        lane.setdefault(decoded.repeat, []).extend(decoded.trace.rounds)
        baseline = decoded.trace.baseline
        if id(baseline) not in known:  # lanes of one target share it
            known.add(id(baseline))
            plain.setdefault(decoded.repeat, []).extend(baseline.rounds)
    lengths = Counter(len(r.drafted) for rounds in lane.values() for r in rounds if r.drafted)
    if not any(plain.values()):
        raise SpecvizError("There is no plain lane to compare costs with; measure with a baseline.")
    if not lengths:
        raise SpecvizError(
            "Nothing was drafted, so drafting has no measured cost; measure a run with gamma above 0.", field="gamma"
        )
    usual = max(lengths, key=lambda k: (lengths[k], k))
    return _Seen(list(lane.values()), list(plain.values()), usual)


def _draft_costs(seen: _Seen) -> tuple[float, float]:
    """Seconds of the first draft token and of each further one.

    Where every token is a step the steps are told apart: the first takes in what the draft has not seen. Where a draft
    is one step, or steps are levels of a tree, the times of whole drafts are compared over their lengths.
    """
    drafting = [[r for r in rounds if r.drafted] for rounds in seen.lane]
    if all(len(r.timing.draft) == len(r.drafted) for rounds in drafting for r in rounds):
        first = _typical([r.timing.draft[0] for r in rounds] for rounds in drafting)
        steps = [[s for r in rounds for s in r.timing.draft[1:]] for rounds in drafting]
        if not any(steps):
            return first, first
        return first, min(_typical(steps), _typical([s for r in rounds for s in r.timing.draft] for rounds in drafting))
    whole = seen.curve(lambda r: sum(r.timing.draft), _FEW)
    step = min(_slope(whole), whole[seen.usual] / seen.usual)
    return whole[seen.usual] - step * (seen.usual - 1), step


def _target(seen: _Seen, steps: Sequence[StepTimes]) -> tuple[float, ...]:
    """Seconds of a target pass for 0..DEEPEST drafts, or for all that were seen."""
    known = {0: seen.mean(lambda r: r.timing.verify)}
    known |= seen.curve(lambda r: r.timing.verify, _ENOUGH if steps else _FEW)
    alone = _rising(sorted(steps, key=lambda s: s.width))
    places = np.arange(max(DEEPEST, *known) + 1)
    if len(alone) < 2:
        return tuple(_line(known, places).tolist())
    shape = _line(alone, places)
    levels = {k: seconds / shape[k] for k, seconds in known.items()}
    fitted = shape * np.interp(places, list(levels), list(levels.values()))
    return tuple(fitted.tolist())


def _line(known: dict[int, float], places: np.ndarray) -> np.ndarray:
    """Straight lines through known values, and beyond the last one along the slope of all that are not plain passes.

    A plain pass often runs other kernels, so its step to the next width says little of the widths that follow.
    """
    values = np.interp(places, list(known), list(known.values()))
    wide = {k: seconds for k, seconds in known.items() if k}
    last = max(known)
    return values + np.maximum(places - last, 0) * _slope(wide if len(wide) > 1 else known)


def _rising(steps: Sequence[StepTimes]) -> dict[int, float]:
    """Median times by number of drafts, evened out so that they do not fall where a fall says nothing.

    A wider pass that seems to be quicker was lucky with the clock, and such neighbours share their mean (pool adjacent
    violators), unless it runs other kernels: from the plain pass on, or where the middle halves of the times lie apart
    (in bfloat16, passes of one and two tokens may both be slower than wider ones).
    """
    blocks: list[list[float]] = []
    begin = 0  # block with which the widths of the present kernel begin
    for place, step in enumerate(steps):
        if place and (steps[place - 1].width == 1 or _quicker(step.seconds, steps[place - 1].seconds)):
            begin = len(blocks)
        blocks.append([float(np.median(step.seconds))])
        while len(blocks) > begin + 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    level = [float(np.mean(block)) for block in blocks for _ in block]
    return {step.width - 1: seconds for step, seconds in zip(steps, level, strict=True)}


def _quicker(times: Sequence[float], others: Sequence[float]) -> bool:
    """Whether the upper quartile of the times lies below the lower one of the others, both of enough times."""
    enough = min(len(times), len(others)) >= _TELLING
    return enough and bool(np.quantile(times, 0.75) < np.quantile(others, 0.25))


def _slope(known: dict[int, float]) -> float:
    """Least-squares slope, never below 0; 0 with fewer than two values."""
    if len(known) < 2:
        return 0.0
    return max(0.0, float(np.polyfit(list(known), list(known.values()), 1)[0]))


def _typical(repeats: Iterable[list[float]]) -> float:
    """Median over the repeats of the mean of each; repeats without a value are left out."""
    return float(np.median([np.mean(values) for values in repeats if values]))


def _round_rows(seen: _Seen, model: CostModel) -> list[Row]:
    lengths = Counter(len(r.drafted) for r in seen.rounds)
    rows = []
    for k in sorted(lengths):
        measured, fitted = seen.mean(lambda r: r.timing.total, k), model.round_seconds(k)
        error = fitted / measured - 1 if measured else 0.0
        row = {"part": f"round with {count(k, 'draft')}", "drafts": k, "count": lengths[k]}
        rows.append({**row, "measured": measured, "fitted": fitted, "error": error})
    return rows


def _table(seen: _Seen, model: CostModel, rounds: list[Row], error: float) -> Table:
    steps = [s for r in seen.rounds for s in r.timing.draft]
    plain = sum(map(len, seen.plain))
    rows: list[Row] = [
        {"part": "plain token", "count": plain, "measured": model.plain, "fitted": model.plain},
        {"part": "draft step", "count": len(steps), "measured": ratio(sum(steps), len(steps))},
        {"part": "one more draft step", "fitted": model.draft_step,
         "relative": ratio(model.draft_step, model.target[0])},
        {"part": "judging a draft", "fitted": model.judging},
        {"part": "fixed part of a round", "fitted": model.fixed},
    ]  # fmt: skip
    lengths = {row["drafts"]: row["count"] for row in rounds}
    for k in range(max(lengths) + 1):
        measured = seen.mean(lambda r: r.timing.verify, k or None) if lengths.get(k) or not k else None
        row = {"part": f"target pass {k + 1} wide", "drafts": k, "count": lengths.get(k, 0) if k else plain}
        rows.append({**row, "measured": measured, "fitted": model.pass_seconds(k), "relative": model.v(k)})
    note = (
        f"Fitted to {count(len(seen.rounds), 'round')} and {count(plain, 'plain token')}; the model misses the mean "
        f"time of rounds with as many drafts by {error:.1%} on average. One more draft step costs what later "
        "ones do, and what the first of a round takes longer is in the fixed part; c takes the mean of all of them. "
        "Means over rounds; with repeats, the median of their means."
    )
    return Table("costs", "What a round costs", _COLUMNS, [*rows, *rounds], note)
