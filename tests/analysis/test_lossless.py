"""Chi-square, total variation and luck against scipy and enumeration; what the tables of a check say."""

import math
from itertools import product

import numpy as np
import pytest
from made import provenance
from scipy import stats

from specviz.analysis.chi_square import chi_square_tail, fit
from specviz.analysis.lossless import LEVEL, failed, growth_table, lossless_report, lossless_table, rules_table
from specviz.analysis.tables import cell_text
from specviz.trace.checked import FAULTS, Place, Tally
from specviz.trace.methods import RULES
from specviz.trace.schema import Piece, Settings

CHANCES = (0.5, 0.3, 0.15, 0.05)
PIECES = {1: Piece(" a"), 2: Piece("\n"), 3: Piece("E2 9C", "bytes")}
PLACE = Place(((1, 1), (1, 2), (2, 3), (3,)), CHANCES, 2, Settings(2, temperature=1.0), PIECES, provenance())
FAIR, SKEWED = (500, 300, 150, 50), (400, 300, 200, 100)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 36, 63, 200])
def test_the_tail_of_chi_square_is_scipys(df):
    for statistic in (0.0, 1e-3, 0.5, 1.0, 3.84, 10.0, 60.0, 250.0, 1400.0, 5000.0):
        assert chi_square_tail(statistic, df) == pytest.approx(stats.chi2.sf(statistic, df), rel=1e-9, abs=1e-300)


def test_statistic_and_p_value_are_scipys():
    found = fit(SKEWED, CHANCES)
    expected = stats.chisquare(SKEWED, [1000 * c for c in CHANCES])
    assert (found.chi_square, found.p_value, found.df) == pytest.approx((expected.statistic, expected.pvalue, 3))
    assert found.total_variation == pytest.approx((0.1 + 0 + 0.05 + 0.05) / 2)
    assert fit(FAIR, CHANCES).p_value == pytest.approx(1)
    assert fit((0, 0), (0.5, 0.5)) is None


def test_cells_that_expect_few_draws_are_one():
    chances = (0.6, 0.3, 0.04, 0.03, 0.03)
    found = fit((70, 20, 4, 4, 2), chances)  # the last three expect 10 together
    expected = stats.chisquare([70, 20, 10], [60, 30, 10])
    assert (found.chi_square, found.df) == pytest.approx((expected.statistic, 2))
    joined = fit((24, 14, 2), (0.6, 0.38, 0.02))  # .8 expected: joins the 15.2
    assert (joined.chi_square, joined.df) == pytest.approx((stats.chisquare([24, 16], [24, 16]).statistic, 1))
    few = fit((2, 1), (0.5, 0.5))
    assert (few.chi_square, few.df, few.p_value) == (None, None, None)
    assert few.total_variation == pytest.approx(1 / 6)


def test_a_draw_of_no_chance_settles_it():
    found = fit((500, 499), (0.5, 0.5), outside=1)
    assert found.p_value == 0.0
    assert found.total_variation == pytest.approx((0.0 + 0.001 + 0.001) / 2)


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_luck_is_the_mean_over_all_outcomes(draws):
    chances, mean = (0.5, 0.3, 0.2), 0.0
    for outcome in product(range(3), repeat=draws):
        shares = np.bincount(outcome, minlength=3) / draws
        mean += math.prod(chances[x] for x in outcome) * np.abs(shares - chances).sum() / 2
    assert fit([draws, 0, 0], chances).noise == pytest.approx(mean)
    assert fit([draws, 0], (1.0, 0.0)).noise == 0


def test_p_values_of_right_draws_are_uniform():
    random = np.random.default_rng(3)
    found = [fit(tuple(random.multinomial(2000, CHANCES)), CHANCES).p_value for _ in range(400)]
    assert stats.kstest(found, "uniform").pvalue > 0.01


def test_rows_of_continuations():
    table = lossless_table(PLACE, Tally("rejection", 1000, SKEWED))
    assert table.values("text") == ["' a' + ' a'", "' a' + '\\n'", "'\\n' + <E2 9C>", "<E2 9C>"]
    assert table.values("exact") == list(CHANCES)
    assert table.values("frequency") == [0.4, 0.3, 0.2, 0.1]
    assert table.rows[0]["z"] == pytest.approx(-100 / math.sqrt(250))
    assert "draws gave a continuation that has no chance" not in table.note
    assert "2 draws gave" in lossless_table(PLACE, Tally("rejection", 1002, SKEWED, 2)).note


