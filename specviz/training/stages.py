"""The stages of `specviz train tiny-code` in order. Each reads the files of the one before."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from transformers import LlamaForCausalLM

from specviz.training import corpus, data, tokenizer
from specviz.training.blocks import FastLlama
from specviz.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from specviz.training.corpus import SourceFile
from specviz.training.distil import TV_FROM, distillation_loss
from specviz.training.family import DRAFT_LAYERS, HIDDEN, MAX_LENGTH, TARGET_LAYERS, Files, new_model, tiny_config
from specviz.training.heads import HeadOptimizers, heads_evaluation, heads_loss, new_heads
from specviz.training.loop import Run, Stop
from specviz.training.loop import train as run_training
from specviz.training.measure import held_out_windows, in_batches, last_loss
from specviz.training.optim import Optimizers, Schedule
from specviz.training.parallel import mean_over_ranks, my_rows, rank, ranks
from specviz.training.samples import join_parts, write_samples
from specviz.training.sources import STDLIB, WHEELS
from specviz.training.target import training_loss

TOKENS_A_STEP = 2048
STABLE_LENGTH = 512
DRAFT_WARMUP, DRAFT_DECAY_SHARE = 50, 0.5  # the heads' too
SAMPLE_SHARE = 0.25  # of the draft's training text, where the target has written enough


def make_corpus(files: Files) -> None:
    """Fetch the pinned wheels."""
    corpus.fetch_wheels(files.wheels)


def make_tokenizer(files: Files) -> None:
    """Filter and split the files, learn the merges from training files only, encode both splits.

    Does nothing if the work directory already holds what the present list of packages gives.
    """
    if is_made(files):
        return
    sources = corpus.collect(files.wheels)
    texts = [file.text for file in sources if not corpus.is_held_out(file.key)]
    learnt = tokenizer.train_tokenizer(sorted(texts, key=corpus.stable_hash)[:4000])
    tokenizer.save_tokenizer(learnt, files.tokenizer)
    sizes = data.write_tokens(files.work, learnt, sources)
    held_out = [asdict(file) for file in sources if corpus.is_held_out(file.key)]
    files.held_out_files.write_text(json.dumps(held_out, indent=1) + "\n")
    description = sizes | {"packages": describe_packages(sources)}
    files.corpus.write_text(json.dumps(description, indent=1) + "\n")  # last: its presence says all is there


def is_made(files: Files) -> bool:
    """The work directory's corpus was made from exactly the packages and versions listed now."""
    if not files.corpus.exists():
        return False
    made = json.loads(files.corpus.read_text())["packages"]
    listed = {(source.name, source.version, source.repeats) for source in (STDLIB, *WHEELS)}
    return {(row["name"], row["version"], row["repeats"]) for row in made} == listed


def describe_packages(sources: list[SourceFile]) -> list[dict[str, str | int]]:
    """Name, version, licence, kept files and bytes, and repeats of every package, largest first."""
    count = Counter(file.package for file in sources)
    size: Counter[str] = Counter()
    for file in sources:
        size[file.package] += len(file.text.encode())
    rows = [
        {
            "name": source.name,
            "version": source.version,
            "licence": source.licence,
            "files": count[source.name],
            "bytes": size[source.name],
            "repeats": source.repeats,
        }
        for source in (STDLIB, *WHEELS)
    ]
    return sorted(rows, key=lambda row: -int(row["bytes"]))


