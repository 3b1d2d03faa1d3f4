"""Predictions: equal to closed forms and enumeration, and near what runs at other gammas do."""

from collections import Counter
from dataclasses import replace
from itertools import product
from math import log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured import synthetic
from simulated import clock, decode, stretches

from specviz.analysis import prediction
from specviz.analysis.costs import CostModel, fit_costs
from specviz.analysis.hazard import hazards
from specviz.analysis.pace import speed_of
from specviz.analysis.prediction import (
    best_gamma,
    kinds_table,
    leviathan,
    predict,
    predict_runs,
    sweep_table,
)
from specviz.analysis.replay import Place, Recorded, constant, draft_limit, recorded, replay
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded

FREE = CostModel(0.0, 0.0, (1.0,), 1.0)
MODEL = CostModel(0.001, 0.0005, (0.01,) * 17, 0.0105)


def asked(gamma: int, decoded: Decoded) -> Decoded:
    """The run as one that was asked for longer drafts than came."""
    decoded.trace.settings = replace(decoded.trace.settings, gamma=gamma)
    return decoded


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.integers(0, 7))
def test_expected_tokens_equal_the_enumeration_of_all_outcomes(rates, gamma):
    chances = [rates[min(i, len(rates) - 1)] for i in range(gamma)]
    expected = 0.0
    for outcome in product((True, False), repeat=gamma):
        accepted = next((i for i, ok in enumerate(outcome) if not ok), gamma)
        expected += (accepted + 1) * prod(c if ok else 1 - c for c, ok in zip(chances, outcome, strict=True))
    assert predict(rates, FREE, gamma).tokens_per_pass == pytest.approx(expected)


@pytest.mark.parametrize("gamma", range(7))
@pytest.mark.parametrize("alpha", [0.0, 0.35, 0.8, 1.0])
def test_leviathan_is_the_prediction_with_equal_hazards_and_passes_that_cost_alike(alpha, gamma):
    model = CostModel(0.1, 0.0, (1.0,), 1.0, c=0.1)
    assert predict([alpha], model, gamma).speedup == pytest.approx(leviathan(alpha, model.c, gamma))
    if alpha < 1:
        closed = (1 - alpha ** (gamma + 1)) / ((1 - alpha) * (gamma * 0.1 + 1))
        assert leviathan(alpha, 0.1, gamma) == pytest.approx(closed)


def test_gamma_0_is_plain_decoding():
    assert predict([0.9], MODEL, 0).speedup == pytest.approx(1.0)
    assert predict_runs(recorded([decode(stretches(40, 0), 4)]), MODEL, 0).speedup == pytest.approx(1.0)


@pytest.mark.parametrize("eos", [False, True])
@pytest.mark.parametrize("gamma", [1, 2, 3, 5, 6])
def test_a_replay_is_exact_where_every_place_was_judged(gamma, eos):
    """No run of seven agreements, so no bonus token at gamma 7: each round of another gamma is known."""
    agrees = ([True] * 3 + [False] + [True] * 6 + [False, False]) * 4
    run = recorded([decode(agrees, 7, eos=eos)])[0]
    spent, rounds = replay(run, constant(gamma)), decode(agrees, gamma, eos=eos).trace.rounds
    assert spent.unknown == 0
    assert {k: n for k, n in spent.rounds.items() if n} == Counter(len(r.drafted) for r in rounds)
    assert spent.seconds(MODEL.round_seconds) == pytest.approx(sum(MODEL.round_seconds(len(r.drafted)) for r in rounds))


def test_a_replay_with_the_recorded_gamma_is_the_run_itself():
    for seed in range(5):
        lane = decode(stretches(48, seed), 3)
        spent = replay(recorded([lane])[0], constant(3))
        assert spent.passes == pytest.approx(len(lane.trace.rounds))
        assert spent.drafts == pytest.approx(sum(len(r.drafted) for r in lane.trace.rounds))


def test_an_unknown_place_goes_both_ways():
    """y y b | n r: the bonus place is unknown. At gamma 1 from place 0: y+1, then the bonus place is drafted."""
    run = recorded([decode([True, True, True, False, True], 2)])[0]
    assert [p.agrees for p in run.places] == [True, True, None, False, None]
    h = run.chances[-1]
    spent = replay(run, constant(1))
    # rounds begin at 0 and 2; from there at 4 if the unknown stands, else at 3 and then 4
    assert spent.passes == pytest.approx(3 * h + 4 * (1 - h))
    assert spent.unknown == pytest.approx(1.0)
    assert spent.judged == pytest.approx(2 + (1 - h))


