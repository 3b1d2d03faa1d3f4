"""Logits to probabilities: order, ties, masks, precision, bad rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from specviz import Settings, SpecvizError
from specviz.decoding.sampling import Processor

CPU = torch.device("cpu")


def process(logits, settings=None, prompt=(0,), allowed=None, width=None, committed=()):
    logits = torch.tensor(logits) if isinstance(logits, list) else logits
    processor = Processor(settings or Settings(temperature=1.0), prompt, width or logits.shape[-1], allowed, CPU)
    processor.commit(committed)
    return processor.probabilities(processor.scores(logits))


def test_greedy_is_one_hot_on_the_lowest_best_id():
    assert process([[1.0, 3.0, 3.0, 2.0]], Settings()).tolist() == [[0, 1, 0, 0]]


def test_top_k_keeps_exactly_k_and_the_lowest_ids_of_a_tie():
    kept = process([[2.0, 1.0, 2.0, 1.0, 1.0]], Settings(temperature=1.0, top_k=3))[0]
    assert (kept > 0).tolist() == [True, True, True, False, False]
    assert process([[2.0, 2.0, 2.0]], Settings(temperature=1.0, top_k=1)).tolist() == [[1, 0, 0]]


def test_top_p_keeps_the_smallest_set_that_reaches_the_mass():
    logits = torch.tensor([[0.5, 0.25, 0.15, 0.1]]).log()
    assert process(logits, Settings(temperature=1.0, top_p=0.5)).tolist() == [[1, 0, 0, 0]]
    assert process(logits, Settings(temperature=1.0, top_p=0.51))[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert process(logits, Settings(temperature=1.0, top_p=1e-6)).tolist() == [[1, 0, 0, 0]]


def test_top_p_splits_a_tie_by_the_lowest_id():
    assert process([[0.0] * 4], Settings(temperature=1.0, top_p=0.5)).tolist() == [[0.5, 0.5, 0, 0]]


@given(
    seed=st.integers(0, 10_000), k=st.integers(0, 40), top_p=st.sampled_from([0.3, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.3]), temperature=st.sampled_from([0.1, 0.7, 1.0, 3.0]),
)  # fmt: skip
def test_equals_transformers_processors(seed, k, top_p, min_p, temperature):
    logits = 3 * torch.randn((2, 30), generator=torch.Generator().manual_seed(seed))
    steps = [TemperatureLogitsWarper(temperature)]
    steps += [TopKLogitsWarper(k)] if k else []
    steps += [TopPLogitsWarper(top_p)] if top_p < 1 else []
    steps += [MinPLogitsWarper(min_p)] if min_p else []
    theirs = LogitsProcessorList(steps)(torch.zeros(2, 1, dtype=torch.long), logits.clone()).softmax(-1)
    ours = process(logits, Settings(temperature=temperature, top_k=k, top_p=top_p, min_p=min_p))
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_each_row_is_penalised_by_its_own_prefix():
    settings = Settings(temperature=1.0, presence_penalty=1.0, frequency_penalty=0.5)
    flat = torch.zeros(3, 4)
    processor = Processor(settings, (0,), 4, None, CPU)
    processor.commit([2, 2])
    scores = processor.scores(flat, [[], [1], [1, 2]])
    assert scores.tolist() == [[0, 0, -2.0, 0], [0, -1.5, -2.0, 0], [0, -1.5, -2.5, 0]]
    assert processor.scores(flat[:1], [[1, 2]]).tolist() == scores[2:].tolist()


def test_repetition_penalty_counts_prompt_and_output():
    settings = Settings(temperature=1.0, repetition_penalty=2.0)
    processor = Processor(settings, (0, 3), 4, None, CPU)
    processor.commit([1])
    assert processor.scores(torch.tensor([[2.0, -2.0, 2.0, -1.0]])).tolist() == [[1.0, -4.0, 2.0, -2.0]]


def test_unused_ids_get_probability_zero_and_widths_are_made_equal():
    allowed = torch.tensor([True, True, False, True])
    for logits in ([[1.0, 1.0, 9.0, 1.0]], [[1.0, 1.0, 9.0, 1.0, 9.0, 9.0]]):  # as wide, wider
        assert process(logits, allowed=allowed, width=4)[0].tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    assert process([[1.0, 1.0]], allowed=allowed, width=4)[0].tolist() == pytest.approx([0.5, 0.5, 0, 0])


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_rows_that_are_not_finite_end_the_run(bad, temperature):
    with pytest.raises(SpecvizError, match="not finite"):
        process([[0.0, 1.0], [bad, 1.0]], Settings(temperature=temperature))


def test_minus_infinity_is_fine_while_one_finite_value_is_left():
    assert process([[-torch.inf, 0.0]]).tolist() == [[0, 1]]
    with pytest.raises(SpecvizError):
        process([[-torch.inf, -torch.inf]])


@pytest.mark.parametrize("temperature", [1e-4, 100.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_extreme_temperatures_stay_finite(temperature, dtype):
    probs = process(torch.tensor([[60.0, -60.0, 59.0]], dtype=dtype), Settings(temperature=temperature))
    assert probs.dtype is torch.float32
    assert probs.sum().item() == pytest.approx(1)
