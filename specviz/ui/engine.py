"""What the page asks of the rooms below it. Importing this module does not import torch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

from specviz.models.catalog import CatalogEntry, entries
from specviz.trace.schema import Round, Settings, Trace


class Race(Protocol):
    """Both lanes of a run, as specviz.decoding.race makes it."""

    trace: Trace

    def __iter__(self) -> Iterator[tuple[str, Round]]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Engine:
    """entries: the pairs there are. load: a pair by key. race: (pair, prompt, settings, plain lane?)."""

    entries: Callable[[], list[CatalogEntry]]
    load: Callable[[str], Any]
    race: Callable[[Any, str, Settings, bool], Race]


def local_engine() -> Engine:
    """The engine of this process; torch is imported at the first load."""
    return Engine(entries, _load, _race)


def _load(key: str) -> Any:
    from specviz.models.loading import load_pair

    return load_pair(key, strict=False)


def _race(pair: Any, prompt: str, settings: Settings, plain: bool) -> Race:
    from specviz.decoding.race import race

    return race(pair, prompt, settings, plain)
