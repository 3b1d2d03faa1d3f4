"""The desk: one run at a time, first come, first served, and in memory only the pairs that it needs."""

import gc
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection
from traceback import format_exc
from typing import Any, Self

from specviz.trace.errors import SpecvizError

logger = logging.getLogger(__name__)
MOST_WAITING = 8
Held = tuple[str, str | None]  # a pair's key and the dtype it was asked in (None: what suits the device)


class Desk:
    """Hands out tickets. Only the ticket at the head of the line may use a model.

    Any thread may take, ask or give back a ticket: a generator of the page moves between threads.
    """

    def __init__(self, load: Callable[..., Any]) -> None:
        self._load, self._guard = load, threading.Lock()
        self._line: deque[Ticket] = deque()
        self._pairs: dict[Held, Any] = {}

    def take_ticket(self) -> "Ticket":
        """Join the line. Raises SpecvizError if it is too long."""
        with self._guard:
            if len(self._line) > MOST_WAITING:
                raise SpecvizError(f"Busy: {MOST_WAITING} runs are waiting already. Try again in a minute.")
            ticket = Ticket(self)
            self._line.append(ticket)
            return ticket

    def ahead_of(self, ticket: "Ticket") -> int:
        """How many tickets are served before this one; 0: its turn."""
        with self._guard:
            return self._line.index(ticket)

    def give_back(self, ticket: "Ticket") -> None:
        with self._guard:
            if ticket in self._line:
                self._line.remove(ticket)

    def pair(self, ticket: "Ticket", key: str, dtype: str | None, beside: Collection[Held]) -> Any:
        """The pair of that key and dtype; all others in memory but those in `beside` are let go first.

        Raises SpecvizError.
        """
        if self.ahead_of(ticket):
            raise RuntimeError("a ticket asked for a model before its turn")
        wanted = (key, dtype)
        self._let_go_all_but({wanted, *beside})
        if wanted not in self._pairs:
            self._pairs[wanted] = _checked(self._load, *wanted[: 1 if dtype is None else 2])
        return self._pairs[wanted]

    def _let_go_all_but(self, kept: Collection[Held]) -> None:
        left = self._pairs.keys() - kept
        for held in left:
            del self._pairs[held]
        if left:
            gc.collect()
            if torch := sys.modules.get("torch"):
                torch.cuda.is_available() and torch.cuda.empty_cache()


class Ticket:
    """A place in the line; leave the `with` to give it back."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @property
    def ahead(self) -> int:
        """Runs that are served before this one; 0: its turn."""
        return self._desk.ahead_of(self)

    def pair(self, key: str, dtype: str | None = None, beside: Collection[Held] = ()) -> Any:
        """The pair of that key, loaded if need be. Only when `ahead` is 0. Raises SpecvizError.

        beside: (key, dtype) of the other pairs that the same run needs; any not named are let go.
        """
        return self._desk.pair(self, key, dtype, beside)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._desk.give_back(self)


def _checked(load: Callable[..., Any], key: str, *dtype: str) -> Any:
    """Load, and turn any failure into a fresh SpecvizError: the old one's frames hold half-loaded models."""
    try:
        return load(key, *dtype)
    except SpecvizError as error:
        sentence, field = str(error), error.field
    except Exception as error:
        logger.error("loading %r failed\n%s", key, format_exc())  # as text: a record would keep the frames
        out = isinstance(error, MemoryError) or "out of memory" in str(error).lower()
        why = "there is not enough memory for it" if out else "its files could not be used (the log says more)"
        sentence, field = f"The pair could not be loaded: {why}. Choose another pair.", "pair"
    raise SpecvizError(sentence, field=field)
