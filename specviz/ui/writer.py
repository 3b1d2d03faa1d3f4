"""A trace as the lines of the player: the same writer serves live, recorded and imported runs."""

from collections.abc import Iterable
from uuid import uuid4

from specviz.analysis.figures import trace_figures
from specviz.analysis.rules import RuleRow, rule_rows
from specviz.analysis.summary import end_sentence
from specviz.analysis.timeline import Lane, Moment, Timeline
from specviz.charts.run import run_charts
from specviz.trace.schema import Round, Trace
from specviz.ui.stream import PieceTracker, Source, end_line, line, round_line, run_line


class TraceWriter:
    """Grows `text`, the NDJSON of a run; what stands in it never changes.

    `push` takes rounds as they happen. They enter `text` with `write_rounds`, in the order of the clock.
    """

    def __init__(self, trace: Trace, source: Source) -> None:
        self._trace, self._pieces, self._timeline = trace, PieceTracker(), Timeline(trace)
        self.text = run_line(trace, source, uuid4().hex) + "".join(self._fresh_pieces())

    def push(self, lane: Lane, record: Round) -> None:
        """One more round of a lane."""
        self._timeline.push(lane, record)

    def push_all(self) -> None:
        """Every round the trace holds."""
        self._timeline.push_all()

    def write_rounds(self) -> None:
        """The rounds whose place on the clock is settled."""
        self._write(self._timeline.ready())

    def write_charts(self) -> None:
        """The charts of the trace as it stands."""
        self.text += line("charts", charts=run_charts(self._trace))

    def write_end(self) -> None:
        """All rounds left, the charts, and the line that closes the run."""
        self._write(self._timeline.rest())
        self.write_charts()
        self.text += end_line(self._trace, end_sentence(self._trace), trace_figures(self._trace))

    def _write(self, moments: Iterable[Moment]) -> None:
        lines = [round_line(m.lane, m.record, m.end, m.figures, self._rules(m)) for m in moments]
        if lines:
            self.text += "".join([*self._fresh_pieces(), *lines])

    def _rules(self, moment: Moment) -> list[RuleRow]:
        return rule_rows(moment.record, self._trace.settings) if moment.lane == "speculative" else []

    def _fresh_pieces(self) -> Iterable[str]:
        return self._pieces.fresh(self._trace, self._trace.baseline)


def replay_lines(trace: Trace, source: Source) -> str:
    """All lines of a finished trace."""
    writer = TraceWriter(trace, source)
    writer.push_all()
    writer.write_end()
    return writer.text
