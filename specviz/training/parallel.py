"""Two processes of one thread each instead of one process of two threads.

A small model's kernels take well under a millisecond, so two threads wait for each other thousands of
times a step; when another program holds a core, every wait costs a scheduler slice (measured: 13 s a
step instead of 0.9 s). Processes that meet once a step do not have that problem and are a little
faster when alone. Every rank steps the same optimizer on the same mean gradient, so weights stay equal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn


def rank() -> int:
    """This process's number; 0 without a group."""
    return dist.get_rank() if dist.is_initialized() else 0


def ranks() -> int:
    """How many processes share the work."""
    return dist.get_world_size() if dist.is_initialized() else 1


def my_rows(batch: Tensor) -> Tensor:
    """This rank's rows of a batch that every rank drew alike."""
    return batch[rank() :: ranks()]


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace each gradient by its mean over the ranks. Parameters without one are the same on all."""
    if ranks() == 1:
        return
    gradients = [p.grad for p in parameters if p.grad is not None]
    flat = torch.cat([g.flatten() for g in gradients])
    dist.all_reduce(flat)
    flat /= ranks()
    for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def mean_over_ranks(value: float) -> float:
    """The mean of a number over the ranks."""
    if ranks() == 1:
        return value
    tensor = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(tensor)
    return float(tensor) / ranks()


def any_rank(flag: bool) -> bool:
    """True on every rank if it is true on one: a signal may reach the ranks at different steps."""
    return mean_over_ranks(float(flag)) > 0


def _enter(index: int, count: int, store: str, work: Callable[..., None], arguments: tuple) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=index, world_size=count)
    try:
        work(*arguments)
    finally:
        dist.destroy_process_group()


def run_in_ranks(count: int, folder: Path, work: Callable[..., None], *arguments: object) -> None:
    """Call `work(*arguments)` in `count` processes that can average gradients."""
    store = folder / f"group-{os.getpid()}"
    store.unlink(missing_ok=True)
    mp.spawn(_enter, args=(count, str(store), work, arguments), nprocs=count)
    store.unlink(missing_ok=True)
