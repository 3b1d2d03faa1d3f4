"""The training maths against transformers and torch."""

import pytest
import torch
import torch.nn.functional as F

from specviz.training import blocks, measure
from specviz.training.distil import distillation_loss, forward_kl, total_variation
from specviz.training.family import new_model, tiny_config
from specviz.training.optim import Schedule
from specviz.training.target import EXIT_WEIGHT, draws, dropout_rates, training_loss


def random_model(layers, seed=0):
    model = new_model(tiny_config(layers, vocab_size=320, hidden=128), seed)
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    return model


@pytest.fixture
def fp32(monkeypatch):
    monkeypatch.setattr(blocks, "COMPUTE", torch.float32)


@pytest.fixture
def ids():
    return torch.randint(320, (2, 40), generator=torch.Generator().manual_seed(0))


@pytest.mark.usefixtures("fp32")
def test_the_training_forward_is_that_of_transformers(ids):
    model = random_model(4)
    with torch.no_grad():
        ours = blocks.FastLlama(model, compiled=False).forward(ids)
        theirs = model(ids).logits
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.usefixtures("fp32")
def test_last_exit_loss_is_the_models_loss_and_the_first_is_a_one_layer_models(ids):
    model = random_model(3)
    one = new_model(tiny_config(1, vocab_size=320, hidden=128), seed=1)
    one.load_state_dict({name: model.state_dict()[name] for name in one.state_dict()})
    inputs, targets = ids[:, :-1], ids[:, 1:]
    losses = measure.exit_losses(blocks.FastLlama(model, compiled=False), inputs, targets)
    for found, reference in ((losses[-1], model), (losses[0], one)):
        with torch.no_grad():
            logits = reference(inputs).logits
        expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        assert found == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.usefixtures("fp32")
def test_training_loss_is_last_layer_plus_weighted_exit_when_no_layer_is_skipped(ids):
    model = random_model(3)
    fast = blocks.FastLlama(model, compiled=False)
    step = next(s for s in range(100) if all(draws(s, 3)[0]))
    exit_after = draws(step, 3)[1]
    inputs, targets = ids[:, :-1], ids[:, 1:]
    loss, last = training_loss(fast, inputs, targets, step)
    losses = measure.exit_losses(fast, inputs, targets)
    assert last == pytest.approx(losses[-1], abs=1e-5)
    assert float(loss.detach()) == pytest.approx(losses[-1] + EXIT_WEIGHT * losses[exit_after - 1], abs=1e-5)


def test_dropout_rates_rise_exponentially_from_zero_to_the_maximum():
    assert dropout_rates(1) == [0.0]
    assert dropout_rates(3, 0.2) == pytest.approx([0.0, 0.2 * (2**0.5 - 1), 0.2])
    rates = dropout_rates(16, 0.1)
    assert rates[0] == 0.0
    assert rates[15] == pytest.approx(0.1)
    assert rates[5] == pytest.approx(0.1 * (2 ** (1 / 3) - 1))


def test_draws_depend_on_the_step_alone_and_skip_at_the_stated_rates():
    assert draws(7, 16) == draws(7, 16)
    skipped = torch.tensor([[not run for run in draws(step, 16)[0]] for step in range(2000)]).float().mean(0)
    torch.testing.assert_close(skipped, torch.tensor(dropout_rates(16)), atol=0.025, rtol=0)
    assert {draws(step, 16)[1] for step in range(200)} == {1, 2, 3, 4, 6, 8}


def test_schedule_values():
    schedule = Schedule(warmup=10, decay_start=100, decay_steps=4)
    assert [schedule.factor(step) for step in (0, 4, 9, 50, 99)] == pytest.approx([0.1, 0.5, 1, 1, 1])
    assert [schedule.factor(step) for step in range(100, 105)] == pytest.approx([0.8, 0.6, 0.4, 0.2, 0])
    assert Schedule(warmup=10).factor(10**9) == 1
    assert Schedule(warmup=10).factor(504, restarted_at=500) == pytest.approx(0.5)


def test_distillation_losses_against_torch():
    generator = torch.Generator().manual_seed(3)
    p, q = torch.randn(2, 5, 11, generator=generator), torch.randn(2, 5, 11, generator=generator)
    log_p, log_q = p.log_softmax(-1).flatten(0, 1), q.log_softmax(-1).flatten(0, 1)
    kl = F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    torch.testing.assert_close(forward_kl(p, q), kl)
    tv = 0.5 * (log_p.exp() - log_q.exp()).abs().sum(-1).mean()
    torch.testing.assert_close(total_variation(p, q), tv)
    beta, agree = measure.overlap(p, q)
    assert beta == pytest.approx(1 - float(tv), abs=1e-6)
    assert agree == pytest.approx(float((p.argmax(-1) == q.argmax(-1)).float().mean()))


def test_distillation_turns_from_kl_to_total_variation_and_leaves_the_teacher_alone(ids):
    teacher, student = random_model(2), random_model(1, seed=5)
    loss = distillation_loss(
        blocks.FastLlama(teacher, compiled=False),
        blocks.FastLlama(student, compiled=False),
        10,
        compiled=False,
    )
    kl, tv = loss(ids, ids, 9)[1], loss(ids, ids, 10)[1]
    with torch.no_grad():
        logits = [blocks.FastLlama(m, compiled=False).forward(ids) for m in (teacher, student)]
    assert kl == pytest.approx(float(forward_kl(*logits)), abs=1e-5)
    assert tv == pytest.approx(float(total_variation(*logits)), abs=1e-5)
    loss(ids, ids, 0)[0].backward()
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert all(parameter.grad is not None for parameter in student.parameters())


def test_a_model_overlaps_fully_with_itself_at_its_last_exit(ids):
    fast = blocks.FastLlama(random_model(3), compiled=False)
    rows = measure.overlap_by_layer(fast, ids)
    assert len(rows) == 2
    assert all(0 < beta < 1 for beta, _ in rows)
    logits = fast.forward(ids).detach()
    assert measure.overlap(logits, logits) == (pytest.approx(1.0, abs=1e-5), 1.0)
