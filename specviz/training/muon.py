"""Muon (Jordan et al. 2024) with the orthogonalisation batched over layers and split over ranks.

The same update as torch.optim.Muon (a test compares them), which takes a fifth of a step of this small
model when every rank repeats it. Here matrices of one shape are one batched product, each rank
orthogonalises every n-th of them, and the results are exchanged, so all ranks keep equal weights and
equal state: any rank's checkpoint is complete.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn

from specviz.training.parallel import rank, ranks

MOMENTUM = 0.95
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5


def orthogonalise(matrices: Tensor) -> Tensor:
    """Newton-Schulz: [n, rows, cols] with rows <= cols -> nearly orthogonal rows, in bfloat16."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.bfloat16()
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class Muon:
    """Muon for the 2-D parameters given; a missing gradient counts as zero."""

    def __init__(self, parameters: list[nn.Parameter], weight_decay: float) -> None:
        self.weight_decay = weight_decay
        # Wide and tall matrices of the same two sizes share a batch; tall ones enter transposed.
        shapes = sorted({tuple(sorted(p.shape)) for p in parameters})
        self.groups = [[p for p in parameters if tuple(sorted(p.shape)) == shape] for shape in shapes]
        self.momenta = [torch.zeros(len(g), *s) for g, s in zip(self.groups, shapes, strict=True)]

    @torch.no_grad()
    def step(self, lr: float) -> None:
        """One update at rate `lr`, then clear the gradients."""
        for group, momentum in zip(self.groups, self.momenta, strict=True):
            gradients = torch.stack([_wide(_gradient(p)) for p in group])
            momentum.lerp_(gradients, 1 - MOMENTUM)
            updates = _shared_work(gradients.lerp(momentum, MOMENTUM))
            for parameter, update in zip(group, updates, strict=True):
                rows, cols = parameter.shape
                parameter.mul_(1 - lr * self.weight_decay)
                parameter.add_(_wide(update, rows > cols), alpha=-lr * max(1, rows / cols) ** 0.5)
                parameter.grad = None

    def state_dict(self) -> dict[str, list[Tensor]]:
        return {"momenta": self.momenta}

    def load_state_dict(self, state: dict[str, list[Tensor]]) -> None:
        for mine, saved in zip(self.momenta, state["momenta"], strict=True):
            mine.copy_(saved)


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def _wide(matrix: Tensor, transpose: bool | None = None) -> Tensor:
    rows, cols = matrix.shape
    return matrix.mT if (rows > cols if transpose is None else transpose) else matrix


def _shared_work(matrices: Tensor) -> Tensor:
    """`orthogonalise`, each rank its share; the same result on every rank."""
    if ranks() == 1:
        return orthogonalise(matrices).float()
    done = torch.zeros(matrices.shape, dtype=torch.bfloat16)
    done[rank() :: ranks()] = orthogonalise(matrices[rank() :: ranks()])
    for owner in range(ranks()):
        part = done[owner :: ranks()].contiguous()
        dist.broadcast(part, src=owner)
        done[owner :: ranks()] = part
    return done.float()
