"""An engine without models: rounds made by hand, at a pace a test chooses."""

from dataclasses import dataclass, field
from time import sleep
from types import SimpleNamespace

from made import made_round, made_trace

from specviz.models.catalog import CatalogEntry
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Piece, Settings
from specviz.ui.engine import Engine

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
class FakeEngine:
    """Makes fake races and remembers them. refuse: raised when a race starts; error: raised halfway."""

    rounds: int = 6
    pause: float = 0.0
    error: Exception | None = None
    refuse: SpecvizError | None = None
    draft_problem: str | None = None
    races: list[FakeRace] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    most_at_once: int = 0

    def engine(self) -> Engine:
        return Engine(self._entries, self._load, self._race)

    def _entries(self):
        far = CatalogEntry("far", "Far pair", "elsewhere", "a", "b", why_not="a <b>model</b> is missing.")
        return [CatalogEntry("near", "Near pair", "made by hand", "a", "b", embedded=True), far]

    def _load(self, key):
        self.loads.append(key)
        return SimpleNamespace(draft_problem=self.draft_problem, notices=[], key=key)

    def _race(self, pair, prompt, settings, plain):
        if self.refuse:
            raise self.refuse
        race = FakeRace(settings, plain, self)
        self.races.append(race)
        self.most_at_once = max(self.most_at_once, sum(not r.closed for r in self.races))
        return race
