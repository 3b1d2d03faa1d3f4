"""The enumerated distribution of a target's first three tokens, and a chi-square test of seeded runs against it."""

import itertools
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from scipy import stats
from tiny import TableModel

import specviz
from specviz import Settings
from specviz.decoding.recorder import Facts
from specviz.trace.schema import Drafted, Emitted

VOCAB, PROMPT = 5, [1, 3]
PENALTIES = {"repetition_penalty": 1.7, "presence_penalty": 0.4, "frequency_penalty": 0.3}


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


def enumerate_target(model: TableModel, settings: Settings) -> dict[tuple[int, ...], float]:
    """Probability of every continuation of three tokens, from the tables of `model`, which is not run."""
    expected = {}
    for triple in itertools.product(range(VOCAB), repeat=3):
        prefix, probability = list(PROMPT), 1.0
        for token in triple:
            probability *= oracle(model.row(prefix).numpy(), prefix, settings)[token]
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


def draw(pair, settings: Settings, runs: int, recorded: bool = True) -> Counter:
    """How often each triple came first in `runs` runs that differ in the seed.

    recorded=False leaves out what a trace says beside the ids, which is half of the time of such a short run.
    """
    with nullcontext() if recorded else patch("specviz.decoding.loop.record", _ids_alone):
        return Counter(triple(pair, settings, seed) for seed in range(runs))


def triple(pair, settings: Settings, seed: int) -> tuple[int, ...]:
    """The first three tokens of one run."""
    return tuple(specviz.speculate(pair, PROMPT, replace(settings, seed=seed)).finish().output_ids[:3])


def _ids_alone(facts: Facts, standing: int, settings: Settings) -> tuple[list[Drafted], list[Emitted]]:
    """In place of `record`: the tokens that the rule let stand."""
    tokens = [*(facts.proposal.ids[node] for node in facts.outcome.path), facts.outcome.token]
    return [], [Emitted(token, "plain", 1.0, None) for token in tokens[:standing]]
