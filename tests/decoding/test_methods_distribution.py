"""Every method under every exact rule against the enumerated target distribution; with top-k and penalties."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from deep import LayeredTable
from exactness import PENALTIES, PROMPT, VOCAB, chi_square_p, draw, enumerate_target, triple
from spell import foreign, spelled
from tiny import HeadedTable, heads, table_model, tokenizer

import specviz
from specviz import Settings
from specviz.decoding import acceptance
from specviz.decoding.proposers.base import Draft
from specviz.trace.methods import METHODS, RULES

RUNS = 2000
FILTERS = {"": {}, "top-k": {"top_k": 3}, "penalties": PENALTIES, "both": {"top_k": 4} | PENALTIES}
EXACT = [rule for rule, info in RULES.items() if info.exact]


def _ways() -> list:
    """(method, rule, filter, more): every method under every exact rule, filters in turn; then trees and lengths."""
    names = list(FILTERS)
    ways = [
        (method, rule, names[(m + r) % 3], {})
        for (m, method), (r, rule) in product(enumerate(METHODS), enumerate(EXACT))
    ]
    confident = {"gamma": 4, "draft_length": "confidence", "confidence": 0.3}
    ways += [
        ("draft-model", "block", "both", {"gamma": 2}),
        ("draft-model", "rejection", "", confident),
        ("draft-model", "block", "", confident),
        ("draft-model", "rejection", "", {"gamma": 1, "draft_length": "heuristic"}),
        ("draft-model", "rejection", "", {"tree": (3, 2)}),
        ("draft-model", "rejection", "penalties", {"tree": (2, 2)}),
        ("draft-model", "rejection", "top-k", {"tree": (4,)}),
        ("draft-model", "greedy-draft", "", {"tree": (3, 1)}),
        ("draft-model", "match", "", {"tree": (2, 2)}),
        ("medusa", "rejection", "", {"tree": (2, 2)}),
        ("medusa", "greedy-draft", "top-k", {"tree": (4,)}),
        ("medusa", "match", "both", {"tree": (3, 1)}),
    ]
    return [pytest.param(way, id=" ".join(map(str, [*way[:3], *way[3].values()]))) for way in ways]


def _foreign_pair() -> specviz.Pair:
    """The target's token "z" and the draft's "x" are not shared; "ab" is one token for both."""
    target, ours = table_model(VOCAB, seed=1), tokenizer(["a", "b", " ", "ab", "z"])
    theirs = spelled("b xa", merges=[("a", "b"), (" ", "a")])
    pair = specviz.Pair(target, None, ours, foreign=foreign(target, ours, theirs, table_model(len(theirs), seed=6)))
    assert pair.foreign.shared == 4
    return pair


MAKERS: dict[str, Callable[[], specviz.Pair]] = {
    "medusa": lambda: specviz.Pair(table_model(VOCAB, 1, kind=HeadedTable), medusa=heads(4, VOCAB**2, scale=0.5)),
    "early-exit": lambda: specviz.Pair(table_model(VOCAB, 1, kind=LayeredTable)),
    "cross-tokenizer": _foreign_pair,
}


@cache
def pair_for(method: str) -> specviz.Pair:
    make = MAKERS.get(method)
    return make() if make else specviz.Pair(table_model(VOCAB, seed=1), table_model(VOCAB, seed=2))


def settings_of(way: tuple) -> Settings:
    """Medusa drafts from the second round on: with more tokens its second head's draft is among the first three."""
    method, rule, name, more = way
    tokens = 5 if method == "medusa" else 3
    chosen = {"gamma": 3, "method": method, "rule": rule} | FILTERS[name] | more
    return Settings(max_new_tokens=tokens, temperature=1.0, top_n=1, ngram_max=2, **chosen)


def p_value(way: tuple, runs: int = RUNS) -> float:
    pair, settings = pair_for(way[0]), settings_of(way)
    return chi_square_p(drawn(pair, settings, runs), enumerate_target(pair.target, settings), runs)


def drawn(pair: specviz.Pair, settings: Settings, runs: int) -> Counter:
    """Only the heuristic goes by what was recorded of the rounds before."""
    return draw(pair, settings, runs, recorded=settings.draft_length == "heuristic")


@pytest.mark.parametrize("way", _ways())
def test_sampled_tokens_follow_the_target(way):
    assert p_value(way) > 0.001


@pytest.mark.parametrize("way", _ways())
def test_runs_that_are_drawn_without_a_record_are_the_runs_of_the_product(way):
    pair, settings = pair_for(way[0]), settings_of(way)
    assert drawn(pair, settings, 25) == Counter(triple(pair, settings, seed) for seed in range(25))


@pytest.mark.parametrize("way", _ways())
def test_drafts_are_accepted_and_rejected_on_the_way(way):
    """Or the case above tests nothing. The prompt repeats itself, so that prompt lookup has something to copy."""
    settings, found = settings_of(way), set()
    for seed in range(60):
        trace = specviz.speculate(pair_for(way[0]), [*PROMPT, *PROMPT], replace(settings, seed=seed)).finish()
        found |= {d.verdict for r in trace.rounds for d in r.drafted}
    assert {"accepted", "rejected"} <= found


def test_a_tree_that_keeps_a_rejected_sibling_is_found(monkeypatch):
    """The second sibling judged against p as it was, not against what the first left of it."""
    monkeypatch.setattr(acceptance, "residual", lambda p, q: (p, False))
    assert p_value(("draft-model", "rejection", "", {"tree": (3, 2)})) < 1e-6


def test_a_tree_whose_siblings_record_the_whole_q_is_found(monkeypatch):
    monkeypatch.setattr("specviz.decoding.proposers.base.without", lambda q, token: q)
    branch = Draft._drawn

    def distinct(self, scores, width):
        rows = branch(self, scores, width)
        return list({token: (token, q) for token, q in reversed(rows)}.values())[::-1]

    monkeypatch.setattr(Draft, "_drawn", distinct)  # without replacement, but recorded as if with
    assert p_value(("draft-model", "rejection", "", {"tree": (3,)}), 2 * RUNS) < 1e-6


@pytest.mark.parametrize("method", ["draft-model", "medusa", "early-exit", "cross-tokenizer"])
def test_a_certain_draft_that_records_softmax_is_found(monkeypatch, method):
    monkeypatch.setattr("specviz.decoding.proposers.base.one_hot", lambda token, row: row)
    runs = 2 * RUNS if method == "cross-tokenizer" else RUNS  # few strings are shared, so the fault is smaller
    assert p_value((method, "greedy-draft", "", {}), runs) < 1e-6


def test_typical_acceptance_changes_the_output():
    assert p_value(("draft-model", "typical", "", {"gamma": 2})) < 1e-6


def test_the_longest_prefix_by_the_ratios_of_rejection_is_found(monkeypatch):
    """Block verification needs its own probabilities: with those of rejection, later drafts stand too often."""
    probabilities = acceptance.block_probabilities

    def wrong(judged):
        passes, excesses = probabilities(judged)
        return [judged.ratio(node) for node in range(len(passes))], excesses

    monkeypatch.setattr(acceptance, "block_probabilities", wrong)
    assert p_value(("draft-model", "block", "", {})) < 1e-6
