"""Checkpoints: everything a run needs to go on as if it had never stopped."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from specviz.training.data import Batches
from specviz.training.optim import Optimizers


@dataclass
class Progress:
    """Where a run stands. All randomness is drawn from (seed, step), so no generator state is kept."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    restarted_at: int = 0  # the step at which the optimizers last started anew


def save_checkpoint(path: Path, model: nn.Module, optimizers: Optimizers, batches: Batches, progress: Progress) -> None:
    """Write to a neighbour and rename, so a kill in the middle leaves the old checkpoint whole."""
    state = {
        "model": model.state_dict(),
        "optimizers": optimizers.state_dict(),
        "position": batches.position,
        "progress": asdict(progress),
    }
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    os.replace(partial, path)


def load_checkpoint(path: Path, model: nn.Module, optimizers: Optimizers, batches: Batches) -> Progress:
    """Fill the given objects in place and say where the run stood."""
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimizers.load_state_dict(state["optimizers"])
    batches.position = state["position"]
    return Progress(**state["progress"])
