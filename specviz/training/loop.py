"""One training loop for target and draft: step, log, evaluate, checkpoint, stop politely."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn
from tqdm import tqdm

from specviz.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from specviz.training.data import Batches
from specviz.training.optim import Optimizers, Schedule
from specviz.training.parallel import any_rank, average_gradients, mean_over_ranks, my_rows, rank

CHECKPOINT_SECONDS = 300
EVALUATE_STEPS = 250
LOG_STEPS = 10
LONGEST_STEP = 60.0  # seconds; a longer one was spent suspended, not training

LossFunction = Callable[[Tensor, Tensor, int], tuple[Tensor, float]]


@dataclass
class Run:
    """What a run is made of. `loss` maps (inputs, targets, step) to (loss, figure to log)."""

    model: nn.Module
    optimizers: Optimizers
    batches: Batches
    schedule: Schedule
    loss: LossFunction
    evaluate: Callable[[], float]  # every rank calls it; it may split the work
    checkpoint: Path
    windows: int = 8  # per step
    evaluate_every: int = EVALUATE_STEPS


class Stop:
    """Turns SIGTERM and SIGINT into a flag, so that a run ends with a checkpoint."""

    def __init__(self) -> None:
        self.asked = False
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


def take_step(run: Run, progress: Progress) -> float:
    """One update; returns the logged figure and moves `progress` on."""
    inputs, targets = run.batches.next(run.windows)
    loss, figure = run.loss(my_rows(inputs), my_rows(targets), progress.step)
    loss.backward()
    average_gradients(run.model.parameters())
    run.optimizers.step(run.schedule.factor(progress.step, progress.restarted_at))
    progress.step += 1
    progress.tokens += inputs.numel()
    return figure


def train(run: Run, until_tokens: int, stop: Stop) -> tuple[Progress, bool]:
    """Train from the checkpoint, if there is one, to `until_tokens`; True if it got there."""
    progress = Progress()
    if run.checkpoint.exists():
        progress = load_checkpoint(run.checkpoint, run.model, run.optimizers, run.batches)
    bar = tqdm(
        total=until_tokens,
        initial=progress.tokens,
        unit="tok",
        unit_scale=True,
        mininterval=10,
        disable=rank() > 0,
    )
    saved = clock = time.monotonic()
    recent: list[float] = []
    while progress.tokens < until_tokens and not any_rank(stop.asked):
        before = progress.tokens
        recent.append(take_step(run, progress))
        now = time.monotonic()
        progress.seconds += min(now - clock, LONGEST_STEP)
        clock = now
        bar.update(progress.tokens - before)
        if progress.step % LOG_STEPS == 0:
            _log(run, progress, recent, bar)
        if progress.step % run.evaluate_every == 0:
            _record(run, progress, {"held_out": run.evaluate()})
        if now - saved > CHECKPOINT_SECONDS:
            _save(run, progress)
            saved = now
    _save(run, progress)
    bar.close()
    return progress, progress.tokens >= until_tokens


def _save(run: Run, progress: Progress) -> None:
    if rank() == 0:
        save_checkpoint(run.checkpoint, run.model, run.optimizers, run.batches, progress)


def _log(run: Run, progress: Progress, recent: list[float], bar: tqdm) -> None:
    mean = mean_over_ranks(sum(recent) / len(recent))
    recent.clear()
    bar.set_postfix(figure=f"{mean:.3f}")
    _record(run, progress, {"train": mean, "factor": run.schedule.factor(progress.step, progress.restarted_at)})


def _record(run: Run, progress: Progress, figures: dict[str, float]) -> None:
    """Append one line to the run's log, next to its checkpoint."""
    if rank() > 0:
        return
    entry = {"step": progress.step, "tokens": progress.tokens, "seconds": round(progress.seconds, 1)}
    with run.checkpoint.with_suffix(".jsonl").open("a") as file:
        file.write(json.dumps(entry | figures) + "\n")
