"""The rules side by side, against enumeration: over the tokens that q may draw, and over every pass or fail."""

import math
from itertools import product

import pytest
from made import TOP, made_round

from specviz.analysis.acceptance import acceptance_over_run
from specviz.analysis.rules import rule_rows, survival
from specviz.trace.schema import Drafted, Round, Settings, Timing, Top

P, Q = [0.5, 0.3, 0.2], [0.2, 0.6, 0.2]


def drafted(token: int, p=P, q=Q, block: float | None = 0.5) -> Drafted:
    """What a recorder keeps of a token drawn from q."""
    ranked = sorted(range(len(q)), key=lambda i: (-q[i], i))
    return Drafted(
        token,
        p[token],
        q[token],
        min(1.0, p[token] / q[token]),
        "not_judged",
        sum(map(min, p, q)),
        -sum(x * math.log(x) for x in p),
        0.9,
        TOP,
        Top(ranked, [q[i] for i in ranked], 0.0),
        match=sum(a * b for a, b in zip(p, q, strict=True)),
        best=p[ranked[0]],
        block=block,
    )


def chain(*tokens: Drafted) -> Round:
    return Round(0, 5, list(tokens), [], Timing([0.1], 0.1, 0.0, 0.0))


def rows(*tokens: Drafted, **settings):
    return {row.rule: row for row in rule_rows(chain(*tokens), Settings(**settings))}


@pytest.mark.parametrize("rule", ["rejection", "match"])
def test_the_mean_over_q_is_the_average_of_the_chances(rule):
    average = sum(Q[x] * rows(drafted(x))[rule].chances[0] for x in range(3))
    assert rows(drafted(0))[rule].means[0] == pytest.approx(average)


def test_case_19_rejection_match_and_greedy_draft():
    """p = (.7, .2, .1), q = (.6, .3, .1): .90 by rejection, .49 by matching, .70 with the arg max as draft."""
    found = rows(drafted(0, [0.7, 0.2, 0.1], [0.6, 0.3, 0.1]))
    means = {rule: row.means[0] for rule, row in found.items()}
    assert means["rejection"] == pytest.approx(0.9)
    assert means["match"] == pytest.approx(0.49)
    assert means["greedy-draft"] == pytest.approx(0.7)


def test_greedy_draft_would_draft_only_what_q_prefers():
    assert rows(drafted(1))["greedy-draft"].chances == [0.3]
    other = rows(drafted(1), drafted(0))["greedy-draft"]
    assert other.chances == [0.3, None]
    assert other.means == pytest.approx([0.3, 0.3])
    assert other.expected is None


@pytest.mark.parametrize("rule", ["rejection", "match", "typical"])
def test_expected_tokens_of_a_rule_that_stops_at_the_first_rejection(rule):
    row = rows(drafted(0), drafted(1), drafted(2), typical_epsilon=0.25, typical_delta=0.9)[rule]
    expected = 0.0
    for passes in product((True, False), repeat=3):
        chance = math.prod(a if ok else 1 - a for a, ok in zip(row.chances, passes, strict=True))
        expected += chance * (passes.index(False) if False in passes else 3)
    assert row.expected == pytest.approx(expected)


def test_expected_tokens_of_a_block_are_those_of_its_longest_passing_prefix():
    passes = [0.9, 0.2, 0.6, 0.4]
    expected, square = 0.0, 0.0
    for ok in product((True, False), repeat=4):
        chance = math.prod(h if yes else 1 - h for h, yes in zip(passes, ok, strict=True))
        length = max((i + 1 for i, yes in enumerate(ok) if yes), default=0)
        expected, square = expected + chance * length, square + chance * length**2
    found = rows(*(drafted(0, block=h) for h in passes))["block"]
    assert found.expected == pytest.approx(expected)
    assert sum(survival(passes)) == pytest.approx(expected)
    tokens = [drafted(0, block=h) for h in passes]
    for token, h in zip(tokens, passes, strict=True):
        token.accept_prob, token.verdict = h, "rejected" if token is tokens[0] else "not_judged"
    run = acceptance_over_run([chain(*tokens)], "block")
    assert run.expected == pytest.approx([expected])
    assert run.spread == pytest.approx([math.sqrt(square - expected**2)])


def test_a_block_that_was_cut_cannot_stand_beyond_the_cut():
    record = made_round(0, "yycc", chance=0.5)
    expected = sum(survival([0.5] * 4)[:2])
    assert acceptance_over_run([record], "block").expected == pytest.approx([expected])


def test_a_block_whose_accepted_token_ended_the_output_cannot_stand_beyond_it():
    ended, went_on = made_round(0, "yy..", chance=0.5), made_round(1, "yy..", chance=0.5)
    ended.emitted.pop()  # no token of the target's own: the second draft ended the text
    reach = survival([0.5] * 4)
    run = acceptance_over_run([ended, went_on], "block")
    assert run.expected == pytest.approx([sum(reach[:2]), sum(reach[:2]) + sum(reach)])


def test_typical_acceptance_compares_p_with_its_threshold():
    """Case 48: in a flat p a token of 0.09 or less can pass; in a sharp one epsilon decides."""
    flat = drafted(0, [0.05] * 20, [0.05] * 20)
    assert flat.entropy_p == pytest.approx(math.log(20))
    assert rows(flat)["typical"].chances == [1.0]  # 0.05 > 0.3 / 20
    assert rows(flat, typical_delta=1.1)["typical"].chances == [0.0]  # 0.05 < 1.1 / 20
    sharp = drafted(1, [0.94, 0.05, 0.01])
    assert rows(sharp)["typical"].chances == [0.0]  # 0.05 < epsilon
    assert rows(sharp, typical_epsilon=0.04)["typical"].chances == [1.0]


def test_what_was_not_recorded_is_none_and_trees_have_no_rows():
    old = drafted(0, block=None)
    old.match = old.best = None
    found = rows(old)
    assert found["block"].chances == [None]
    assert found["block"].expected is None
    assert found["match"].means == found["greedy-draft"].means == [None]
    assert rule_rows(chain(), Settings()) == []
    node = drafted(0)
    node.parent = -1
    assert rule_rows(chain(node), Settings()) == []
