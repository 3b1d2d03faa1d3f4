"""Medusa heads: the loss looks at the right places, training lowers it, resumes exactly and ends in a loadable file."""

import json

import pytest
import torch

from specviz.models.medusa import load_heads
from specviz.training import blocks, card, heads
from specviz.training.blocks import FastLlama
from specviz.training.data import Batches
from specviz.training.distil import forward_kl
from specviz.training.family import new_model, tiny_config
from specviz.training.heads import HeadOptimizers, heads_loss, heads_overlap, last_states, new_heads, save_heads
from specviz.training.loop import Run, train
from specviz.training.optim import Schedule

VOCAB, HIDDEN, COUNT = 320, 64, 3
A_STEP = 2 * 16


class NeverStop:
    asked = False


@pytest.fixture(autouse=True)
def fp32(monkeypatch):
    monkeypatch.setattr(blocks, "COMPUTE", torch.float32)


def frozen_target():
    """A random target whose layers do something."""
    model = new_model(tiny_config(2, VOCAB, hidden=HIDDEN), seed=0)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    return model.requires_grad_(False).eval()


def random_heads():
    made = new_heads(HIDDEN, COUNT, layers=2)
    for parameter in made.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    return made


def some_ids(rows: int = 2, length: int = 20) -> torch.Tensor:
    return torch.randint(VOCAB, (rows, length), generator=torch.Generator().manual_seed(3))


def test_last_states_are_the_last_hidden_states_of_transformers():
    model, ids = frozen_target(), some_ids()
    expected = model(ids, output_hidden_states=True).hidden_states[-1]
    torch.testing.assert_close(last_states(FastLlama(model, compiled=False), ids), expected, atol=1e-5, rtol=1e-4)


def test_each_head_is_compared_with_the_target_at_the_place_it_guesses():
    model, made, ids = frozen_target(), random_heads(), some_ids()
    hidden = model(ids, output_hidden_states=True).hidden_states[-1]
    p_logits, seen = model(ids).logits, ids.shape[1] - COUNT
    with torch.no_grad():
        found = heads.compare(made, hidden, model.lm_head.weight, forward_kl)
        for head in range(COUNT):
            rows = [
                forward_kl(p_logits[row, t + head + 1], made.logits(hidden[row, t][None], model.lm_head)[head])
                for row in range(2)
                for t in range(seen)
            ]
            torch.testing.assert_close(found[head], sum(rows) / len(rows), atol=1e-4, rtol=1e-4)


def test_fresh_heads_say_what_the_target_says_of_the_next_token():
    model, ids = frozen_target(), some_ids(1, 6)
    hidden = model(ids, output_hidden_states=True).hidden_states[-1]
    with torch.no_grad():
        rows = new_heads(HIDDEN, COUNT).logits(hidden[0, -1:], model.lm_head)
    torch.testing.assert_close(rows, model(ids).logits[0, -1].expand(COUNT, -1))


def a_run(path, made, steps: int = 60) -> Run:
    """Text that repeats with a period of 7, so that what comes later can be learnt."""
    fast = FastLlama(frozen_target(), compiled=False)
    tokens = torch.arange(600) % 7 * 11
    return Run(
        model=made,
        optimizers=HeadOptimizers(made, lr=0.01),
        batches=Batches(tokens, length=16),
        schedule=Schedule(5, steps // 2, steps // 2),
        loss=heads_loss(fast, made, tv_from_step=int(0.6 * steps), compiled=False),
        evaluate=lambda: 0.0,
        checkpoint=path,
        windows=2,
    )


def test_training_lowers_the_loss_of_every_head_and_leaves_the_target_alone(tmp_path):
    made = new_heads(HIDDEN, COUNT)
    run = a_run(tmp_path / "run.pt", made)
    model = frozen_target()
    fast, ids = FastLlama(model, compiled=False), (torch.arange(100) % 7 * 11)[None]
    before = heads_overlap(fast, made, ids)
    train(run, 60 * A_STEP, NeverStop())
    after = heads_overlap(fast, made, ids)
    for (beta, _), (learnt, _) in zip(before, after, strict=True):
        assert 1 - learnt < 0.7 * (1 - beta)
    assert torch.equal(last_states(fast, ids), last_states(FastLlama(frozen_target(), compiled=False), ids))


def test_resume_is_exact(tmp_path):
    whole, broken = tmp_path / "whole.pt", tmp_path / "broken.pt"
    train(a_run(whole, new_heads(HIDDEN, COUNT)), 60 * A_STEP, NeverStop())
    for stop_at in (20, 40, 60):
        progress, done = train(a_run(broken, new_heads(HIDDEN, COUNT)), stop_at * A_STEP, NeverStop())
        assert (progress.step, done) == (stop_at, True)
    first, second = (torch.load(path, weights_only=True)["model"] for path in (whole, broken))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_saved_heads_load_as_the_published_layout_that_shares_the_output_layer(tmp_path):
    made = random_heads()
    save_heads(made, tmp_path, base="../target")
    loaded = load_heads(tmp_path, HIDDEN, VOCAB, torch.float32, "cpu")
    assert loaded.output is None
    assert torch.equal(loaded.weight, made.weight.bfloat16().float())
    assert torch.equal(loaded.bias, made.bias.bfloat16().float())
    config = json.loads((tmp_path / "config.json").read_text())
    assert config == {"medusa_num_heads": COUNT, "medusa_num_layers": 2, "base_model_name_or_path": "../target"}


def test_the_cards_block_names_each_head_with_its_figures():
    rows = [{"head": i, "beta": 0.1 * i, "agree": 0.2, "beta_own_text": 0.3, "agree_own_text": 0.4} for i in (1, 2)]
    medusa = {"layers": 1, "parameters": 1234, "tokens": 5678, "hours": 0.5, "heads": rows}
    block = card.medusa_block({"medusa": medusa, "target": {"exit_tokens": 16384}})
    assert "2 heads of 1 residual block each, 1,234 parameters in all, trained on 5,678 tokens" in block
    assert "| 2 | 0.200 | 0.200 | 0.300 | 0.400 |" in block
