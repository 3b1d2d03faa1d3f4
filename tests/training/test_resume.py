"""A run that stops and goes on gives bit for bit what an unbroken one gives."""

import json

import torch

from specviz.training.blocks import FastLlama
from specviz.training.data import Batches
from specviz.training.family import new_model, tiny_config
from specviz.training.loop import Run, train
from specviz.training.optim import Optimizers, Schedule
from specviz.training.target import training_loss

A_STEP = 2 * 16


class NeverStop:
    asked = False


def make_run(path):
    model = new_model(tiny_config(3, vocab_size=320, hidden=64), seed=0)
    fast = FastLlama(model, compiled=False)
    tokens = torch.randint(320, (600,), generator=torch.Generator().manual_seed(1))
    return Run(
        model=model,
        optimizers=Optimizers(model),
        batches=Batches(tokens, length=16),
        schedule=Schedule(warmup=5),
        loss=lambda inputs, targets, step: training_loss(fast, inputs, targets, step),
        evaluate=lambda: 0.0,
        checkpoint=path,
        windows=2,
    )


def losses_of(path):
    entries = [json.loads(line) for line in path.with_suffix(".jsonl").read_text().splitlines()]
    return {entry["step"]: entry["train"] for entry in entries if "train" in entry}


def test_resume_is_exact(tmp_path):
    whole, broken = tmp_path / "whole.pt", tmp_path / "broken.pt"
    train(make_run(whole), 40 * A_STEP, NeverStop())
    for stop_at in (10, 20, 40):  # each time a fresh process would start from new objects
        progress, done = train(make_run(broken), stop_at * A_STEP, NeverStop())
        assert done
        assert progress.step == stop_at
    assert losses_of(whole) == losses_of(broken)
    first, second = (torch.load(path, weights_only=True)["model"] for path in (whole, broken))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_stop_request_saves_and_says_the_run_is_not_done(tmp_path):
    class StopNow:
        asked = True

    progress, done = train(make_run(tmp_path / "run.pt"), 10 * A_STEP, StopNow())
    assert (progress.step, done) == (0, False)
    assert (tmp_path / "run.pt").exists()


def test_batches_cover_the_text_once_a_pass_in_an_order_that_position_alone_decides():
    tokens = torch.arange(100)
    first = Batches(tokens, length=8)
    starts = [int(first.next(1)[0][0, 0]) for _ in range(first.per_pass)]
    assert len({start // 8 for start in starts}) == first.per_pass
    later = Batches(tokens, length=8, position=5)
    again = Batches(tokens, length=8)
    again.next(5)
    inputs, targets = later.next(3)
    assert torch.equal(inputs, again.next(3)[0])
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
