"""Stop buttons and closed tabs: which running generators belong to which visitor."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Stops:
    """Events by visitor; setting one ends that visitor's run after its current round."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._events: defaultdict[str, set[threading.Event]] = defaultdict(set)

    @contextmanager
    def watch(self, visitor: str) -> Iterator[threading.Event]:
        """An event that `stop` of the same visitor sets, for as long as the `with` lasts."""
        event = threading.Event()
        with self._guard:
            self._events[visitor].add(event)
        try:
            yield event
        finally:
            with self._guard:
                self._events[visitor].discard(event)
                if not self._events[visitor]:
                    del self._events[visitor]

    def stop(self, visitor: str) -> bool:
        """Stop all runs of a visitor; False if there is none."""
        with self._guard:
            events = list(self._events.get(visitor, ()))
        for event in events:
            event.set()
        return bool(events)
