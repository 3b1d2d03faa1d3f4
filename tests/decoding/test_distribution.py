"""The first three sampled tokens of 20,000 seeded runs against the target's enumerated distribution."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from scipy import stats
from tiny import table_model

import specviz
from specviz import Settings
from specviz.decoding import acceptance

VOCAB, RUNS, PROMPT = 5, 20_000, [1, 3]
FILTERS = [
    {},
    {"top_k": 3},
    {"top_p": 0.8},
    {"repetition_penalty": 1.7, "presence_penalty": 0.4, "frequency_penalty": 0.3},
    {"min_p": 0.2},
    {"top_k": 4, "top_p": 0.9, "repetition_penalty": 1.3},
]
TEMPERATURES, GAMMAS = (0.7, 1.0, 1.5), (1, 2, 5)
CASES = [(t, g, FILTERS[n % len(FILTERS)]) for n, (t, g) in enumerate(itertools.product(TEMPERATURES, GAMMAS))]
# the rest of the grid for the filters the issue names: every temperature meets top-k, top-p and penalties
CASES += [(0.7, 2, FILTERS[3]), (1.5, 5, FILTERS[1]), (1.0, 2, FILTERS[2]), (1.5, 1, FILTERS[3])]


def oracle(logits: np.ndarray, prefix: list[int], settings: Settings) -> np.ndarray:
    """Processed distribution, in float64 and written apart from the engine."""
    scores = logits.astype(np.float64).copy()
    output = prefix[len(PROMPT) :]
    for token in set(prefix):
        scores[token] *= settings.repetition_penalty ** (-1 if scores[token] > 0 else 1)
    for token, count in Counter(output).items():
        scores[token] -= settings.presence_penalty + settings.frequency_penalty * count
    scores /= settings.temperature
    order = np.argsort(-scores, kind="stable")
    if settings.top_k:
        scores[order[settings.top_k :]] = -np.inf
    probs = _softmax(scores)
    if settings.top_p < 1:
        order = np.argsort(-probs, kind="stable")
        mass = np.cumsum(probs[order])
        scores[order[1:][mass[:-1] >= settings.top_p]] = -np.inf
        probs = _softmax(scores)
    probs[probs < settings.min_p * probs.max()] = 0
    return probs / probs.sum()


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def enumerate_target(model, settings: Settings) -> dict[tuple[int, ...], float]:
    """Probability of every continuation of three tokens."""
    table = model.table.numpy()
    expected = {}
    for triple in itertools.product(range(VOCAB), repeat=3):
        prefix, probability = list(PROMPT), 1.0
        for token in triple:
            probability *= oracle(table[prefix[-2], prefix[-1]], prefix, settings)[token]
            prefix.append(token)
        expected[triple] = probability
    return expected


def chi_square_p(counts: Counter, expected: dict[tuple[int, ...], float], runs: int) -> float:
    """p-value of the observed triples; rare cells (under 5 expected) are pooled; an impossible triple gives 0."""
    if any(expected[t] < 1e-12 for t in counts):
        return 0.0
    common = [t for t, p in expected.items() if p * runs >= 5]
    observed = [counts[t] for t in common] + [runs - sum(counts[t] for t in common)]
    wanted = [expected[t] * runs for t in common] + [runs - sum(expected[t] * runs for t in common)]
    if wanted[-1] < 5:
        observed[-2:], wanted[-2:] = [sum(observed[-2:])], [sum(wanted[-2:])]
    return float(stats.chisquare(observed, np.array(wanted) * sum(observed) / sum(wanted)).pvalue)


def draw(pair, settings: Settings, runs: int) -> Counter:
    fields = {f: getattr(settings, f) for f in settings.__slots__ if f != "seed"}
    return Counter(
        tuple(specviz.speculate(pair, PROMPT, Settings(**fields, seed=seed)).finish().output_ids)
        for seed in range(runs)
    )


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
    rule = acceptance.rejection

    def reused(p, q, ids, uniforms, draw):
        return rule(p, q, ids, [uniforms[0]] * len(uniforms) if len(uniforms) else uniforms, draw)

    monkeypatch.setattr("specviz.decoding.loop.rejection", reused)
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
