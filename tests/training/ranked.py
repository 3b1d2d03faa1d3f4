"""A short run that a spawned process can import: the same work by one rank or by several."""

from pathlib import Path

import torch
from transformers import LlamaForCausalLM

from specviz.training import blocks
from specviz.training.blocks import FastLlama
from specviz.training.checkpoint import Progress
from specviz.training.data import Batches
from specviz.training.family import new_model, tiny_config
from specviz.training.loop import Run, take_step
from specviz.training.optim import Optimizers, Schedule
from specviz.training.parallel import rank
from specviz.training.target import training_loss


def fresh_model() -> LlamaForCausalLM:
    """The model that every short run starts from."""
    return new_model(tiny_config(2, vocab_size=320, hidden=64), seed=0)


def short_run(folder: Path, steps: int) -> None:
    """Take `steps` steps of four windows in fp32 and save this rank's weights."""
    blocks.COMPUTE = torch.float32
    model = fresh_model()
    fast = FastLlama(model, compiled=False)
    tokens = torch.randint(320, (2000,), generator=torch.Generator().manual_seed(1))
    run = Run(
        model=model,
        optimizers=Optimizers(model),
        batches=Batches(tokens, length=16),
        schedule=Schedule(warmup=1),
        loss=lambda inputs, targets, step: training_loss(fast, inputs, targets, step),
        evaluate=lambda: 0.0,
        checkpoint=folder / "unused.pt",
        windows=4,
    )
    progress = Progress()
    for _ in range(steps):
        take_step(run, progress)
    torch.save(model.state_dict(), folder / f"weights-{rank()}.pt")
