"""Acceptance over prompts: counts by hand, intervals that cover what they claim, rates that do not depend on gamma."""

import numpy as np
import pytest
from made import made_round, made_trace
from measured import prompt_hazards, synthetic
from scipy import stats

from specviz.analysis.acceptance import acceptance_table
from specviz.analysis.hazard import acceptance_by_prompt, alpha, hazards
from specviz.analysis.intervals import share_interval, t_quantile
from specviz.analysis.pace import rounds_of
from specviz.trace.measured import Decoded

ROUNDS, GAMMA, CENSORED = 25, 4, 0.2


def lane(*prompts: list[str], repeat: int = 0) -> list[Decoded]:
    """A decode per prompt with these verdicts by round."""
    traces = [made_trace([made_round(i, m) for i, m in enumerate(marks)], gamma=4) for marks in prompts]
    return [Decoded("draft", trace, f"prompt {i}", repeat=repeat) for i, trace in enumerate(traces)]


def column(decodes: list[Decoded], key: str) -> list:
    return acceptance_by_prompt(decodes).values(key)


def test_counts_and_rates_by_hand():
    decodes = lane(["yyn", "n..", ""], ["yyy", "y"])
    assert column(decodes, "position") == [1, 2, 3, "all"]
    assert column(decodes, "accepted") == [3, 2, 1, 6]
    assert column(decodes, "judged") == [4, 2, 2, 8]
    assert column(decodes, "hazard") == pytest.approx([3 / 4, 1, 1 / 2, 6 / 8])
    assert column(decodes, "unconditional") == [pytest.approx(3 / 4), 2 / 4, 1 / 4, None]
    assert column(decodes, "rounds") == [4, 4, 4, 4]
    assert column(decodes, "naive") == [None, None, None, pytest.approx(6 / 10)]


def test_a_round_that_ended_its_draft_says_nothing_of_later_positions():
    """Censored: budget, context, a confidence stop and the end of the text ("c") all end a draft."""
    whole = lane(["yyn", "yyy"], ["yn.", "n.."])
    cut = lane(["yyn", "yyy", "y", "ycc"], ["yn.", "n..", "y", ""])
    assert column(cut, "hazard")[1:3] == column(whole, "hazard")[1:3]
    assert column(cut, "judged")[1:3] == column(whole, "judged")[1:3]
    assert column(cut, "unconditional")[1] < column(whole, "unconditional")[1]


def test_counts_are_those_of_the_rounds_together():
    decodes = synthetic([0.8, 0.6], 4, prompts=5, seed=3, spread=0.5, censored=0.3)
    table, known = acceptance_by_prompt(decodes), acceptance_table(rounds_of(decodes))
    rates = [row.conditional for row in known.positions] + [known.conditional]
    assert table.values("accepted") == [r.hits for r in rates]
    assert table.values("judged") == [r.of for r in rates]
    assert table.values("unconditional")[:-1] == [row.unconditional.value for row in known.positions]
    assert table.rows[-1]["naive"] == known.naive.value


def test_beta_is_the_mean_over_judged_tokens():
    decodes = synthetic([0.8, 0.6, 0.3], 3, prompts=4)
    assert column(decodes, "beta")[:3] == pytest.approx([0.8, 0.6, 0.3])
    assert column(decodes, "beta")[3] == pytest.approx(alpha(decodes))


def test_copies_of_a_decode_add_nothing_and_other_repeats_stay_in_their_prompt():
    first, others = lane(["yyn", "yn."], ["n..", "yyy"]), lane(["yyy", "yn."], ["n..", "n.."], repeat=1)
    stopped = lane(["yyn"], ["n.."], repeat=2)
    rows = acceptance_by_prompt(first).rows
    assert acceptance_by_prompt([*first, *lane(["yyn", "yn."], ["n..", "yyy"], repeat=1), *stopped]).rows == rows
    together = acceptance_by_prompt([*first, *others])
    hits, judged = np.array([3 + 4, 3 + 0]), np.array([5 + 5, 4 + 2])
    assert (together.rows[-1]["accepted"], together.rows[-1]["judged"]) == (hits.sum(), judged.sum())
    assert together.rows[-1]["hazard_low"] == pytest.approx(share_interval(hits, judged)[0])


def test_nothing_drafted_is_no_row_and_no_rate():
    for decodes in ([], lane(["", ""], [""])):
        table = acceptance_by_prompt(decodes)
        assert (table.rows, table.note) == ([], "Nothing was drafted.")
        assert hazards(decodes) == []
        assert alpha(decodes) is None


def test_one_prompt_has_the_interval_of_its_rounds():
    table = acceptance_by_prompt(lane(["yn", "yy", "n.", "yn"]))
    hits, tried = np.array([1, 1, 0, 1]), np.array([1, 1, 1, 1])
    assert [table.rows[0][f"hazard_{end}"] for end in ("low", "high")] == pytest.approx(share_interval(hits, tried))
    assert "say nothing of other prompts" in table.note


def test_positions_with_few_counts_share_a_rate_with_the_last_good_one():
    rounds = ["yyn"] * 12 + ["yyy"] * 4 + ["yn."] * 4 + ["n.."] * 5
    tail = (16 + 4) / (20 + 16)  # positions 2 and 3 together: the third was judged 16 times
    assert hazards(lane(rounds, [])) == pytest.approx([20 / 25, 16 / 20, tail])
    assert hazards(lane(["yn", "yy"], ["n."])) == pytest.approx([3 / 5] * 2)
    assert hazards(lane(["yyyy"] * 30, [])) == [1.0] * 4


