"""The desk: one pair in memory and one run at a time, first come, first served."""

import gc
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from traceback import format_exc
from typing import Any, Self

from specviz.trace.errors import SpecvizError

logger = logging.getLogger(__name__)
MOST_WAITING = 8


class Desk:
    """Hands out tickets. Only the ticket at the head of the line may use a model.

    Any thread may take, ask or give back a ticket: a generator of the page moves between threads.
    """

    def __init__(self, load: Callable[[str], Any]) -> None:
        self._load, self._guard = load, threading.Lock()
        self._line: deque[Ticket] = deque()
        self._key: str | None = None
        self._pair: Any = None

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

    def pair(self, ticket: "Ticket", key: str) -> Any:
        """The pair of that key; another one in memory is let go first. Raises SpecvizError."""
        if self.ahead_of(ticket):
            raise RuntimeError("a ticket asked for a model before its turn")
        if key != self._key:
            self._unload()
            self._pair, self._key = _checked(self._load, key), key
        return self._pair

    def _unload(self) -> None:
        self._pair = self._key = None
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

    def pair(self, key: str) -> Any:
        """The pair of that key, loaded if need be. Only when `ahead` is 0. Raises SpecvizError."""
        return self._desk.pair(self, key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._desk.give_back(self)


def _checked(load: Callable[[str], Any], key: str) -> Any:
    """Load, and turn any failure into a fresh SpecvizError: the old one's frames hold half-loaded models."""
    try:
        return load(key)
    except SpecvizError as error:
        sentence, field = str(error), error.field
    except Exception as error:
        logger.error("loading %r failed\n%s", key, format_exc())  # as text: a record would keep the frames
        out = isinstance(error, MemoryError) or "out of memory" in str(error).lower()
        why = "there is not enough memory for it" if out else "its files could not be used (the log says more)"
        sentence, field = f"The pair could not be loaded: {why}. Choose another pair.", "pair"
    raise SpecvizError(sentence, field=field)
