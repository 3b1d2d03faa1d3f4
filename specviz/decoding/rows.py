"""Processed distributions of a model after many continuations of one prompt: computed when asked for, and kept while
there is room."""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from specviz.decoding.sampling import Processor
from specviz.models.forward import Stepper

MOST = 96_000_000  # bytes of rows that are kept of one model
_OBJECTS = 1_000  # bytes that a row's objects take beside its numbers, about

Path = tuple[int, ...]  # ids that follow the prompt
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Values by key, `most` bytes of them; what was not asked for longest goes first, the newest always stays."""

    def __init__(self, most: int) -> None:
        self._most, self._values, self.bytes = most, OrderedDict[K, tuple[V, int]](), 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value; None if it is not kept."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value of `size` bytes; one that is kept under this key stays."""
        if self.get(key) is not None:
            return
        self._values[key] = (value, size)
        self.bytes += size
        while self.bytes > self._most and len(self._values) > 1:
            _, (_, gone) = self._values.popitem(last=False)
            self.bytes -= gone


@dataclass(frozen=True, slots=True)
class Row:
    """One processed distribution: its ids of any chance, lowest first, and theirs. raw: before processing, log, [W]."""

    ids: list[int]
    probs: Tensor
    raw: Tensor | None

    @property
    def best(self) -> int:
        """Where in `ids` the arg max is."""
        return int(self.probs.argmax())

    @property
    def bytes(self) -> int:
        """What it takes, about: an id is an object of its own."""
        return _OBJECTS + 44 * len(self.ids) + (0 if self.raw is None else self.raw.nbytes)

    def spread(self, columns: list[int]) -> Tensor:
        """Probabilities of `columns` (ids in order, with all of `ids` among them)."""
        row = torch.zeros(len(columns))
        row[[bisect_left(columns, token) for token in self.ids]] = self.probs
        return row


class Rows:
    """The processed rows of one model after the prompt and a path of ids, on the CPU. raw: keep the unprocessed too."""

    def __init__(
        self, model: Any, ids: list[int], room: int, processor: Processor, who: str, raw: bool = False
    ) -> None:
        self._stepper, self._processor, self._who, self._raw = Stepper(model, room), processor, who, raw
        self._last, self._known = ids[-1], len(ids) - 1
        if ids[:-1]:
            self._stepper.absorb(ids[:-1])
        self.kept: Kept[Path, Row] = Kept(MOST)

    def row(self, path: Path) -> Row:
        """What follows `path`; one pass over it gives the rows of all its beginnings too."""
        return self.kept.get(path) or self._compute(path)

    @torch.inference_mode()
    def _compute(self, path: Sequence[int]) -> Row:
        self._stepper.rollback(self._stepper.length - self._known)
        logits = self._stepper.feed([self._last, *path], keep=len(path) + 1)
        paths = [tuple(path[:n]) for n in range(len(path) + 1)]
        scores = self._processor.scores(logits, paths, self._who)
        probs = self._processor.probabilities(scores).cpu()
        raw = scores.log_softmax(-1).cpu() if self._raw else None
        for n, at in enumerate(paths):
            ids = probs[n].nonzero()[:, 0]
            row = Row(ids.tolist(), probs[n][ids], None if raw is None else raw[n].clone())  # not a view of them all
            self.kept.put(at, row, row.bytes)
        return row