def test_accepted_over_drafted_falls_with_gamma_while_the_hazard_stays():
    naive = []
    for gamma in (1, 2, 4, 8):
        row = acceptance_by_prompt(synthetic([0.75], gamma, prompts=16, rounds=40, seed=gamma)).rows[-1]
        assert row["hazard"] == pytest.approx(0.75, abs=0.03)
        expected = sum(0.75**i for i in range(1, gamma + 1)) / gamma
        assert row["naive"] == pytest.approx(expected, abs=0.03)
        naive.append(row["naive"])
    assert naive == sorted(naive, reverse=True)
    assert naive[0] > 2 * naive[3]


# --- coverage -----------------------------------------------------------------------------------------------------


def simulate(hazard: float, spread: float, prompts: int, sims: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Hits and judged tokens of `synthetic` lanes, [positions, sims, prompts], without the records."""
    random = np.random.default_rng(seed)
    odds = hazard / (1 - hazard) * np.exp(spread * random.standard_normal((sims, prompts)))
    chance, hits, tried = odds / (1 + odds), [], []
    reached, longer = np.full((sims, prompts), ROUNDS), 1.0
    for position in range(GAMMA):
        goes_on = 1 - CENSORED * (position + 1) / GAMMA  # share of drafts with more than `position` tokens
        tried.append(random.binomial(reached, goes_on / longer))
        hits.append(random.binomial(tried[-1], chance))
        reached, longer = hits[-1], goes_on
    return np.array(hits), np.array(tried)


def truths(hazard: float, spread: float) -> tuple[np.ndarray, float]:
    """What the rates estimate: expected hits / expected judged tokens, by position and over all of them."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    chances = np.array([prompt_hazards([hazard], 1, spread * x)[0] for x in nodes])
    reach = np.array([(chances**k * weights).sum() / weights.sum() for k in range(GAMMA + 1)])
    goes_on = 1 - CENSORED * np.arange(1, GAMMA + 1) / GAMMA
    return reach[1:] / reach[:-1], float((goes_on * reach[1:]).sum() / (goes_on * reach[:-1]).sum())


def coverage(interval, hits: np.ndarray, tried: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Share of intervals that hold the truth, by leading axis, of those that have counts."""
    low, high = interval(hits, tried)
    inside = (low <= truth[:, None]) & (truth[:, None] <= high)
    known = tried.sum(axis=-1) > 0
    return (inside & known).sum(axis=1) / known.sum(axis=1)


def percentile_bootstrap(hits: np.ndarray, tried: np.ndarray) -> np.ndarray:
    prompts = hits.shape[-1]
    draws = np.random.default_rng(1).multinomial(prompts, np.full(prompts, 1 / prompts), size=400).T
    return np.quantile((hits @ draws) / (tried @ draws), [0.025, 0.975], axis=-1)


@pytest.mark.parametrize("prompts", [12, 20])
@pytest.mark.parametrize("spread", [0.0, 0.6])
@pytest.mark.parametrize("hazard", [0.5, 0.7, 0.9])
def test_intervals_cover_the_truth_in_95_of_100(hazard, spread, prompts):
    by_position, overall = truths(hazard, spread)
    hits, tried = simulate(hazard, spread, prompts, 400, seed=7)
    covered = coverage(share_interval, hits, tried, by_position)
    assert 0.93 <= covered.mean() <= 0.97
    hits, tried = simulate(hazard, spread, prompts, 4000, seed=11)  # enough to judge every position by itself
    covered = coverage(share_interval, hits, tried, by_position)
    pooled = coverage(share_interval, hits.sum(axis=0)[None], tried.sum(axis=0)[None], np.array([overall]))
    assert ((covered >= 0.93) & (covered <= 0.97)).all(), covered
    assert 0.93 <= pooled[0] <= 0.97


def test_the_plain_bootstrap_over_prompts_would_not_cover():
    """What the test above is for: the percentile bootstrap of the same data."""
    hits, tried = simulate(0.7, 0.6, 12, 1000, seed=7)
    overall = np.array([truths(0.7, 0.6)[1]])
    assert coverage(percentile_bootstrap, hits.sum(axis=0)[None], tried.sum(axis=0)[None], overall)[0] < 0.93


def test_the_table_has_these_intervals():
    decodes = synthetic([0.7], GAMMA, prompts=12, seed=5, spread=0.6, censored=CENSORED)
    hits, tried = np.zeros((2, GAMMA, 12))
    for prompt, decode in enumerate(decodes):
        for row in acceptance_table(decode.trace.rounds).positions:
            hits[row.position - 1, prompt], tried[row.position - 1, prompt] = row.conditional.hits, row.conditional.of
    low, high = share_interval(hits, tried)
    assert column(decodes, "hazard_low")[:-1] == pytest.approx(low)
    assert column(decodes, "hazard_high")[:-1] == pytest.approx(high)


def test_intervals_mean_something_at_0_and_1():
    low, high = share_interval(np.array([[9.0, 9.0], [0.0, 0.0]]), np.full((2, 2), 9.0))
    assert low[0] < 0.5
    assert high[0] == 1
    assert low[1] == 0
    assert high[1] > 0.5
    assert np.isnan(share_interval(np.array([3.0, 0.0]), np.array([4.0, 0.0]))).all()


def test_prompts_that_agree_by_luck_do_not_make_certainty():
    low, high = share_interval(np.array([5.0, 5.0]), np.array([10.0, 10.0]))
    assert high - low > 0.5


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 11, 19, 60])
def test_quantiles_of_t(freedom):
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)
