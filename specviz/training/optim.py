"""Muon for the hidden matrices, AdamW for the rest, and a schedule that can be branched."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from specviz.training.muon import Muon

MUON_LR = 0.005
ADAM_LR = 0.001


@dataclass(frozen=True)
class Schedule:
    """Warmup, constant, linear decay to zero, in steps. `decay_start` None means no decay yet.

    A run stays on the constant part for as long as it likes; a decay is a branch from one of its
    checkpoints, so the run itself can go on from there.
    """

    warmup: int = 100
    decay_start: int | None = None
    decay_steps: int = 1

    def factor(self, step: int, restarted_at: int = 0) -> float:
        """Multiplier of the peak learning rates at `step` (0-based); warmup counts from `restarted_at`."""
        if self.decay_start is not None and step >= self.decay_start:
            return max(0.0, 1 - (step - self.decay_start + 1) / (self.decay_steps + 1))
        return min(1.0, (step - restarted_at + 1) / self.warmup)


class Optimizers:
    """Muon and AdamW stepped together."""

    def __init__(self, model: nn.Module, muon_lr: float = MUON_LR, adam_lr: float = ADAM_LR) -> None:
        hidden = [p for p in model.model.layers.parameters() if p.ndim == 2]
        chosen = {id(p) for p in hidden}
        # parameters() yields the tied embedding once.
        rest = [p for p in model.parameters() if id(p) not in chosen]
        self.muon = Muon(hidden, weight_decay=0.05)
        self.adam = torch.optim.AdamW(rest, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
        self.muon_lr, self.adam_lr = muon_lr, adam_lr

    def step(self, factor: float) -> None:
        """Update with `factor` times the peak rates, then clear the gradients."""
        self.muon.step(self.muon_lr * factor)
        for group in self.adam.param_groups:
            group["lr"] = self.adam_lr * factor
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, dict]:
        return {"muon": self.muon.state_dict(), "adam": self.adam.state_dict()}

    def load_state_dict(self, state: dict[str, dict]) -> None:
        self.muon.load_state_dict(state["muon"])
        self.adam.load_state_dict(state["adam"])
