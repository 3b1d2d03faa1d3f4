"""Cache and rollback: what is recorded equals fresh forwards without a cache, over long runs with rejections."""

import pytest
import torch
from tiny import FAMILIES, build, noised

import specviz
from specviz import Settings
from specviz.models.forward import Stepper


def fresh_probabilities(model, ids: list[int]) -> torch.Tensor:
    """[len(ids), V]: softmax of a forward pass over the whole text, no cache."""
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0].float().softmax(-1)


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_p_and_q_equal_fresh_forwards(family):
    target = build(family)
    draft = noised(target, 0.2)
    pair = specviz.Pair(target, draft)
    trace = specviz.speculate(pair, [5, 6, 7], Settings(5, 120, temperature=1.0, seed=4)).finish()
    ids = trace.prompt.ids + trace.output_ids
    p, q = fresh_probabilities(target, ids), fresh_probabilities(draft, ids)
    seen = {"accepted": 0, "rejected": 0}
    for record in trace.rounds:
        for place, d in enumerate(record.drafted):
            if d.verdict not in seen:
                continue
            seen[d.verdict] += 1
            row = record.start + place - 1
            assert d.p == pytest.approx(p[row, d.id].item(), abs=1e-4)
            assert d.q == pytest.approx(q[row, d.id].item(), abs=1e-4)
            assert d.beta == pytest.approx(torch.minimum(p[row], q[row]).sum().item(), abs=1e-4)
        for place, e in enumerate(record.emitted):
            assert e.p == pytest.approx(p[record.start + place - 1, e.id].item(), abs=1e-4)
    assert seen["rejected"] >= 5
    assert seen["accepted"] >= 20


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_one_pass_equal_single_steps_after_rollbacks(family):
    model = build(family)
    stepper = Stepper(model, 64)
    stepper.feed([5, 6, 7, 8])
    stepper.feed([9, 10, 11], keep=3)
    stepper.rollback(2)
    stepper.feed([12])
    stepper.rollback(1)
    rows = stepper.feed([20, 21, 22, 23, 24, 25, 26, 27, 28], keep=9)
    whole = [5, 6, 7, 8, 9, 20, 21, 22, 23, 24, 25, 26, 27, 28]
    with torch.no_grad():
        expected = model(torch.tensor([whole]), use_cache=False).logits[0, -9:]
    torch.testing.assert_close(rows, expected, atol=1e-3, rtol=1e-3)
    assert stepper.length == len(whole)


def test_rollback_moves_a_length_and_checks_it():
    stepper = Stepper(build(), 16)
    stepper.feed(list(range(9)))
    stepper.rollback(2)
    assert stepper.length == 7
    assert [layer.get_seq_length() for layer in stepper._cache.layers] == [7, 7]
    with pytest.raises(ValueError, match="cannot drop 8 of 7"):
        stepper.rollback(8)
    with pytest.raises(ValueError, match="17 tokens do not fit"):
        stepper.feed(list(range(10)))


def test_a_prompt_costs_no_logits_and_a_long_feed_only_what_is_asked():
    model = build()
    shapes = []
    model.lm_head.register_forward_hook(lambda _m, _i, out: shapes.append(out.shape[1]))
    specviz.decode_plain(specviz.Pair(model), list(range(90)), Settings(max_new_tokens=2)).finish()
    assert shapes[-2:] == [1, 1]
    assert max(shapes) <= 2, "the check of the pair feeds two tokens; the prompt's 89 pass without the head"
    shapes.clear()
    Stepper(model, 128).feed(list(range(90)), keep=2)
    assert shapes == [2]


@pytest.mark.parametrize("family", FAMILIES)
def test_absorbing_a_prompt_leaves_the_same_cache_as_feeding_it(family):
    model = build(family)
    fed, absorbed = Stepper(model, 32), Stepper(model, 32)
    fed.feed(list(range(5, 20)))
    absorbed.absorb(list(range(5, 20)))
    torch.testing.assert_close(absorbed.feed([3, 4], keep=2), fed.feed([3, 4], keep=2))


def test_pad_equal_to_eos_inside_the_prompt_is_an_ordinary_token():
    model = build()
    model.config.pad_token_id = 8
    prompt = [5, 8, 8, 9, 8]
    trace = specviz.decode_plain(specviz.Pair(model), prompt, Settings(max_new_tokens=1, temperature=1.0)).finish()
    assert trace.rounds[0].emitted[0].p == pytest.approx(
        fresh_probabilities(model, prompt)[-1, trace.output_ids[0]].item(), abs=1e-5
    )


def test_the_target_moves_once_per_round_and_the_draft_once_per_token():
    target, draft = build(), build()
    pair = specviz.Pair(target, draft)
    calls = {"target": [], "draft": []}
    target.base_model.register_forward_pre_hook(
        lambda _m, _a, kw: calls["target"].append(kw["input_ids"].shape[1]), with_kwargs=True
    )
    draft.base_model.register_forward_pre_hook(
        lambda _m, _a, kw: calls["draft"].append(kw["input_ids"].shape[1]), with_kwargs=True
    )
    specviz.speculate(pair, [5, 6, 7], Settings(4, 11)).finish()
    # prefill of 2; rounds of 5 + 5 tokens, then one plain token. The draft feeds what it lacks: 2 after a bonus.
    assert calls["target"] == [2, 5, 5, 1]
    assert calls["draft"] == [2, 1, 1, 1, 1, 2, 1, 1, 1]
