"""Speculative and plain decoding side by side, in one thread, on one clock."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, Self

from specviz.decoding.loop import speculate
from specviz.decoding.plain import decode_plain
from specviz.decoding.run import Run
from specviz.models.pair import Pair
from specviz.trace.schema import Round, Settings, Trace

Lane = Literal["speculative", "plain"]
_WARM_TOKENS = 3  # a throwaway prefix of each lane: first calls of each width cost more than later ones


class Race:
    """An iterator of (lane, round). Each lane has its own clock (the sum of its rounds' times); the lane that is
    behind moves next, so both show the same moment. `trace` is the speculative lane, `trace.baseline` the plain.
    """

    def __init__(self, pair: Pair, prompt: str | Sequence[int], settings: Settings, plain: bool) -> None:
        self._pair, self._prompt, self._settings = pair, prompt, settings
        self._lanes: dict[Lane, Run] = {"speculative": speculate(pair, prompt, settings)}
        self.trace: Trace = self._lanes["speculative"].trace
        if plain:
            self._lanes["plain"] = decode_plain(pair, prompt, settings)
            self.trace.baseline = self._lanes["plain"].trace
        self._clock: dict[Lane, float] = dict.fromkeys(self._lanes, 0.0)
        self._steps = self._race()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[Lane, Round]:
        return next(self._steps)

    def close(self) -> None:
        """Stop both lanes and free their caches."""
        self._steps.close()
        for run in self._lanes.values():
            run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _race(self) -> Iterator[tuple[Lane, Round]]:
        warm_up(self._pair, self._prompt, self._settings)
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


def warm_up(pair: Pair, prompt: str | Sequence[int], settings: Settings) -> None:
    """Run the first rounds of both lanes once and throw them away, so that no first call is measured."""
    few = replace(settings, max_new_tokens=min(settings.max_new_tokens, settings.gamma + _WARM_TOKENS))
    decode_plain(pair, prompt, replace(few, max_new_tokens=min(few.max_new_tokens, _WARM_TOKENS))).finish()
    speculate(pair, prompt, few).finish()