def test_other_gammas_are_predicted_from_one_calibration_at_4():
    """Texts with easy and hard stretches, 48 tokens each; at most 8% off, and better than hazards alone."""
    texts = [stretches(48, seed) for seed in range(40)]
    times = clock(draft=0.001, target=0.01, wider=0.0008)
    measured = {g: [decode(t, g, times, f"p{i}") for i, t in enumerate(texts)] for g in (1, 2, 4, 6, 8)}
    fit = fit_costs(measured[4])
    table = sweep_table(measured, measured[4], fit, gammas=range(1, 9))
    errors = {row["gamma"]: abs(row["error"]) for row in table.rows if row["error"] is not None}
    assert set(errors) == {1, 2, 6, 8}  # 4 is what they are predicted from
    assert table.rows[4]["predicted"] == pytest.approx(table.rows[4]["measured"], rel=0.002)
    assert max(errors.values()) < 0.04
    rates = hazards(measured[4])
    alone = [abs(predict(rates, fit.model, row["gamma"]).speedup / row["measured"] - 1) for row in table.rows[1:]
             if row["measured"]]  # fmt: skip
    assert sum(errors.values()) < sum(alone)
    best = best_gamma(measured[4], fit.model, (1, 2, 4, 6, 8))
    gains = {row["gamma"]: row["measured"] for row in table.rows if row["measured"]}
    assert gains[best.gamma] >= 0.97 * max(gains.values())


def test_heads_are_predicted_by_position():
    """Medusa's second head does not become the first because a round begins at its place."""
    agrees = [True, False, False] * 8
    run = recorded([decode(agrees, 2, method="medusa")])[0]
    assert run.by_position
    assert all(p.agrees is None for p in run.places)
    assert run.chance(1, 0) == run.chances[0]
    assert run.chance(0, 1) == run.chances[1]


def test_a_round_that_could_not_draft_cannot_draft_in_the_replay():
    lane = decode([False, True, True, False, True, True], lambda place: 0 if place == 0 else 2)
    run = recorded([lane])[0]
    assert [p.idle for p in run.places] == [True, False, False, False, False, False]
    assert replay(run, constant(2)).rounds[0] == pytest.approx(1.0)


def test_the_sweep_has_a_row_for_each_gamma_and_none_where_nothing_was_measured():
    lane = [decode(stretches(60, i), 4, prompt=f"p{i}") for i in range(6)]
    table = sweep_table({4: lane}, lane, fit_costs(lane), gammas=(1, 2, 8))
    rows = {row["gamma"]: row for row in table.rows}
    assert sorted(rows) == [0, 1, 2, 4, 8]
    model, rates = fit_costs(lane).model, hazards(lane)
    assert [row["from_hazards"] for row in rows.values()] == [predict(rates, model, g).speedup for g in rows]
    assert rows[0]["predicted"] == pytest.approx(1.0)
    assert rows[2]["measured"] is None
    assert rows[2]["error"] is None
    assert rows[4]["low"] < rows[4]["measured"] < rows[4]["high"]
    assert rows[4]["passes"] == pytest.approx(rows[4]["passes_measured"])


def test_kinds_have_their_own_acceptance():
    easy = [decode(stretches(60, i, easy=0.95, hard=0.9), 4, prompt=f"e{i}", kind="edit") for i in range(4)]
    hard = [decode(stretches(60, i, easy=0.2, hard=0.1), 4, prompt=f"h{i}", kind="prose") for i in range(4)]
    silent = [decode([True] * 60, lambda place: 0, prompt="s", kind="question")]
    lane = [*easy, *hard, *silent]
    table = kinds_table({4: lane}, lane, fit_costs(lane))
    best = {}
    for kind in ("edit", "prose"):
        rows = [row for row in table.rows if row["kind"] == kind]
        best[kind] = max(rows, key=lambda row: row["predicted"])["gamma"]
    assert best["edit"] > best["prose"]
    assert "Nothing was drafted for question." in table.note


def test_the_best_gamma_and_its_margin():
    lane = [decode(stretches(80, i), 4, prompt=f"p{i}") for i in range(10)]
    best = best_gamma(lane, MODEL)
    gains = {g: predict_runs(recorded(lane), MODEL, g).speedup for g in range(9)}
    ranked = sorted(gains, key=gains.get, reverse=True)
    assert (best.gamma, best.runner_up) == (ranked[0], ranked[1])
    assert best.margin == pytest.approx(gains[ranked[0]] / gains[ranked[1]] - 1)
    assert best.low < best.speedup < best.high
    assert best.gamma in best.standing
    assert 0 not in best.standing
    assert best == best_gamma(lane, MODEL)


def test_gammas_that_the_prompts_do_not_tell_apart_all_stand():
    """With free drafts and one unlucky prompt among good ones 7 and 8 are as good; 1 is not."""
    lane = [decode(stretches(80, i, easy=0.8, hard=0.6), 8, prompt=f"p{i}") for i in range(8)]
    best = best_gamma(lane, CostModel(0.0005, 0.0, (0.01,), 0.01))
    assert len(best.standing) > 1
    assert 1 not in best.standing


