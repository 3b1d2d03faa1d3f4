"""Greedy text against plain decoding, and the first difference computed again in float32."""

import copy

import pytest
import torch
from tiny import build, noised, tokenizer

import specviz
from specviz import Settings
from specviz.analysis.equality import difference, verdict
from specviz.decoding import acceptance, recheck
from specviz.decoding.recheck import Rechecker, compare_greedy
from specviz.trace.measured import PromptText

TEXTS = [PromptText("one", "code", "w5 w6 w7 w8 w9"), PromptText("two", "prose", "w3 w1")]
SETTINGS = Settings(gamma=3, max_new_tokens=12, temperature=0.7, presence_penalty=0.5)


def make(dtype=torch.bfloat16):
    target = build(dtype=dtype)
    return specviz.Pair(target, noised(target), tokenizer())


@pytest.fixture
def half():
    return make()


def done(pair, settings=SETTINGS):
    return [c for c in compare_greedy(pair, TEXTS, settings) if c is not None]


def tampered(pair, place=4):
    """A greedy trace whose plain lane claims another token at one place."""
    trace = done(pair)[0].decoded.trace
    trace.baseline.output_ids = list(trace.output_ids)
    trace.baseline.output_ids[place] = (trace.output_ids[place] + 1) % 97
    return trace


def test_both_lanes_are_greedy_and_equal_in_float32():
    compared = done(make(torch.float32))
    assert [c.decoded.prompt for c in compared] == ["one", "two"]
    assert [verdict(c) for c in compared] == ["same", "same"]
    assert all(c.decoded.trace.settings.temperature == 0 and c.recheck is None for c in compared)
    assert len(compared[0].decoded.trace.output_ids) == 12


def test_the_generator_answers_after_every_round_and_can_be_closed():
    steps = compare_greedy(make(torch.float32), TEXTS, SETTINGS)
    assert [next(steps) for _ in range(5)] == [None] * 5
    steps.close()
    assert list(steps) == []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_scores_are_those_of_a_float32_forward_over_the_prefix(dtype):
    pair = make(dtype)
    trace = tampered(pair)
    found = Rechecker(pair).recheck(trace)
    exact, prefix = copy.deepcopy(pair.target).float(), [*trace.prompt.ids, *trace.output_ids[:4]]
    with torch.no_grad():
        logits = exact(torch.tensor([prefix]), use_cache=False).logits[0, -1]
    logits[trace.output_ids[:4]] -= 0.5  # the presence penalty; a token counts once
    assert (found.place, found.speculative, found.plain) == (4, trace.output_ids[4], trace.baseline.output_ids[4])
    expected = [logits[found.speculative], logits[found.plain], logits.max()]
    assert [found.speculative_score, found.plain_score, found.best_score] == pytest.approx(
        [float(x) for x in expected], abs=1e-4
    )
    assert pair.target.dtype == dtype, "the shared model is never changed"


def test_a_token_that_is_not_near_the_best_is_a_fault_whatever_the_recorded_gap(half):
    trace = tampered(half)
    for record in trace.baseline.rounds:
        for token in record.emitted:
            token.gap = 0.0
    assert difference(trace).cause == "near-tie"
    assert difference(trace, Rechecker(half).recheck(trace)).cause == "fault"


def test_a_broken_rule_is_a_fault(monkeypatch):
    def credulous(judged):
        outcome = acceptance.rejection(judged)
        path = list(range(len(judged.proposal.ids)))
        return acceptance.Outcome(path, outcome.token, dict.fromkeys(path, 1.0))

    monkeypatch.setitem(acceptance.JUDGES, "rejection", credulous)
    assert "fault" in [verdict(c) for c in done(make(torch.float32))]


def test_without_memory_or_weights_to_copy_it_says_why(half, monkeypatch):
    trace = tampered(half)
    monkeypatch.setattr(recheck, "free_bytes", lambda device: 10)
    found = Rechecker(half).recheck(trace)
    assert "no memory for a copy" in found.problem
    assert found.best_score is None
    monkeypatch.setattr(recheck, "free_bytes", lambda device: None)
    half.target.is_quantized = True
    assert "quantised" in Rechecker(half).recheck(trace).problem


def test_equal_texts_need_no_recheck(half):
    trace = tampered(half)
    trace.baseline.output_ids = list(trace.output_ids)
    assert Rechecker(half).recheck(trace) is None
