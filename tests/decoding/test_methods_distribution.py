"""Every method and exact rule against the enumerated target distribution, at T = 1, with top-k and penalties."""

from dataclasses import replace

import pytest
from exactness import PENALTIES, PROMPT, VOCAB, chi_square_p, draw, enumerate_target
from tiny import table_model

import specviz
from specviz import Settings
from specviz.decoding import acceptance
from specviz.decoding.proposers.base import Draft

RUNS = 4000
WAYS = [
    pytest.param({"method": method, "rule": rule, "gamma": gamma} | more, id="-".join([method, rule, *note]))
    for method, rule, gamma, more, note in [
        ("draft-model", "greedy-draft", 2, PENALTIES, ["penalties"]),
        ("draft-model", "match", 3, {"top_k": 3}, ["top-k"]),
        ("draft-model", "block", 3, {}, []),
        ("draft-model", "block", 2, PENALTIES | {"top_k": 4}, ["penalties"]),
        ("draft-model", "rejection", 4, {"draft_length": "confidence", "confidence": 0.3}, ["confidence"]),
        ("draft-model", "block", 4, {"draft_length": "confidence", "confidence": 0.3}, ["confidence"]),
        ("draft-model", "rejection", 1, {"draft_length": "heuristic"}, ["heuristic"]),
        ("draft-model", "rejection", 2, {"tree": (3, 2)}, ["tree 3 2"]),
        ("draft-model", "rejection", 2, {"tree": (2, 2)} | PENALTIES, ["tree 2 2", "penalties"]),
        ("draft-model", "rejection", 2, {"tree": (4,), "top_k": 3}, ["tree 4", "top-k"]),
        ("draft-model", "greedy-draft", 2, {"tree": (3, 1)}, ["tree 3 1"]),
        ("draft-model", "match", 2, {"tree": (2, 2)}, ["tree 2 2"]),
        ("prompt-lookup", "rejection", 3, {}, []),
        ("prompt-lookup", "match", 2, PENALTIES, ["penalties"]),
        ("prompt-lookup", "block", 3, {"top_k": 3}, ["top-k"]),
        ("composite", "rejection", 2, {}, []),
        ("composite", "block", 3, PENALTIES, ["penalties"]),
    ]
]


@pytest.fixture(scope="module")
def pair():
    return specviz.Pair(table_model(VOCAB, seed=1), table_model(VOCAB, seed=2))


def settings_of(way: dict) -> Settings:
    return Settings(max_new_tokens=3, temperature=1.0, top_n=1, ngram_max=2, **way)


@pytest.mark.parametrize("way", WAYS)
def test_sampled_tokens_follow_the_target(pair, way):
    settings = settings_of(way)
    assert chi_square_p(draw(pair, settings, RUNS), enumerate_target(pair.target, settings), RUNS) > 0.001


def test_prompt_lookup_has_something_to_copy(pair):
    """The prompt 1 3 gives no match at first; at least some runs repeat it, or the cases above test nothing."""
    settings = settings_of({"method": "prompt-lookup", "gamma": 3})
    runs = [specviz.speculate(pair, [*PROMPT, *PROMPT], replace(settings, seed=s)).finish() for s in range(50)]
    assert all(run.rounds[0].drafted for run in runs)
    verdicts = {d.verdict for run in runs for r in run.rounds for d in r.drafted}
    assert {"accepted", "rejected"} <= verdicts


def _reject(pair, way: dict) -> None:
    settings = settings_of(way)
    assert chi_square_p(draw(pair, settings, RUNS), enumerate_target(pair.target, settings), RUNS) < 1e-6


def test_a_tree_that_keeps_a_rejected_sibling_is_found(pair, monkeypatch):
    """The second sibling judged against p as it was, not against what the first left of it."""
    monkeypatch.setattr(acceptance, "residual", lambda p, q: (p, False))
    _reject(pair, {"tree": (3, 2), "gamma": 2})


def test_a_tree_whose_siblings_record_the_whole_q_is_found(pair, monkeypatch):
    monkeypatch.setattr("specviz.decoding.proposers.base.without", lambda q, token: q)
    branch = Draft._drawn

    def distinct(self, scores, width):
        rows = branch(self, scores, width)
        return list({token: (token, q) for token, q in reversed(rows)}.values())[::-1]

    monkeypatch.setattr(Draft, "_drawn", distinct)  # without replacement, but recorded as if with
    _reject(pair, {"tree": (3,), "gamma": 1})


def test_a_certain_draft_that_records_softmax_is_found(pair, monkeypatch):
    monkeypatch.setattr("specviz.decoding.proposers.base.one_hot", lambda token, row: row)
    _reject(pair, {"rule": "greedy-draft", "gamma": 2})


def test_typical_acceptance_changes_the_output(pair):
    _reject(pair, {"rule": "typical", "gamma": 2})


def test_the_longest_prefix_by_the_ratios_of_rejection_is_found(pair, monkeypatch):
    """Block verification needs its own probabilities: with those of rejection, later drafts stand too often."""
    probabilities = acceptance.block_probabilities

    def wrong(judged):
        passes, excesses = probabilities(judged)
        return [judged.ratio(node) for node in range(len(passes))], excesses

    monkeypatch.setattr(acceptance, "block_probabilities", wrong)
    _reject(pair, {"rule": "block", "gamma": 3})
