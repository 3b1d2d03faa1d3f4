"""A run: an iterator of rounds that owns everything of one sequence, and its trace."""

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from traceback import format_exception

from specviz.decoding.closing import Closing
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Round, Trace

logger = logging.getLogger(__name__)
Rounds = Generator[Round, None, None]


@dataclass(slots=True)
class Buffers:
    """Key-value buffers of a run, as its rounds tell of them. most: bytes held at once, at most so far."""

    most: int = 0


class Run(Closing):
    """Yields rounds as they happen; `trace` grows with them. Closing it (or leaving its `with`) frees everything.

    The prompt is taken in at the first step, off the decode clock (`trace.prefill`).
    """

    def __init__(self, trace: Trace, rounds: Callable[[Buffers], Rounds]) -> None:
        self.trace = trace
        self._buffers = Buffers()
        self._rounds = rounds(self._buffers)

    @property
    def bytes(self) -> int:
        """The most that its key-value buffers held at once after a round; stays when they are freed."""
        return self._buffers.most

    def __next__(self) -> Round:
        try:
            return next(self._rounds)
        except StopIteration:
            raise
        except Exception as error:
            sentence = self._sentence(error)
        # a fresh error, raised when the old one is gone: its frames hold the caches
        self.trace.finish, self.trace.failure = "failed", sentence
        raise SpecvizError(sentence)

    def close(self) -> None:
        """Stop and free caches; harmless if the run has ended."""
        self._rounds.close()
        if self.trace.finish == "running":
            self.trace.finish = "stopped"

    def finish(self) -> Trace:
        """Run to the end and return the trace."""
        for _ in self:
            pass
        return self.trace

    def _sentence(self, error: Exception) -> str:
        """An error as one line, fit for a page; what nobody foresaw goes to the log whole."""
        if isinstance(error, SpecvizError):
            return str(error)
        begin = f"Decoding failed after {len(self.trace.output_ids)} tokens: "
        if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
            return f"{begin}the device is out of memory; choose smaller models or fewer tokens."
        logger.error("a run failed\n%s", "".join(format_exception(error)))
        first = str(error).strip().splitlines()
        return f"{begin}{type(error).__name__}: {first[0][:200]}." if first else f"{begin}{type(error).__name__}."
