"""What the models do on held-out text: losses in nats per token, early exits, overlap of draft and target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from specviz.training.blocks import FastLlama
from specviz.training.data import read_tokens

Windows = tuple[Tensor, Tensor]  # inputs and targets, both [count, length]


def held_out_windows(path: Path, count: int, length: int) -> Windows:
    """Fixed windows, evenly spread over the held-out tokens (they overlap if count is large)."""
    tokens = read_tokens(path)
    starts = torch.linspace(0, len(tokens) - length - 2, count).long().tolist()
    windows = torch.stack([tokens[start : start + length + 1] for start in starts])
    return windows[:, :-1], windows[:, 1:]


def in_batches(windows: Windows, size: int) -> Iterator[Windows]:
    """The same windows, `size` rows at a time."""
    return zip(windows[0].split(size), windows[1].split(size), strict=True)


@torch.no_grad()
def last_loss(fast: FastLlama, inputs: Tensor, targets: Tensor) -> float:
    """The model's own cross-entropy in nats, every layer applied."""
    x = fast.embed(inputs)
    for index in range(fast.config.num_hidden_layers):
        x = fast.layer(index, x)
    return float(fast.loss(x, targets))


@torch.no_grad()
def exit_losses(fast: FastLlama, inputs: Tensor, targets: Tensor) -> list[float]:
    """Cross-entropy after each number of layers 1..L, in nats; the last entry is the model's own."""
    x = fast.embed(inputs)
    losses = []
    for index in range(fast.config.num_hidden_layers):
        x = fast.layer(index, x)
        losses.append(float(fast.loss(x, targets)))
    return losses


@torch.no_grad()
def overlap(p_logits: Tensor, q_logits: Tensor) -> tuple[float, float]:
    """Mean over positions of beta = sum over the vocabulary of min(p, q), and of equal arg max.

    Both logits [batch, length, vocab]; temperature 1.
    """
    p, q = p_logits.float().softmax(-1), q_logits.float().softmax(-1)
    beta = torch.minimum(p, q).sum(-1).mean()
    agree = (p_logits.argmax(-1) == q_logits.argmax(-1)).float().mean()
    return float(beta), float(agree)


@torch.no_grad()
def overlap_by_layer(fast: FastLlama, inputs: Tensor) -> list[tuple[float, float]]:
    """Overlap of the early exit after each number of layers 1..L-1 with the whole model."""
    x = fast.embed(inputs)
    states = [x := fast.layer(index, x) for index in range(fast.config.num_hidden_layers)]
    whole = fast.logits(states[-1])
    return [overlap(whole, fast.logits(state)) for state in states[:-1]]


def mean_columns(rows: list[list[float]] | list[tuple[float, ...]]) -> list[float]:
    """The mean of each column."""
    return torch.tensor(rows, dtype=torch.float64).mean(0).tolist()
