"""From source files to token arrays, and from token arrays to batches whose order can be resumed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from specviz.training.corpus import SourceFile, is_held_out, stable_hash
from specviz.training.quality import snippets
from specviz.training.sources import STDLIB, WHEELS
from specviz.training.tokenizer import END_OF_TEXT

SNIPPET_SHARE = 0.4  # of the training files are split into stand-alone definitions
REPEATS = {source.name: source.repeats for source in (STDLIB, *WHEELS)}


def documents(file: SourceFile, repeat: int = 0) -> list[str]:
    """A training file as one document or as its definitions; a repeat takes the other form."""
    as_snippets = stable_hash("form:" + file.key) % 100 < 100 * SNIPPET_SHARE
    if as_snippets != bool(repeat % 2):
        return snippets(file.text)
    return [file.text]


def training_documents(files: list[SourceFile]) -> list[str]:
    """Every document of the training split with its repeats, in a fixed shuffled order."""
    keyed = []
    for file in files:
        if is_held_out(file.key):
            continue
        for repeat in range(REPEATS[file.package]):
            for i, text in enumerate(documents(file, repeat)):
                keyed.append((stable_hash(f"order:{file.key}:{repeat}:{i}"), text))
    return [text for _, text in sorted(keyed)]


def encode_documents(tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    """All documents as one uint16 array, each followed by the end-of-text token."""
    end = tokenizer.token_to_id(END_OF_TEXT)
    parts: list[int] = []
    for encoding in tokenizer.encode_batch(texts):
        parts += [*encoding.ids, end]
    return np.array(parts, dtype=np.uint16)


def write_tokens(work: Path, tokenizer: Tokenizer, files: list[SourceFile]) -> dict[str, int]:
    """Write train.bin and held_out.bin (uint16) under `work` and return their sizes."""
    held_out = [file for file in files if is_held_out(file.key)]
    train = encode_documents(tokenizer, training_documents(files))
    test = encode_documents(tokenizer, [file.text for file in held_out])
    train.tofile(work / "train.bin")
    test.tofile(work / "held_out.bin")
    return {
        "train_files": len(files) - len(held_out),
        "held_out_files": len(held_out),
        "train_tokens": len(train),
        "held_out_tokens": len(test),
        "held_out_bytes": sum(len(file.text.encode()) for file in held_out),
    }


def read_tokens(path: Path) -> torch.Tensor:
    """A .bin file as int64 ids [n]."""
    return torch.from_numpy(np.fromfile(path, dtype=np.uint16).astype(np.int64))


@dataclass
class Batches:
    """Windows of `length` + 1 ids in an order that depends only on (seed, position).

    Each pass over the data shuffles its windows anew and starts them at another offset. `position`
    counts windows served since the first one: saving it is enough to resume exactly.
    """

    tokens: torch.Tensor  # [n] int64
    length: int
    seed: int = 0
    position: int = 0

    def __post_init__(self) -> None:
        # One window fewer than fits leaves room for the offset of each pass.
        self.per_pass = (len(self.tokens) - 1) // self.length - 1
        self._pass, self._order, self._offset = -1, torch.empty(0), 0

    def next(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets, both [count, length], of the next `count` windows."""
        rows = [self._window(self.position + i) for i in range(count)]
        self.position += count
        windows = torch.stack(rows)
        return windows[:, :-1], windows[:, 1:]

    def _window(self, position: int) -> torch.Tensor:
        index, within = divmod(position, self.per_pass)
        if index != self._pass:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
            self._order = torch.randperm(self.per_pass, generator=generator)
            self._offset = int(torch.randint(self.length, (1,), generator=generator))
            self._pass = index
        start = self._offset + int(self._order[within]) * self.length
        return self.tokens[start : start + self.length + 1]
