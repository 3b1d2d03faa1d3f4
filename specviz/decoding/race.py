"""Speculative and plain decoding side by side, in one thread, on one clock."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from specviz.decoding.closing import Closing
from specviz.decoding.loop import speculate
from specviz.decoding.plain import decode_plain
from specviz.decoding.run import Run
from specviz.models.pair import Pair
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Round, Settings, Trace

Lane = Literal["speculative", "plain"]
_WARM_ROUNDS = 2  # thrown away in each lane: first calls of each width cost more than later ones


class Race(Closing):
    """An iterator of (lane, round). Each lane has its own clock (the sum of its rounds' times); the lane that is
    behind moves next, so both show the same moment. `trace` is the speculative lane, `trace.baseline` the plain.
    """

    def __init__(self, pair: Pair, prompt: str | Sequence[int], settings: Settings, plain: bool) -> None:
        self._pair, self._settings = pair, settings
        self._lanes: dict[Lane, Run] = {"speculative": speculate(pair, prompt, settings)}
        self.trace: Trace = self._lanes["speculative"].trace
        if plain:
            self._lanes["plain"] = decode_plain(pair, prompt, settings)
            self.trace.baseline = self._lanes["plain"].trace
        self._clock: dict[Lane, float] = dict.fromkeys(self._lanes, 0.0)
        self._steps = self._race()

    def __next__(self) -> tuple[Lane, Round]:
        return next(self._steps)

    def close(self) -> None:
        """Stop both lanes and free their caches."""
        self._steps.close()
        for run in self._lanes.values():
            run.close()

    def _warm_up(self) -> None:
        try:
            warm_up(self._pair, self.trace.prompt.ids, self._settings, plain="plain" in self._lanes)
        except SpecvizError as error:
            for run in self._lanes.values():
                run.trace.finish, run.trace.failure = "failed", str(error)
            raise

    def _race(self) -> Iterator[tuple[Lane, Round]]:
        self._warm_up()
        running = dict(self._lanes)
        while running:
            lane = min(running, key=self._clock.__getitem__)
            record = next(running[lane], None)
            if record is None:
                del running[lane]
                continue
            self._clock[lane] += record.timing.total
            yield lane, record


def race(pair: Pair, prompt: str | Sequence[int], settings: Settings | None = None, plain: bool = True) -> Race:
    """Start a race of `speculate` against `decode_plain` (unless `plain` is False); errors as `speculate`."""
    return Race(pair, prompt, settings or Settings(), plain)


def warm_up(pair: Pair, prompt: str | Sequence[int], settings: Settings, plain: bool = True) -> None:
    """Run the first rounds of the lanes once and throw them away, so that no first call is measured."""
    for start in (decode_plain, speculate) if plain else (speculate,):
        with start(pair, prompt, settings) as run:
            for _ in islice(run, _WARM_ROUNDS):
                pass
