"""The target's loss: next-token cross-entropy plus one early exit a step, with layer dropout.

After LayerSkip (Elhoushi et al. 2024, arXiv:2404.16710): dropout rises exponentially with depth, and
lower layers learn to predict through the shared final norm and head. Unlike the paper, a layer is
skipped for the whole batch (which saves its time) and one exit is drawn per step instead of weighting
all of them. Only the lower half exits, where drafting with the lower layers can pay.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from specviz.training.blocks import FastLlama

MAX_LAYER_DROPOUT = 0.1
EXITS = (1, 2, 3, 4, 6, 8)  # number of layers applied before the exit
EXIT_WEIGHT = 0.3


def dropout_rates(layers: int, maximum: float = MAX_LAYER_DROPOUT) -> list[float]:
    """Chance to skip each layer: maximum * (2^(l / (L - 1)) - 1), zero at the first layer."""
    if layers == 1:
        return [0.0]
    return [maximum * (math.exp(math.log(2) * index / (layers - 1)) - 1) for index in range(layers)]


def draws(step: int, layers: int, seed: int = 0) -> tuple[list[bool], int]:
    """Which layers run at `step`, and after how many layers its early exit sits.

    Depends only on (seed, step), so a resumed run draws what an unbroken one would have drawn.
    """
    generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
    uniforms = torch.rand(layers, generator=generator).tolist()
    runs = [u >= rate for u, rate in zip(uniforms, dropout_rates(layers), strict=True)]
    exits = [exit_ for exit_ in EXITS if exit_ < layers]
    return runs, exits[int(torch.randint(len(exits), (1,), generator=generator))]


def training_loss(fast: FastLlama, inputs: Tensor, targets: Tensor, step: int) -> tuple[Tensor, float]:
    """The loss to minimise, and the last layer's part of it in nats. inputs, targets [batch, length]."""
    runs, exit_after = draws(step, fast.config.num_hidden_layers)
    x = fast.embed(inputs)
    early = None
    for index, run in enumerate(runs):
        if run:
            x = fast.layer(index, x)
        if index + 1 == exit_after:
            early = fast.loss(x, targets)
    last = fast.loss(x, targets)
    return last + EXIT_WEIGHT * early, float(last.detach())
