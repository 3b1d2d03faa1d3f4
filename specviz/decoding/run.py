"""A run: an iterator of rounds that owns everything of one sequence, and its trace."""

import logging
from collections.abc import Callable, Generator
from typing import Self

from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Round, Trace

logger = logging.getLogger(__name__)
Rounds = Generator[Round, None, None]


class Run:
    """Yields rounds as they happen; `trace` grows with them. Closing it (or leaving its `with`) frees everything.

    The prompt is taken in at the first step, off the decode clock (`trace.prefill`).
    """

    def __init__(self, trace: Trace, rounds: Callable[[], Rounds]) -> None:
        self.trace = trace
        self._rounds = rounds()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Round:
        try:
            return next(self._rounds)
        except SpecvizError as error:
            self._fail(str(error))
            raise
        except StopIteration:
            raise
        except Exception as error:
            logger.exception("a run failed")
            sentence = f"Decoding failed after {len(self.trace.output_ids)} tokens: {_plain(error)}"
            self._fail(sentence)
            raise SpecvizError(sentence) from None

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _fail(self, sentence: str) -> None:
        self.trace.finish, self.trace.failure = "failed", sentence


def _plain(error: Exception) -> str:
    """One line of an unforeseen error, fit for a page."""
    if "out of memory" in str(error).lower():
        return "the device is out of memory; choose smaller models or fewer tokens."
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0][:200]}." if first else f"{type(error).__name__}."