def test_verdicts_by_what_a_rule_claims():
    rows = {}
    for rule, counts in product((*RULES, *FAULTS), (FAIR, SKEWED)):
        tally = Tally(rule, 1000, counts)
        rows[rule, counts] = rules_table(PLACE, [tally]).rows[0]["verdict"]
        claims = rule in RULES and RULES[rule].exact
        assert failed(PLACE, [tally]) == ([rule] if claims and counts == SKEWED else [])
    assert rows["rejection", FAIR] == "no difference seen"
    assert rows["rejection", SKEWED] == "another distribution"
    assert rows["typical", SKEWED] == rows["soft-q", SKEWED] == "another distribution, as expected"
    assert rows["no-residual", FAIR] == "no difference seen here so far"
    assert rules_table(PLACE, [Tally("block", 3, (1, 1, 1, 0))]).rows[0]["verdict"] == "too few draws to tell"


def test_the_last_tally_of_a_rule_counts_and_growth_shows_all():
    early = Tally("rejection", 100, (20, 50, 20, 10))
    tallies = [early, Tally("soft-q", 100, (90, 10, 0, 0)), Tally("rejection", 1000, FAIR)]
    assert failed(PLACE, [early]) == ["rejection"]
    assert failed(PLACE, tallies) == []
    assert rules_table(PLACE, tallies).values("draws") == [1000, 100]
    growth = growth_table(PLACE, tallies)
    assert growth.values("draws") == [100, 100, 1000]
    assert growth.rows[0]["chi_square_per_df"] == pytest.approx(fit(early.counts, CHANCES).chi_square / 3)
    assert growth.rows[2]["noise"] < growth.rows[0]["noise"]


def test_too_few_draws_are_told_with_the_number_that_would_do():
    few, enough = Tally("rejection", 9, (5, 3, 1, 0)), Tally("rejection", 10, (5, 3, 1, 1))
    said = lossless_report(PLACE, [few]).sentences
    assert said == ["Rejection sampling: 9 draws cannot tell; the test needs at least 10."]
    assert fit(few.counts, CHANCES).p_value is None
    assert fit(enough.counts, CHANCES).p_value is not None
    alone = Place(((1,),), (1.0,), 1, PLACE.settings, PIECES, PLACE.provenance)
    assert (
        lossless_report(alone, [Tally("rejection", 50, (50,))])
        .sentences[0]
        .endswith("only one continuation has a chance here, so there is nothing to tell apart.")
    )


def test_the_report_says_it_in_sentences():
    report = lossless_report(PLACE, [Tally("rejection", 1000, FAIR), Tally("soft-q", 1000, SKEWED)])
    assert [t.key for t in report.tables] == ["rules", "lossless", "lossless", "growth"]
    right, wrong = report.sentences
    assert right == "Rejection sampling: nothing tells its tokens from the target's own (1,000 draws, p = 1)."
    assert wrong.startswith("Greedy draft, soft q writes another distribution than the target (1,000 draws, p = ")
    assert wrong.endswith("the test finds the fault.")
    broken = lossless_report(PLACE, [Tally("rejection", 1000, SKEWED)]).sentences
    assert broken[0].endswith("it is not lossless here.")
    assert fit(SKEWED, CHANCES).p_value < LEVEL
    certain = lossless_report(PLACE, [Tally("rejection", 10**6, (10**6, 0, 0, 0))]).sentences[0]
    assert "(1,000,000 draws, p below 1e-300)" in certain, "a p-value is never written as 0"
    table = rules_table(PLACE, [Tally("rejection", 10**6, (10**6, 0, 0, 0))])
    column = next(column for column in table.columns if column.key == "p_value")
    assert (table.rows[0]["p_value"], cell_text(column, table.rows[0])) == (0.0, "below 1e-300")
    assert lossless_report(None, []).tables == []
