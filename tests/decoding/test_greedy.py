"""fp32 greedy: speculative == plain == transformers' generate, for every family, gamma and kind of draft."""

import pytest
import torch
from tiny import FAMILIES, VOCAB, build, noised

import specviz
from specviz import Settings

PROMPTS, TOKENS = 200, 12


def _prompts(count: int, seed: int) -> list[list[int]]:
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 25, (count,), generator=random).tolist()
    return [torch.randint(0, VOCAB, (n,), generator=random).tolist() for n in lengths]


def _generate(model, prompt: list[int], tokens: int) -> list[int]:
    ids = torch.tensor([prompt])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False)
    return out[0, len(prompt) :].tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_speculative_equals_plain_equals_transformers(family):
    target = build(family)
    pair = specviz.Pair(target, noised(target))
    accepted = drafted = 0
    for n, prompt in enumerate(_prompts(PROMPTS, seed=11)):
        settings = Settings(gamma=1 + n % 8, max_new_tokens=TOKENS)
        speculative = specviz.speculate(pair, prompt, settings).finish()
        assert speculative.output_ids == specviz.decode_plain(pair, prompt, settings).finish().output_ids
        assert speculative.output_ids == _generate(target, prompt, TOKENS)
        accepted += sum(r.accepted for r in speculative.rounds)
        drafted += sum(len(r.drafted) for r in speculative.rounds)
    assert 0 < accepted < drafted, (
        "the draft must be sometimes right and sometimes wrong for this test to mean anything"
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_draft_equal_to_the_target_is_always_accepted(family, temperature):
    pair = specviz.Pair(build(family), build(family))
    for n, prompt in enumerate(_prompts(16, seed=12)):
        gamma = 1 + n % 8
        trace = specviz.speculate(pair, prompt, Settings(gamma, 24, temperature, seed=n)).finish()
        for record in trace.rounds:
            assert [d.verdict for d in record.drafted] == ["accepted"] * len(record.drafted)
            assert all(abs(d.p - d.q) < 1e-4 for d in record.drafted)


def test_an_unrelated_draft_changes_nothing_but_the_rounds():
    target = build()
    pair = specviz.Pair(target, build(seed=1))
    for gamma in (1, 3, 8):
        trace = specviz.speculate(pair, [5, 6, 7], Settings(gamma, 40)).finish()
        assert trace.output_ids == _generate(target, [5, 6, 7], 40)


@pytest.mark.parametrize("temperature", [0.0, 1e-30, 1e-6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tiny_temperatures_are_greedy(temperature, dtype):
    pair = specviz.Pair(build(dtype=dtype), build(seed=1, dtype=dtype))
    greedy = specviz.decode_plain(pair, [5, 6, 7], Settings(max_new_tokens=12)).finish().output_ids
    assert specviz.decode_plain(pair, [5, 6, 7], Settings(4, 12, temperature, seed=9)).finish().output_ids == greedy
    if dtype is torch.float32:
        assert specviz.speculate(pair, [5, 6, 7], Settings(4, 12, temperature, seed=9)).finish().output_ids == greedy


@pytest.mark.parametrize("gamma", [1, 2, 8])
def test_penalties_see_exactly_the_prefix_of_each_position(gamma):
    target = build()
    pair = specviz.Pair(target, noised(target))
    for extra in ({"repetition_penalty": 1.3}, {"presence_penalty": 0.8, "frequency_penalty": 0.4}):
        settings = Settings(gamma, 32, **extra)
        speculative = specviz.speculate(pair, [5, 6, 7, 7], settings).finish()
        assert speculative.output_ids == specviz.decode_plain(pair, [5, 6, 7, 7], settings).finish().output_ids
    ids = torch.tensor([[5, 6, 7, 7]])
    theirs = target.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=32, do_sample=False, repetition_penalty=1.3
    )
    ours = specviz.speculate(pair, [5, 6, 7, 7], Settings(gamma, 32, repetition_penalty=1.3)).finish()
    assert ours.output_ids == theirs[0, 4:].tolist()


def test_defaults_in_a_generation_config_are_not_used():
    target = build()
    expected = specviz.decode_plain(specviz.Pair(target), [5, 6, 7], Settings(max_new_tokens=16)).finish().output_ids
    target.generation_config.repetition_penalty = 2.0
    target.generation_config.cache_implementation = "static"
    pair = specviz.Pair(target, noised(target))
    assert specviz.speculate(pair, [5, 6, 7], Settings(4, 16)).finish().output_ids == expected


def test_exact_ties_take_the_lowest_id_everywhere():
    target = build(tie_word_embeddings=False)
    with torch.no_grad():
        target.lm_head.weight[20] = target.lm_head.weight[21] = 4 * target.lm_head.weight[21]
    pair = specviz.Pair(target, noised(target, 0.01))
    seen = 0
    for prompt in _prompts(12, seed=5):
        plain = specviz.decode_plain(pair, prompt, Settings(max_new_tokens=16)).finish().output_ids
        assert plain == specviz.speculate(pair, prompt, Settings(5, 16)).finish().output_ids
        assert 21 not in plain
        seen += plain.count(20)
    assert seen > 20
