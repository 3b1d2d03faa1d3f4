"""The lane's clock: wall time of a round, split into phases, with the device synchronised at every mark."""

from collections.abc import Callable
from time import perf_counter

from specviz.trace.schema import Timing


class Clock:
    """Marks phases of one round. `synchronize` waits for the device; on a CPU it does nothing."""

    def __init__(self, synchronize: Callable[[], None]) -> None:
        self._synchronize = synchronize
        self._synchronize()
        self._start = self._last = perf_counter()
        self._draft: list[float] = []
        self._phases = {"verify": 0.0, "sampling": 0.0}

    def step(self) -> None:
        """The time since the last mark was one draft step."""
        self._draft.append(self._lap())

    def skip(self) -> None:
        """The time since the last mark belongs to no phase: it will count as `other`."""
        self._lap()

    def mark(self, phase: str) -> None:
        """The time since the last mark belongs to `phase` ("verify" or "sampling")."""
        self._phases[phase] += self._lap()

    def timing(self) -> Timing:
        """The round as it stands: what no mark claimed is `other`."""
        total = perf_counter() - self._start
        claimed = sum(self._draft) + sum(self._phases.values())
        return Timing(self._draft, **self._phases, other=max(0.0, total - claimed))

    def elapsed(self) -> float:
        """Seconds since the round began, recording included."""
        return perf_counter() - self._start

    def _lap(self) -> float:
        self._synchronize()
        now = perf_counter()
        lap, self._last = now - self._last, now
        return lap
