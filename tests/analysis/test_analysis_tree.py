"""Trees in the analysis: a place is a depth, judged if any of its nodes was tried, accepted if one of them was."""

import pytest
from made import drafted, made_round, made_trace, plain_rounds

from specviz.analysis.acceptance import acceptance_over_run, acceptance_table, accepted_lengths
from specviz.analysis.figures import trace_figures
from specviz.analysis.summary import agreement
from specviz.analysis.totals import Totals
from specviz.analysis.tree import depths, drafts_trees, full_draft, tried_first
from specviz.trace.schema import Round, Settings

# parents and verdicts of a 2 x 2 tree: both tries at depth 1 (the second stands), then one of two below it
PARENTS = [-1, -1, 0, 0, 1, 1]


def tree(marks: str, parents=PARENTS, index: int = 0, chances=(), betas=()) -> Round:
    record = made_round(index, marks)
    record.drafted = [drafted(mark) for mark in marks]
    for token, parent in zip(record.drafted, parents, strict=True):
        token.parent = parent
    for k, chance in enumerate(chances):
        record.drafted[k].accept_prob = chance
    for k, beta in enumerate(betas):
        record.drafted[k].beta = beta
    return record


ROUNDS = [tree("ny..y."), tree("nn....", index=1), tree("y.nn..", index=2), tree("ny..c.", index=3)]


def test_depths_of_trees_and_chains():
    assert depths(ROUNDS[0]) == [1, 1, 2, 2, 2, 2]
    assert depths(made_round(0, "yyn")) == [1, 2, 3]
    assert depths(made_round(0, "")) == []


def test_rates_by_depth():
    table = acceptance_table(ROUNDS)
    assert [(r.conditional.hits, r.conditional.of) for r in table.positions] == [(3, 4), (1, 2)]
    assert [(r.unconditional.hits, r.unconditional.of) for r in table.positions] == [(3, 4), (1, 4)]
    assert (table.naive.hits, table.naive.of) == (4, 24)
    assert accepted_lengths(ROUNDS) == [1, 2, 1]


def test_totals_count_depths_and_nodes():
    totals = Totals.of(ROUNDS)
    assert (totals.drafted, totals.deepest, totals.judged, totals.accepted) == (24, 8, 6, 4)


def test_alpha_is_over_the_first_try_of_each_depth():
    record = tree("ny..y.", betas=(0.4, 0.9, 0.1, 0.1, 0.6, 0.1))
    assert [token.beta for token in tried_first(record)] == [0.4, 0.6]
    assert Totals.of([record]).alpha == pytest.approx(0.5)


def test_expected_acceptance_sums_over_every_try():
    run = acceptance_over_run([tree("ny..ny", chances=(0.2, 0.7, 0.0, 0.0, 0.1, 0.5))])
    assert run.expected == pytest.approx([1.5])
    assert run.accepted == [2]


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        (Settings(tree=(3, 2, 1)), 15),
        (Settings(tree=(3, 2), rule="block", gamma=5), 5),
        (Settings(tree=(3, 2), method="prompt-lookup"), 4),
        (Settings(gamma=7), 7),
        (Settings(gamma=0, tree=(2,)), 0),
    ],
)
def test_tokens_of_a_whole_draft(settings, nodes):
    assert full_draft(settings) == nodes
    assert drafts_trees(settings) == (nodes in (15,))


def test_the_figures_name_depths_and_nodes():
    trace = made_trace(ROUNDS, tree=(2, 2), temperature=1.0)
    figures = trace_figures(trace)
    assert figures["acceptance"]["value"] == "4/6 · 67%"
    assert "accepted / judged depths; 4/24 = 17% of all nodes drafted" in figures["acceptance"]["detail"]
    assert "the first try at each" in figures["alpha"]["detail"]


def test_rounds_without_a_match_are_plain():
    totals = Totals.of([made_round(0, ""), made_round(1, "yn")])
    assert (totals.rounds, totals.draft_rounds) == (2, 1)


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"temperature": 1.0}])
def test_under_a_rule_that_changes_the_output_the_lanes_are_not_compared(settings):
    trace = made_trace([made_round(0, "yn")], plain_rounds(2, 0.1), rule="typical", **settings)
    trace.provenance.rule = "typical"
    assert agreement(trace) == "Typical acceptance changes the output, so the lanes are not compared."
    trace.provenance.rule = "block"
    assert "not compared" not in agreement(trace)


@pytest.mark.parametrize("rule", ["none", "a rule of another program"])
def test_a_rule_that_was_asked_for_but_did_not_run_hides_no_comparison(rule):
    """With gamma 0, or where the page falls back to plain decoding, nothing is accepted by any rule."""
    trace = made_trace(plain_rounds(2, 0.1), plain_rounds(2, 0.1), rule="typical", gamma=0)
    trace.provenance.rule = rule
    assert agreement(trace) == "Both lanes wrote the same tokens."
