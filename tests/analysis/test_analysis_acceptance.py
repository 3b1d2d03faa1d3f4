"""Acceptance by position, by round and over the run, against values worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import made_round

from specviz.analysis.acceptance import acceptance_over_run, acceptance_table, accepted_lengths
from specviz.analysis.totals import Totals

marks = st.builds(
    lambda accepted, ending, tail: "y" * accepted + ending + ("." * tail if ending == "n" else ""),
    st.integers(0, 8),
    st.sampled_from(["", "n", "c"]),
    st.integers(0, 4),
)
runs = st.lists(marks, max_size=30).map(lambda rows: [made_round(i, row) for i, row in enumerate(rows)])


def test_one_round_yes_no_then_not_judged():
    """Case 52: yes, no, (yes, yes): 1 accepted of 2 judged of 4 drafted; never 75 %."""
    table = acceptance_table([made_round(0, "yn..")])
    assert (table.conditional.hits, table.conditional.of) == (1, 2)
    assert (table.naive.hits, table.naive.of) == (1, 4)
    assert table.conditional.value == 0.5
    assert table.naive.value == 0.25


def test_rates_by_position():
    table = acceptance_table([made_round(0, "yyn"), made_round(1, "n.."), made_round(2, "yyy"), made_round(3, "")])
    conditional = [(r.conditional.hits, r.conditional.of) for r in table.positions]
    unconditional = [(r.unconditional.hits, r.unconditional.of) for r in table.positions]
    assert table.draft_rounds == 3
    assert conditional == [(2, 3), (2, 2), (1, 2)]
    assert unconditional == [(2, 3), (2, 3), (1, 3)]


def test_cut_tokens_are_neither_judged_nor_accepted():
    table = acceptance_table([made_round(0, "yycc")])
    assert (table.conditional.hits, table.conditional.of) == (2, 2)
    assert (table.positions[2].conditional.of, table.positions[2].conditional.value) == (0, None)
    assert accepted_lengths([made_round(0, "yycc")]) == [0, 0, 1, 0, 0]


def test_nothing_drafted_is_none_not_zero():
    for rounds in ([], [made_round(0, "")]):
        assert acceptance_table(rounds) is None
        assert accepted_lengths(rounds) is None
        assert acceptance_over_run(rounds) is None
        assert Totals.of(rounds).alpha is None


def test_histogram_counts_only_rounds_with_drafts():
    rounds = [made_round(0, "yyn"), made_round(1, "n.."), made_round(2, "yyy"), made_round(3, "")]
    assert accepted_lengths(rounds) == [1, 0, 1, 1]


def test_alpha_is_the_mean_over_judged_places():
    rounds = [made_round(0, "yn.", beta=0.9), made_round(1, "n..", beta=0.3)]
    assert Totals.of(rounds).alpha == pytest.approx((0.9 + 0.9 + 0.3) / 3)


def test_expected_against_realised():
    run = acceptance_over_run([made_round(0, "yn.", chance=0.8), made_round(1, ""), made_round(2, "y", chance=0.5)])
    assert run.rounds == [0, 2]
    assert run.expected == pytest.approx([1.6, 2.1])
    assert run.accepted == [1, 2]
    assert run.spread == pytest.approx([math.sqrt(0.32), math.sqrt(0.32 + 0.25)])


def test_interval_agrees_with_resampling_the_rounds_themselves():
    """Resampling counts of patterns is resampling rounds, within the noise of both."""
    rounds = [made_round(i, "yyn" if i % 3 else "n..") for i in range(60)]
    rate = acceptance_table(rounds).conditional
    rows = np.array([(r.accepted, r.judged) for r in rounds])
    draws = np.random.default_rng(1).integers(0, 60, size=(4000, 60))
    sums = rows[draws].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    assert rate.low == pytest.approx(low, abs=0.02)
    assert rate.high == pytest.approx(high, abs=0.02)


def test_interval_is_the_same_each_time_and_absent_for_one_round():
    rounds = [made_round(0, "yn"), made_round(1, "yy"), made_round(2, "n.")]
    assert acceptance_table(rounds) == acceptance_table(rounds)
    assert acceptance_table(rounds[:1]).conditional.low is None


@given(runs)
def test_identities_of_counts(rounds):
    """Case 72: the sums agree with each other whatever the run."""
    totals, table, lengths = Totals.of(rounds), acceptance_table(rounds), accepted_lengths(rounds)
    assert totals.drafted == sum(len(r.drafted) for r in rounds)
    assert totals.emitted == totals.accepted + sum(not (r.drafted and r.drafted[-1].verdict == "cut") for r in rounds)
    if table is None:
        assert (totals.draft_rounds, lengths) == (0, None)
        return
    assert sum(lengths) == totals.draft_rounds == table.draft_rounds
    assert sum(k * n for k, n in enumerate(lengths)) == totals.accepted == table.conditional.hits
    assert sum(row.conditional.hits for row in table.positions) == totals.accepted
    assert sum(row.conditional.of for row in table.positions) == totals.judged == table.conditional.of
    assert table.naive.of == totals.drafted
    for row in table.positions:
        assert row.conditional.hits == row.unconditional.hits == sum(lengths[row.position :])
        assert row.unconditional.of == table.draft_rounds


@given(runs)
def test_intervals_hold_the_rate(rounds):
    table = acceptance_table(rounds)
    for row in table.positions if table else ():
        for rate in (row.conditional, row.unconditional):
            if rate.low is not None:
                assert 0 <= rate.low <= rate.high <= 1
