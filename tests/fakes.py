"""An engine without models: rounds made by hand, at a pace a test chooses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import sleep
from types import SimpleNamespace

from made import made_round, made_trace, plain_rounds

from specviz.models.catalog import CatalogEntry
from specviz.trace.errors import SpecvizError
from specviz.trace.findings import Finding
from specviz.trace.measured import Decoded, PromptText
from specviz.trace.schema import Piece, Settings, Trace
from specviz.ui.engine import Engine, LaneOf

MARKS = ("yyn", "yyy", "n..")


class FakeRace:
    """Two lanes in turn; `steps` counts rounds asked for, `closed` says that the race was let go."""

    def __init__(self, settings: Settings, plain: bool, fake: "FakeEngine") -> None:
        self.trace = made_trace([], [] if plain else None, gamma=settings.gamma, temperature=1.0)
        self._lanes = {"speculative": self.trace} | ({"plain": self.trace.baseline} if plain else {})
        for lane in self._lanes.values():
            lane.finish = "running"
            lane.pieces = {i: Piece(f" t{i}") for i in (1, 2, 5, 7, 8)}
        self.steps, self.closed = 0, False
        self._moves = self._race(fake.rounds, fake.pause, fake.error)

    def __iter__(self):
        return self._moves

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._moves.close()
        self.closed = True
        for lane in self._lanes.values():
            if lane.finish == "running":
                lane.finish = "stopped"

    def _race(self, rounds, pause, error):
        for index in range(rounds):
            if error and index == rounds // 2:
                raise error
            sleep(pause)
            self.steps += 1
            for name, lane in self._lanes.items():
                marks, verify = (MARKS[index % 3], 0.02) if name == "speculative" else ("", 0.01)
                record = made_round(len(lane.rounds), marks, (0.001, verify, 0.0, 0.0))
                lane.rounds.append(record)
                lane.output_ids += [e.id for e in record.emitted]
                if index == rounds - 1:
                    lane.finish = "budget"
                yield name, record


@dataclass
class FakeStep:
    lane: str
    prompt: str
    repeat: int


class MadeMeasurement:
    """What every measurement of the tests has; `_steps` are its own. closed: it was let go."""

    _steps: Iterator[FakeStep]

    def __init__(self, lanes: Sequence[LaneOf], prompts: Sequence[PromptText], repeats: int) -> None:
        self.decoded: list[Decoded] = []
        self.references, self.failed, self.traces, self.plain_of = [], {}, {}, {}
        self.done, self.of, self.closed = 0, (len(lanes) + 1) * len(prompts) * repeats, False

    def __iter__(self):
        return self._steps

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._steps.close()
        self.closed = True


class FakeMeasurement(MadeMeasurement):
    """Every lane decodes `rounds` rounds of each prompt, in turns, beside a plain lane that is there at once."""

    PLAIN = "plain target"

    def __init__(self, lanes: Sequence[LaneOf], prompts: Sequence[PromptText], repeats: int, fake: "FakeEngine"):
        super().__init__(lanes, prompts, repeats)
        self.plain_of = {lane.label: self.PLAIN for lane in lanes}
        self._steps = self._measure(lanes, prompts, repeats, fake)

    def _measure(self, lanes, prompts, repeats, fake) -> Iterator[FakeStep]:
        for repeat in range(repeats):
            for prompt in prompts:
                self._begin(lanes, fake.rounds)
                yield FakeStep(self.PLAIN, prompt.name, repeat)
                for index in range(fake.rounds):
                    if fake.error and index == fake.rounds // 2:
                        raise fake.error
                    for lane in lanes:
                        sleep(fake.pause)
                        self._step(lane.label, index)
                        yield FakeStep(lane.label, prompt.name, repeat)
                for lane in lanes:
                    trace = self.traces[lane.label]
                    trace.finish = "budget"
                    self.decoded.append(Decoded(lane.label, trace, prompt.name, prompt.kind, repeat, 1000))
                    self.done += 1
                self.done += 1

    def _begin(self, lanes: Sequence[LaneOf], rounds: int) -> None:
        self.traces = {lane.label: _empty(lane.settings, plain_rounds(2 * rounds, 0.01)) for lane in lanes}
        self.traces[self.PLAIN] = next(iter(self.traces.values())).baseline

    def _step(self, label: str, index: int) -> None:
        trace = self.traces[label]
        record = made_round(index, MARKS[index % 3], (0.001, 0.02, 0.0, 0.0))
        trace.rounds.append(record)
        trace.output_ids += [token.id for token in record.emitted]


def _empty(settings: Settings, plain: list | None) -> Trace:
    """A trace that begins, with every piece that its rounds will need."""
    trace = made_trace([], plain, gamma=3, temperature=settings.temperature, method=settings.method)
    for lane in filter(None, (trace, trace.baseline)):
        lane.pieces = {i: Piece(f" t{i}") for i in (1, 2, 5, 7, 8)}
    trace.finish = "running"
    return trace


@dataclass
class FakeEngine:
    """Makes fake races and measurements and remembers them. refuse: raised when one starts; error: raised halfway."""

    rounds: int = 6
    pause: float = 0.0
    error: Exception | None = None
    refuse: SpecvizError | None = None
    draft_problem: str | None = None
    races: list[FakeRace] = field(default_factory=list)
    measurements: list[FakeMeasurement] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    most_at_once: int = 0

    def engine(self) -> Engine:
        return Engine(self._entries, self._load, self._race, self._measure, examine=self._examine)

    def _entries(self):
        far = CatalogEntry("far", "Far pair", "elsewhere", "a", "b", why_not="a <b>model</b> is missing.")
        return [CatalogEntry("near", "Near pair", "made by hand", "a", "b", embedded=True), far]

    def _load(self, key, dtype=None):
        self.loads.append(key if dtype is None else f"{key} {dtype}")
        return SimpleNamespace(draft_problem=self.draft_problem, notices=[], key=key, dtype=dtype)

    def _race(self, pair, prompt, settings, plain):
        if self.refuse:
            raise self.refuse
        race = FakeRace(settings, plain, self)
        self.races.append(race)
        self.most_at_once = max(self.most_at_once, sum(not r.closed for r in self.races))
        return race

    def _examine(self, key, dtype=None):
        if self.refuse:
            raise self.refuse
        found = Finding("memory", "warning", f"{key} takes <much> in {dtype}.", "Watch the memory.")
        return [found, Finding("verdict", "note", "Fits, with notes.")]

    def _measure(self, lanes, prompts, repeats):
        if self.refuse:
            raise self.refuse
        measurement = FakeMeasurement(lanes, prompts, repeats, self)
        self.measurements.append(measurement)
        return measurement
