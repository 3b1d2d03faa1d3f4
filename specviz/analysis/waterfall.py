"""Where the speedup goes: from tokens per pass to the measured figure, in steps that add up to it exactly."""

from collections.abc import Sequence

import numpy as np

from specviz.analysis.pace import whole
from specviz.analysis.tables import Column, Table
from specviz.analysis.totals import Totals
from specviz.analysis.words import count
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded

_COLUMNS = [
    Column("part", "part"),
    Column(
        "change",
        "change",
        "times",
        "measured",
        "what the speedup loses (below 0) or gains by this part; they add up to the measured speedup",
    ),
    Column("before", "speedup before", "times", "measured", "where this part begins"),
    Column("after", "speedup so far", "times", "measured", "tokens per pass * plain token / round time so far"),
    Column("seconds", "adds to a round", "seconds", "measured", "mean seconds that this part adds to one round"),
]
_PARTS = ("draft cost", "wider verification", "sampling", "bookkeeping")
IDEAL, MEASURED = "ideal", "measured"


def waterfall_table(decodes: Sequence[Decoded]) -> Table:
    """The table "waterfall" of one lane: ideal, four costs, measured.

    Ideal: tokens per pass, as if a round cost what one plain token costs and nothing else. Each part then adds its mean
    seconds per round, what a plain token spends on the same left out: drafting; the target pass beyond a plain one;
    sampling and judging; everything else. The speedup of each stage is tokens per pass * plain time per token / round
    time so far, so ideal plus the changes is the measured speedup. With repeats it is the one of the median speedup (of
    the middle two, their mean), which is the figure of the lane. Raises SpecvizError without a plain lane.
    """
    repeats = [_stages(*pair) for pair in _repeats(decodes)]
    repeats.sort(key=lambda stages: stages[0][-1])
    middle = repeats[(len(repeats) - 1) // 2 : len(repeats) // 2 + 1]
    speedups, seconds = (np.mean([stages[i] for stages in middle], axis=0).tolist() for i in (0, 1))
    rows = [{"part": IDEAL, "change": speedups[0], "before": 0.0, "after": speedups[0], "seconds": seconds[0]}]
    rows += [
        {"part": part, "change": after - before, "before": before, "after": after, "seconds": added}
        for part, before, after, added in zip(_PARTS, speedups, speedups[1:], seconds[1:], strict=False)
    ]
    rows.append({"part": MEASURED, "change": None, "before": 0.0, "after": speedups[-1], "seconds": sum(seconds)})
    of = f" of the median of {count(len(repeats), 'repeat')}" if len(repeats) > 1 else ""
    note = (
        "Ideal: every target pass takes the time of one plain token, so that the speedup equals the tokens per pass. "
        f"The parts are added in this order, and end at the measured speedup{of}."
    )
    return Table("waterfall", "Where the speedup goes", _COLUMNS, rows, note)


def _repeats(decodes: Sequence[Decoded]) -> list[tuple[Totals, Totals]]:
    """Sums of the lane and of its plain lane, for each repeat."""
    lanes: dict[int, tuple[Totals, Totals]] = {}
    for decoded in whole(decodes):
        both = lanes.setdefault(decoded.repeat, (Totals(), Totals()))
        for totals, trace in zip(both, (decoded.trace, decoded.trace.baseline), strict=True):
            for record in trace.rounds:
                totals.add(record)
    if not lanes:
        raise SpecvizError("There is no plain lane to compare with; measure with a baseline.")
    return list(lanes.values())


def _stages(lane: Totals, plain: Totals) -> tuple[list[float], list[float]]:
    """Speedups after each stage, and the seconds per round that each stage adds; the first is the ideal one."""
    token = plain.seconds_per_token or 0.0
    added = [token] + [
        getattr(lane, part) / lane.rounds - getattr(plain, part) / plain.emitted
        for part in ("draft", "verify", "sampling", "other")
    ]
    gains = [(lane.tokens_per_pass or 0.0) * token / seconds for seconds in np.cumsum(added)]
    return gains, added
