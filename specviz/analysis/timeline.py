"""Both lanes of a run on one clock, with the figures as they stood at the end of each round."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Literal

from specviz.analysis.figures import Figures, run_figures
from specviz.analysis.totals import Totals
from specviz.trace.schema import Round, Trace

Lane = Literal["speculative", "plain"]
_ORDER: dict[Lane, int] = {"plain": 0, "speculative": 1}  # at the same instant the plain token counts first


@dataclass(frozen=True, slots=True)
class Moment:
    """A round that ended `end` seconds into its lane's clock.

    figures: those of the run so far, for a speculative round; the plain lane is taken as it stood at the
    same clock. None for a plain round.
    """

    lane: Lane
    record: Round
    end: float
    figures: Figures | None


class Timeline:
    """Takes rounds as they happen and gives them back in the order of the clock, each exactly once.

    A round is given back once the other lane can no longer end one before it, so a live run and its replay
    show the same figures. O(log n) a round.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._totals: dict[Lane, Totals] = {"speculative": Totals(), "plain": Totals()}
        self._clock: dict[Lane, float] = {"speculative": 0.0}
        if trace.baseline:
            self._clock["plain"] = 0.0
        self._pending: list[tuple[float, int, int, Lane, Round]] = []
        self._arrivals = count()  # keeps a lane's own order where clocks are equal

    @property
    def figures(self) -> Figures:
        """The figures of all rounds given back so far."""
        plain = self._totals["plain"] if self._trace.baseline else None
        return run_figures(self._trace, self._totals["speculative"], plain)

    def push(self, lane: Lane, record: Round) -> None:
        """One more round of a lane, in the lane's own order."""
        self._clock[lane] += record.timing.total
        heapq.heappush(self._pending, (self._clock[lane], _ORDER[lane], next(self._arrivals), lane, record))

    def push_all(self) -> None:
        """Every round the trace holds."""
        for record in self._trace.rounds:
            self.push("speculative", record)
        for record in self._trace.baseline.rounds if self._trace.baseline else ():
            self.push("plain", record)

    def ready(self) -> Iterator[Moment]:
        """The rounds whose place on the clock is settled."""
        lanes = {"speculative": self._trace, "plain": self._trace.baseline}
        running = [clock for lane, clock in self._clock.items() if lanes[lane].finish == "running"]
        return self._until(min(running, default=float("inf")))

    def rest(self) -> Iterator[Moment]:
        """All rounds left, at the end of a run."""
        return self._until(float("inf"))

    def _until(self, clock: float) -> Iterator[Moment]:
        while self._pending and self._pending[0][0] <= clock:
            end, _, _, lane, record = heapq.heappop(self._pending)
            self._totals[lane].add(record)
            yield Moment(lane, record, end, self.figures if lane == "speculative" else None)
