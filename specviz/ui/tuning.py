"""A calibration as it runs: waits for its turn, loads the pair, measures its gammas, and yields what the page shows."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import ceil
from time import monotonic
from typing import Any

from specviz.analysis.advice import by_gamma, calibration_of, sweep_report, usual_context
from specviz.analysis.tables import Report
from specviz.analysis.words import count
from specviz.charts.style import Chart
from specviz.charts.tune import policies, speedup_by_gamma, speedup_by_kind, waterfall
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded, PromptText, StepTimes
from specviz.trace.schema import Settings
from specviz.ui.board_writer import BoardWriter
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine, LaneOf, Measurement
from specviz.ui.turns import Update, in_turn, told

_PASSES = 6  # single passes of each width
_OPEN = {"sweep"}  # the other tables fold below the charts, most of which are drawn from them


@dataclass(frozen=True, slots=True)
class Tuning:
    """What to measure: every gamma on every prompt, so many times. settings: of all lanes; their gamma gives way."""

    pair: str
    settings: Settings
    gammas: tuple[int, ...]
    prompts: list[PromptText]
    repeats: int


def tune(engine: Engine, desk: Desk, order: Tuning, stop: threading.Event) -> Iterator[Update]:
    """Updates of the page from the first wait to the end. Closing the generator releases everything at once;
    setting `stop` ends the run after the current round, and what is whole then is analysed. Never raises.
    """
    return in_turn(desk, order.pair, stop, lambda pair: _measured(engine, pair, order, stop))


def _measured(engine: Engine, pair: Any, order: Tuning, stop: threading.Event) -> Iterator[Update]:
    lanes = [LaneOf(f"gamma {gamma}", pair, replace(order.settings, gamma=gamma)) for gamma in order.gammas]
    failure = None
    with engine.measure(lanes, order.prompts, order.repeats) as measurement:
        growing = _Growing(order, measurement)
        yield Update("Warming up and measuring.", growing.text, opens=True)
        try:
            yield from growing.follow(lambda context: _passes(engine, pair, order, context, stop), stop)
        except Exception as error:
            failure = f"Failed: {told(error)}"
    done = "Stopped; what was whole is kept." if stop.is_set() else "Finished."
    yield growing.ended(failure or done)


def _passes(engine: Engine, pair: Any, order: Tuning, context: int, stop: threading.Event) -> list[StepTimes]:
    """None at all if they fail or `stop` is set: the calibration goes on without them."""

    def tick() -> None:
        if stop.is_set():
            raise SpecvizError("Stopped.")

    widest = max(order.gammas)
    settings = replace(order.settings, gamma=widest)
    try:
        return engine.step_times(pair, settings, range(1, widest + 2), context, _PASSES, tick)
    except Exception as error:
        told(error)  # what nobody foresaw goes to the log
        return []


class _Growing:
    """The board of one calibration."""

    def __init__(self, order: Tuning, measurement: Measurement) -> None:
        self._order, self._measurement = order, measurement
        self._steps: list[StepTimes] | None = None  # not measured yet
        self._reported = 0
        self._writer = BoardWriter("Speedup against gamma")

    @property
    def text(self) -> str:
        """The board's lines so far."""
        return self._writer.text

    def follow(self, passes: Callable[[int], list[StepTimes]], stop: threading.Event) -> Iterator[Update]:
        """Updates paced for the page, until the measurement ends or is stopped.

        passes: measures single passes after so many tokens; called once the first prompt says how many are usual.
        """
        begun = monotonic()
        for step in self._measurement:
            if stop.is_set():
                return
            if step is None:  # still warming up
                if self._writer.frame_due():
                    yield Update("Warming up and measuring.")
                continue
            if self._writer.frame_due():
                done, of = self._measurement.done, self._measurement.of
                left = _left(monotonic() - begun, done, of) if self._steps else ""
                self._writer.decodes(step, self._measurement, self._order.repeats, left)
                if len(self._measurement.decoded) > self._reported and self._writer.due():
                    self._report()
                yield Update("Measuring.", self.text)
            if self._measurement.decoded and self._steps is None:
                self._steps = passes(usual_context(self._measurement.decoded))

    def ended(self, status: str) -> Update:
        """The whole report, its files, and which gammas dropped out."""
        failed = [f"{label} dropped out: {why}" for label, why in self._measurement.failed.items()]
        report = self._report if self._measurement.decoded else None
        if report is None:
            failed.append("Nothing was whole: no prompt was decoded to its end.")
        why = self._writer.end_with(" ".join([status, *failed]), report)
        return Update(" ".join(filter(None, [status, why])), self.text)

    def _report(self) -> Report:
        report = tune_report(self._measurement.decoded, self._steps or [])
        self._writer.report(report, folded={table.key for table in report.tables} - _OPEN)
        self._writer.charts(tune_charts(report))
        self._reported = len(self._measurement.decoded)
        return report


def tune_report(decoded: list[Decoded], steps: list[StepTimes]) -> Report:
    """What the decodes of all gammas say, predicted from one of them; only why, if nothing can be said."""
    sweep = by_gamma(decoded)
    calibration = calibration_of(sweep)
    try:
        return sweep_report(sweep, calibration, steps, range(1, max(sweep) + 1))
    except SpecvizError as error:
        return Report("Speedup against gamma", [str(error)], [], [calibration[0].trace.provenance])


def tune_charts(report: Report) -> dict[str, Chart]:
    """The charts of a report, as far as its tables go."""
    tables = report.keyed()
    charts: dict[str, Chart] = {}
    if "sweep" in tables:
        charts["sweep"] = speedup_by_gamma(tables["sweep"])
    if "kinds" in tables:
        charts |= {f"kind {kind}": figure for kind, figure in speedup_by_kind(tables["kinds"]).items()}
    for key, draw in (("waterfall", waterfall), ("policies", policies)):
        if key in tables:
            charts[key] = draw(tables[key])
    return charts


def interleaved(sets: list[list[PromptText]]) -> list[PromptText]:
    """The first prompt of every set, then the second of every set: a stop leaves some of each."""
    return [prompt for row in zip_longest(*sets) for prompt in row if prompt]


def _left(elapsed: float, done: int, of: int) -> str:
    """A rough time to the end, if all goes on as it went so far."""
    if not done:
        return ""
    seconds = elapsed / done * (of - done)
    if seconds > 90:
        return f" · about {count(ceil(seconds / 60), 'minute')} left (an estimate)"
    return f" · about {count(5 * ceil(seconds / 5), 'second')} left (an estimate)"
