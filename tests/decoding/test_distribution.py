"""The first three sampled tokens of 20,000 seeded runs against the target's enumerated distribution."""

import itertools
from dataclasses import replace

import pytest
import torch
from exactness import PENALTIES, VOCAB, chi_square_p, draw, enumerate_target
from tiny import table_model

import specviz
from specviz import Settings
from specviz.decoding import acceptance

RUNS = 20_000
FILTERS = [
    {},
    {"top_k": 3},
    {"top_p": 0.8},
    PENALTIES,
    {"min_p": 0.2},
    {"top_k": 4, "top_p": 0.9, "repetition_penalty": 1.3},
]
TEMPERATURES, GAMMAS = (0.7, 1.0, 1.5), (1, 2, 5)
CASES = [(t, g, FILTERS[n % len(FILTERS)]) for n, (t, g) in enumerate(itertools.product(TEMPERATURES, GAMMAS))]
# the rest of the grid for the filters the issue names: every temperature meets top-k, top-p and penalties
CASES += [(0.7, 2, FILTERS[3]), (1.5, 5, FILTERS[1]), (1.0, 2, FILTERS[2]), (1.5, 1, FILTERS[3])]


@pytest.fixture(scope="module")
def pair():
    return specviz.Pair(table_model(VOCAB, seed=1), table_model(VOCAB, seed=2))


@pytest.mark.parametrize(("temperature", "gamma", "filters"), CASES)
def test_sampled_tokens_follow_the_target(pair, temperature, gamma, filters):
    settings = Settings(gamma, max_new_tokens=3, temperature=temperature, top_n=1, **filters)
    expected = enumerate_target(pair.target, settings)
    assert sum(expected.values()) == pytest.approx(1)
    assert chi_square_p(draw(pair, settings, RUNS), expected, RUNS) > 0.001


def test_plain_decoding_follows_the_target(pair):
    settings = Settings(0, max_new_tokens=3, temperature=1.0, top_n=1, top_p=0.9)
    assert chi_square_p(draw(pair, settings, RUNS), enumerate_target(pair.target, settings), RUNS) > 0.001


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda p, q: (p, False), id="no residual: drawn from p"),
        pytest.param(lambda p, q: ((q - p).clamp(min=0) / (q - p).clamp(min=0).sum(), False), id="residual of q - p"),
    ],
)
@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_a_wrong_residual_is_found(pair, monkeypatch, wrong, gamma):
    monkeypatch.setattr(acceptance, "residual", wrong)
    settings = Settings(gamma, max_new_tokens=3, temperature=1.0, top_n=1)
    runs = RUNS // 4
    assert chi_square_p(draw(pair, settings, runs), enumerate_target(pair.target, settings), runs) < 1e-9


def test_one_uniform_for_the_whole_block_is_found(pair, monkeypatch):
    def reused(judged):
        return acceptance.rejection(replace(judged, uniforms=judged.uniforms[:1] * len(judged.uniforms)))

    monkeypatch.setitem(acceptance.JUDGES, "rejection", reused)
    settings = Settings(2, max_new_tokens=3, temperature=1.0, top_n=1)
    runs = RUNS // 2
    assert chi_square_p(draw(pair, settings, runs), enumerate_target(pair.target, settings), runs) < 1e-6


def test_the_rule_emits_p_for_any_q():
    """Enumerated over drafts, on random p and q: sum over x of q(x)[a(x) + (1 - a(x)) residual] = p."""
    random = torch.Generator().manual_seed(0)
    for _ in range(50):
        p, q = (torch.rand(7, generator=random).softmax(-1) for _ in range(2))
        accept = (p / q).clamp(max=1)
        rest, fallback = acceptance.residual(p, q)
        emitted = q * accept + (q * (1 - accept)).sum() * rest
        assert not fallback
        torch.testing.assert_close(emitted, p)