def test_do_not_speculate_when_the_draft_is_slow():
    lane = [decode(stretches(80, i, easy=0.5, hard=0.5), 4, prompt=f"p{i}") for i in range(6)]
    best = best_gamma(lane, CostModel(0.008, 0.0, (0.01,), 0.01))
    assert best.gamma == 0
    assert best.speedup == pytest.approx(1.0)
    assert best.runner_up == 1
    assert best.margin > 0


def test_one_prompt_tells_nothing_of_others():
    best = best_gamma([decode(stretches(80, 0), 4)], MODEL)
    assert (best.low, best.high) == (None, None)
    assert len(best.standing) == 9


def test_no_gamma_beyond_the_heads_is_predicted_or_recommended():
    """Four heads at gamma 8; the fifth does not exist, however cheap drafts are."""
    lane = [asked(8, decode([True] * 60, 4, prompt=f"p{i}", method="medusa")) for i in range(4)]
    fit = fit_costs(lane)
    table = sweep_table({8: lane}, lane, fit)
    rows = {row["gamma"]: row for row in table.rows}
    assert sorted(rows) == [0, 1, 2, 3, 4]
    assert rows[4]["measured"] == pytest.approx(speed_of(lane).value), "gamma 8 was 4 here"
    assert table.note.count("No round drafted more than 4 tokens") == 1
    assert best_gamma(lane, fit.model).gamma == 4
    assert best_gamma(lane, fit.model, (8,)).gamma == 4


def test_a_limit_shows_where_longer_drafts_had_room():
    short, agrees = asked(5, decode([True] * 40, 3)), [True] * 40
    assert draft_limit([short]) == 3
    assert draft_limit([decode(agrees, 3), short, decode(agrees, 2)]) == 3
    assert draft_limit([decode(agrees, 3)]) is None, "gamma was the limit"
    assert draft_limit([short, decode(agrees, 5)]) is None, "longer drafts came, up to gamma"
    assert draft_limit([decode([True] * 5, 8)]) is None, "the budget was the limit"
    assert draft_limit([decode(agrees, 3, method="medusa")]) == 3, "further heads are unknown"
    assert draft_limit([decode(agrees, lambda place: 0)]) is None
    assert draft_limit([asked(5, decode(agrees, 3, draft_length="confidence"))]) is None


@pytest.mark.parametrize("prompts", [5, 6])
def test_the_interval_of_the_best_covers_the_truth(prompts, monkeypatch):
    """Prompts of many acceptances; the percentiles of a bootstrap over as few cover 82 to 85%."""
    monkeypatch.setattr(prediction, "recorded", lambda runs: runs)
    monkeypatch.setattr(prediction, "draft_limit", lambda runs: None)
    random, model = np.random.default_rng(7), CostModel(0.001, 0.0005, (0.01,), 0.0105)

    def runs(number: int) -> list[Recorded]:
        agrees = random.random((number, 40)) < random.beta(8, 4, (number, 1))
        return [Recorded("p", "code", tuple(map(Place, row)), 40, (0.5,)) for row in agrees.tolist()]

    truth = best_gamma(runs(3000), model, (4,)).speedup
    found = [best_gamma(runs(prompts), model, (4,)) for _ in range(400)]
    covered = sum(best.low <= truth <= best.high for best in found) / len(found)
    assert 0.91 <= covered <= 0.98


def test_the_interval_is_one_of_logarithms():
    best = best_gamma([decode(stretches(80, i), 4, prompt=f"p{i}") for i in range(6)], MODEL)
    assert log(best.high / best.speedup) == pytest.approx(log(best.speedup / best.low))


def test_intervals_are_over_what_they_say():
    lane = [decode(stretches(60, i), 4, prompt=f"p{i}", kind="edit" if i else "prose") for i in range(4)]
    many, one = (sweep_table({4: own}, own, fit_costs(own)).note for own in (lane, lane[:1]))
    assert "over prompts" in many
    assert "over the rounds of the only prompt" in one
    assert "over prompts" not in one
    kinds = kinds_table({4: lane}, lane, fit_costs(lane))
    assert "Of prose there is one prompt: its intervals are over rounds." in kinds.note
    assert not any("prompts" in column.about for column in kinds.columns)


def test_repeats_are_one_text():
    lane = [decode(stretches(40, 0), 4, repeat=r) for r in range(3)]
    assert len(recorded(lane)) == 1


def test_what_cannot_be_predicted_is_said():
    tree = synthetic([0.7], 2, prompts=1, tree=(2, 1))
    with pytest.raises(SpecvizError, match="no gamma to choose"):
        recorded(tree)
    with pytest.raises(SpecvizError, match="Nothing was drafted"):
        recorded([decode([True] * 9, lambda place: 0)])
