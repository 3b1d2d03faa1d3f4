"""A comparison as it runs: waits for its turn, loads the pairs, measures the lanes, and yields what the page shows."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from specviz.analysis.lanes import lane_report
from specviz.analysis.tables import Report
from specviz.analysis.words import count
from specviz.charts.lanes import lane_charts
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded, PromptText
from specviz.trace.schema import Settings, Trace
from specviz.ui.board_writer import BoardWriter
from specviz.ui.desk import Desk, Ticket
from specviz.ui.engine import Engine, LaneOf, MeasuredStep, Measurement
from specviz.ui.turns import Update, told, wait_for_turn


@dataclass(frozen=True, slots=True)
class LiveLane:
    """A lane that decodes here. label: unique. pair: its key; dtype: None for what suits the device."""

    label: str
    pair: str
    settings: Settings
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedLane:
    """A lane that was decoded before."""

    label: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare. The prompts are for the lanes that decode here; a recorded one has its own."""

    lanes: list[LiveLane | RecordedLane]
    prompts: list[PromptText]
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class CompareUpdate(Update):
    """problems: label of a lane -> why it cannot run. decoded: at the end, every whole decode."""

    decoded: list[Decoded] | None = None


def compare(engine: Engine, desk: Desk, order: Comparison, stop: threading.Event) -> Iterator[CompareUpdate]:
    """Updates of the page from the first wait to the end. Closing the generator releases everything at once;
    setting `stop` ends the run after the current round and keeps the decodes that are whole. Never raises.
    """
    try:
        yield from _compare(engine, desk, order, stop)
        return
    except Exception as error:
        failed = CompareUpdate(str(told(error)))
    yield failed


def _compare(engine: Engine, desk: Desk, order: Comparison, stop: threading.Event) -> Iterator[CompareUpdate]:
    live = [lane for lane in order.lanes if isinstance(lane, LiveLane)]
    growing = _Growing(order)
    if not live:
        yield growing.ended("Finished.")
        return
    with desk.take_ticket() as ticket:
        yield from map(CompareUpdate, wait_for_turn(ticket, stop))
        plans = []
        for lane in live:
            if stop.is_set():
                yield CompareUpdate("Stopped before it began.")
                return
            yield CompareUpdate(f"Loading {lane.pair} … (Stop takes effect once it is loaded.)")
            try:
                plans.append(LaneOf(lane.label, _pair(ticket, lane, live), lane.settings))
            except SpecvizError as error:
                yield _refused(lane.label, str(error))
                return
        try:
            measurement = engine.measure(plans, order.prompts, order.repeats)
        except SpecvizError as error:
            yield _refused_by_measure(str(error), [lane.label for lane in live])
            return
        yield from _measured(measurement, growing, stop)


def _measured(measurement: Measurement, growing: "_Growing", stop: threading.Event) -> Iterator[CompareUpdate]:
    failure = None
    with measurement:
        yield growing.opened()
        try:
            yield from growing.follow(measurement, stop)
        except Exception as error:
            failure = f"Failed: {told(error)}"
    done = "Stopped; what was whole is kept." if stop.is_set() else "Finished."
    yield growing.ended(failure or done, measurement)


def _pair(ticket: Ticket, lane: LiveLane, live: Sequence[LiveLane]) -> object:
    return ticket.pair(lane.pair, lane.dtype, beside={(other.pair, other.dtype) for other in live})


def _refused(label: str, sentence: str) -> CompareUpdate:
    return CompareUpdate(f"Nothing was run: lane {label} cannot run.", problems={label: sentence})


def _refused_by_measure(sentence: str, labels: Sequence[str]) -> CompareUpdate:
    """The measurement names the lane that cannot run; a sentence without a name is about all of them."""
    for label in labels:
        if sentence.startswith(f"{label}: "):
            return _refused(label, sentence.removeprefix(f"{label}: "))
    return CompareUpdate(sentence)