def held_out_evaluation(fast: FastLlama, path: Path, length: int) -> float:
    """Mean held-out loss over 32 k tokens, the work split over the ranks."""
    windows = held_out_windows(path, 32_768 // length, length)
    mine = (my_rows(windows[0]), my_rows(windows[1]))
    losses = [last_loss(fast, *batch) for batch in in_batches(mine, TOKENS_A_STEP // length // ranks())]
    return mean_over_ranks(sum(losses) / len(losses))


def target_run(files: Files, checkpoint: Path, schedule: Schedule, length: int, seed: int) -> Run:
    """The target's run, with weights still fresh: `loop.train` loads the checkpoint."""
    model = new_model(tiny_config(TARGET_LAYERS, tokenizer.VOCAB_SIZE), seed=0)
    fast = FastLlama(model)
    return Run(
        model=model,
        optimizers=Optimizers(model),
        batches=data.Batches(data.read_tokens(files.train), length, seed=seed),
        schedule=schedule,
        loss=lambda inputs, targets, step: training_loss(fast, inputs, targets, step),
        evaluate=lambda: held_out_evaluation(fast, files.held_out, length),
        checkpoint=checkpoint,
        windows=TOKENS_A_STEP // length,
    )


def restore(files: Files, exported: Path) -> None:
    """Checkpoints from an exported family, for when the work directory was lost.

    Weights (rounded to bfloat16) and counts go on from where they stood; the optimizers start anew, and
    the schedule warms up again. Does nothing if there is a checkpoint.
    """
    if files.stable.exists():
        return
    before = json.loads((exported / "training.json").read_text())
    run = target_run(files, files.stable, Schedule(), STABLE_LENGTH, seed=0)
    run.model.load_state_dict(_exported_weights(exported / "target"))
    progress = _progress_of(before["target"])
    progress.restarted_at = progress.step
    run.batches.position = progress.tokens // STABLE_LENGTH
    draft = _progress_of(before["draft"])
    torch.save({"model": _exported_weights(exported / "draft"), "progress": asdict(draft)}, files.draft)
    save_checkpoint(files.stable, run.model, run.optimizers, run.batches, progress)


def _exported_weights(folder: Path) -> dict[str, torch.Tensor]:
    return LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).state_dict()


def _progress_of(figures: dict[str, float]) -> Progress:
    return Progress(int(figures["steps"]), int(figures["tokens"]), figures["hours"] * 3600)


def train_stable(files: Files, until_tokens: int) -> None:
    """The constant phase, at 512 tokens a window."""
    run_training(target_run(files, files.stable, Schedule(), STABLE_LENGTH, seed=0), until_tokens, Stop())


def train_decay(files: Files, decay_tokens: int) -> None:
    """Branch from the constant phase: the rate falls to zero, at the full context of 1,024 tokens."""
    start = torch.load(files.stable, weights_only=True)["progress"]
    path = files.decay(start["step"])
    steps = -(-decay_tokens // TOKENS_A_STEP)
    run = target_run(files, path, Schedule(decay_start=start["step"], decay_steps=steps), MAX_LENGTH, seed=1)
    if not path.exists() and rank() == 0:
        progress = load_checkpoint(files.stable, run.model, run.optimizers, run.batches)
        run.batches.position = 0  # other windows, in another order: the position does not carry over
        save_checkpoint(path, run.model, run.optimizers, run.batches, progress)
    dist.barrier()
    progress, done = run_training(run, start["tokens"] + steps * TOKENS_A_STEP, Stop())
    if done and rank() == 0:
        save_final(files.target, run.model, asdict(progress) | {"constant_tokens": start["tokens"]})


def save_final(path: Path, model: nn.Module, progress: dict[str, float]) -> None:
    """A finished model and how it came about, without the optimizer."""
    torch.save({"model": model.state_dict(), "progress": progress}, path)


def finish_run(run: Run, steps: int, final: Path, earlier: dict[str, float]) -> None:
    """Train to the end of a run that is not continued later: its result replaces its checkpoint.

    earlier: steps, tokens and seconds of the run whose result this one started from.
    """
    progress, done = run_training(run, steps * TOKENS_A_STEP, Stop())
    if done and rank() == 0:
        save_final(final, run.model, summed(earlier, asdict(progress)))
        run.checkpoint.unlink()


def summed(earlier: dict[str, float], now: dict[str, float]) -> dict[str, float]:
    """Steps, tokens and seconds of a run that started from an earlier run's result."""
    return {name: value + earlier.get(name, 0) for name, value in now.items()}


def load_target(files: Files) -> LlamaForCausalLM:
    """The decayed target in fp32, without gradients."""
    model = new_model(tiny_config(TARGET_LAYERS, tokenizer.VOCAB_SIZE), seed=0)
    model.load_state_dict(torch.load(files.target, weights_only=True)["model"])
    return model.requires_grad_(False).eval()


def make_samples(files: Files, batches: int) -> None:
    """Let the target write `batches` batches per rank."""
    model = load_target(files).to(torch.bfloat16)
    write_samples(model, data.read_tokens(files.train), files.work, batches)
    dist.barrier()
    if rank() == 0:
        join_parts(files.work, files.samples)


def draft_tokens(files: Files, tokens: int) -> torch.Tensor:
    """Corpus text and, at the end, the target's own text up to a quarter of `tokens`."""
    corpus_tokens = data.read_tokens(files.train)
    if not files.samples.exists():
        return corpus_tokens
    own = data.read_tokens(files.samples)
    wanted = int(tokens * SAMPLE_SHARE)
    repeats = -(-wanted // len(own))
    return torch.cat([corpus_tokens[: tokens - wanted], own.repeat(repeats)[:wanted]])


def new_draft(target: LlamaForCausalLM, warm: Path) -> LlamaForCausalLM:
    """An earlier draft if `warm` exists; else the target's embedding, final norm and first layer.

    The target's first early exit is exactly that model, so the draft starts as a usable one.
    """
    model = new_model(tiny_config(DRAFT_LAYERS, tokenizer.VOCAB_SIZE), seed=1)
    if warm.exists():
        model.load_state_dict(torch.load(warm, weights_only=True)["model"])
    else:
        wanted = model.state_dict().keys()
        state = {name: value for name, value in target.state_dict().items() if name in wanted}
        model.load_state_dict(state)
    return model


def train_draft(files: Files, tokens: int) -> None:
    """Distil the draft from the decayed target, at the full context."""
    target = load_target(files)
    model = new_draft(target, files.draft)
    earlier = torch.load(files.draft, weights_only=True)["progress"] if files.draft.exists() else {}
    steps = -(-tokens // TOKENS_A_STEP)
    decay_steps = int(steps * DRAFT_DECAY_SHARE)
    student = FastLlama(model)
    loss = distillation_loss(FastLlama(target), student, int(steps * TV_FROM))
    run = Run(
        model=model,
        optimizers=Optimizers(model, muon_lr=0.01, adam_lr=0.001),
        batches=data.Batches(draft_tokens(files, tokens), MAX_LENGTH, seed=2),
        schedule=Schedule(DRAFT_WARMUP, steps - decay_steps, decay_steps),
        loss=loss,
        evaluate=lambda: held_out_evaluation(student, files.held_out, MAX_LENGTH),
        checkpoint=files.draft_run,
        windows=TOKENS_A_STEP // MAX_LENGTH,
    )
    finish_run(run, steps, files.draft, earlier)


def train_heads(files: Files, tokens: int) -> None:
    """Train Medusa heads on the decayed target, from nothing: a target that changed needs other heads."""
    fast, heads = FastLlama(load_target(files)), new_heads(HIDDEN)
    steps = -(-tokens // TOKENS_A_STEP)
    decay_steps = int(steps * DRAFT_DECAY_SHARE)
    run = Run(
        model=heads,
        optimizers=HeadOptimizers(heads),
        batches=data.Batches(draft_tokens(files, tokens), MAX_LENGTH, seed=3),
        schedule=Schedule(DRAFT_WARMUP, steps - decay_steps, decay_steps),
        loss=heads_loss(fast, heads, int(steps * TV_FROM)),
        evaluate=lambda: heads_evaluation(fast, heads, files.held_out),
        checkpoint=files.heads_run,
        windows=TOKENS_A_STEP // MAX_LENGTH,
    )
    finish_run(run, steps, files.heads, {})
