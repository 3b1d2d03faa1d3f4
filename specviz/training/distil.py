"""The draft learns the target's distribution: forward KL first, total variation at the end.

Speculative sampling accepts a drafted token with probability beta = sum of min(p, q) = 1 - TV(p, q)
on average, so the last part of the run minimises exactly what is lost. KL comes first because TV has
no gradient for tokens where q already exceeds p, which a fresh draft has almost everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from specviz.training.blocks import FastLlama

TV_FROM = 0.6  # share of the run after which total variation replaces KL


def forward_kl(p_logits: Tensor, q_logits: Tensor) -> Tensor:
    """Mean over positions of KL(p || q) in nats; logits [batch, length, vocab]."""
    log_p, log_q = F.log_softmax(p_logits, -1), F.log_softmax(q_logits, -1)
    return (log_p.exp() * (log_p - log_q)).sum(-1).mean()


def total_variation(p_logits: Tensor, q_logits: Tensor) -> Tensor:
    """Mean over positions of 1 - sum of min(p, q); logits [batch, length, vocab]."""
    p, q = F.softmax(p_logits, -1), F.softmax(q_logits, -1)
    return 1 - torch.minimum(p, q).sum(-1).mean()


def distillation_loss(
    teacher: FastLlama, student: FastLlama, tv_from_step: int, compiled: bool = True
) -> Callable[[Tensor, Tensor, int], tuple[Tensor, float]]:
    """A loss for `loop.train`: (inputs, targets, step) -> (loss, the same as a number)."""
    wrap = torch.compile if compiled else (lambda function: function)
    kl, tv = wrap(forward_kl), wrap(total_variation)

    def loss(inputs: Tensor, _targets: Tensor, step: int) -> tuple[Tensor, float]:
        with torch.no_grad():
            p_logits = teacher.forward(inputs)
        value = (tv if step >= tv_from_step else kl)(p_logits, student.forward(inputs))
        return value, float(value.detach())

    return loss