class _Growing:
    """The board of one comparison."""

    def __init__(self, order: Comparison) -> None:
        self._order = order
        self._labels = [lane.label for lane in order.lanes]
        self._recorded = [lane for lane in order.lanes if isinstance(lane, RecordedLane)]
        self._names = {prompt.text: prompt.name for prompt in order.prompts}
        self._writer = BoardWriter(f"Comparison of {count(len(order.lanes), 'lane')}")
        self._prompt: tuple[str, int] | None = None
        self._traces: dict[int, Trace] = {}
        self._shown: set[str] = set()
        self._reported = 0

    def opened(self) -> CompareUpdate:
        """The empty board, with the outputs of recorded lanes whose prompt no other lane has."""
        self._open_recorded([lane for lane in self._recorded if lane.trace.prompt.text not in self._names])
        return CompareUpdate("Warming up and decoding.", self._writer.text)

    def follow(self, measurement: Measurement, stop: threading.Event) -> Iterator[CompareUpdate]:
        """Updates paced for the page, until the measurement ends or is stopped."""
        for step in measurement:
            if stop.is_set():
                return
            if step is None:  # still warming up
                if self._writer.frame_due():
                    yield CompareUpdate("Warming up and decoding.")
                continue
            self._turn_to(step, measurement)
            if self._writer.frame_due():
                self._write_tokens()
                self._writer.decodes(step, measurement, self._order.repeats)
                if len(measurement.decoded) > self._reported and self._writer.due():
                    self._report(measurement)
                yield CompareUpdate("Decoding.", self._writer.text)

    def ended(self, status: str, measurement: Measurement | None = None) -> CompareUpdate:
        """The whole report, its files, and why lanes dropped out."""
        self._write_tokens()
        self._open_recorded([lane for lane in self._recorded if lane.label not in self._shown])
        decoded = self._decoded(measurement)
        failed = dict(measurement.failed) if measurement else {}
        problems = {label: sentence for label, sentence in failed.items() if label in self._labels}
        kept = f"{count(len(decoded), 'whole decode')} of {count(len(self._labels), 'lane')}."
        sentence = " ".join([status, kept, *(f"Lane {label} dropped out: {why}" for label, why in problems.items())])
        why = self._writer.end_with(sentence, (lambda: self._report(measurement)) if decoded else None)
        said = " ".join(filter(None, [status, why]))
        return CompareUpdate(said, self._writer.text, problems=problems, decoded=decoded)

    def _open_recorded(self, recorded: Sequence[RecordedLane]) -> None:
        """A stream for each prompt of these lanes, which stand beside no live one."""
        for ids, lanes in groupby(sorted(recorded, key=_prompt_ids), key=_prompt_ids):
            rows = {lane.label: lane.trace for lane in lanes}
            self._shown |= rows.keys()
            baselines = [trace.baseline for trace in rows.values() if trace.baseline]
            rows |= {"plain": baselines[0]} if baselines else {}
            key = f"recorded {ids}"
            self._writer.stream(key, f"recorded: {self._name(next(iter(rows.values())))}", list(rows))
            self._writer.tokens(key, dict(enumerate(rows.values())))

    def _turn_to(self, step: MeasuredStep, measurement: Measurement) -> None:
        """Show what is decoded now; repeats write the same text, so the first one stands for all."""
        if self._prompt == (step.prompt, step.repeat):
            return
        self._write_tokens()
        self._prompt, self._traces = (step.prompt, step.repeat), {}
        if step.repeat:
            return
        same = {r.label: r.trace for r in self._recorded if self._names.get(r.trace.prompt.text) == step.prompt}
        plains = sorted(set(measurement.plain_of.values()))
        self._shown |= same.keys()
        now = same | measurement.traces
        rows = [label for label in (*self._labels, *plains) if label in now]
        self._writer.stream(step.prompt, step.prompt, rows)
        self._traces = {row: now[label] for row, label in enumerate(rows)}

    def _write_tokens(self) -> None:
        if self._prompt is not None:
            self._writer.tokens(self._prompt[0], self._traces)

    def _report(self, measurement: Measurement | None) -> Report:
        measured = (measurement.references, measurement.failed) if measurement else ()
        report = lane_report(self._decoded(measurement), *measured)
        self._writer.report(report, folded={table.key for table in report.tables} - {"lanes"})
        self._writer.charts(lane_charts(report))
        self._reported = len(measurement.decoded) if measurement else 0
        return report

    def _decoded(self, measurement: Measurement | None) -> list[Decoded]:
        """Every whole decode, in the order of the lanes."""
        found = list(measurement.decoded) if measurement else []
        for lane in self._recorded:
            found.append(Decoded(lane.label, lane.trace, self._name(lane.trace)))
        return sorted(found, key=lambda decode: self._labels.index(decode.lane))

    def _name(self, trace: Trace) -> str:
        """What the prompt of a recorded trace is called."""
        return self._names.get(trace.prompt.text) or trace.title or "a recorded prompt"


def _prompt_ids(lane: RecordedLane) -> list[int]:
    return lane.trace.prompt.ids
