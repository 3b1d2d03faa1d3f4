"""The cost of a round: exact where times are exact, and steady where they are not."""

from dataclasses import replace

import numpy as np
import pytest
from made import made_round, made_trace, plain_rounds
from measured import synthetic

from specviz.analysis.costs import CostModel, fit_costs
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded, StepTimes
from specviz.trace.schema import Round

EXACT = {"draft": 0.001, "target": 0.01, "wider": 0.0004, "fixed": 0.0006}


def decoded(rounds: list[Round], repeat: int = 0, plain: list[Round] | None = None) -> Decoded:
    plain = plain_rounds(40, 0.010) if plain is None else plain
    return Decoded("lane", made_trace(rounds, plain, gamma=4), "p", repeat=repeat)


def timed(marks: str, draft: list[float], verify: float = 0.01, rest: float = 0.0) -> Round:
    record = made_round(0, marks, (0.0, verify, rest, 0.0))
    record.timing.draft = draft
    return record


def test_known_costs_are_found_and_go_on_beyond_what_was_seen():
    fit = fit_costs(synthetic([0.7], 4, censored=0.4, **EXACT))
    model = fit.model
    assert model.draft_step == pytest.approx(0.001)
    assert model.fixed == pytest.approx(0.0006)
    assert model.judging == pytest.approx(0, abs=1e-12)
    assert model.plain == pytest.approx(0.0106)
    assert model.target[:5] == pytest.approx([0.01 + 0.0004 * k for k in range(5)])
    assert model.round_seconds(8) == pytest.approx(0.0006 + 8 * 0.001 + 0.0132)
    assert model.round_seconds(30) == pytest.approx(0.0006 + 30 * 0.001 + 0.022)
    assert model.c == pytest.approx(0.1)
    assert model.v(4) == pytest.approx(1.16)
    assert fit.error == pytest.approx(0, abs=1e-12)


def test_a_round_without_drafts_is_a_plain_one():
    assert CostModel(1.0, 2.0, (10.0, 11.0), 10.5).round_seconds(0) == 10.5


def test_the_first_step_of_a_round_may_cost_more():
    """What it takes longer is paid once a round, so gamma 1 pays it too: with the mean step it would look cheaper."""
    fit = fit_costs([decoded([timed("yyyn", [0.004, 0.001, 0.001, 0.001])] * 9)])
    assert fit.model.draft_step == pytest.approx(0.001)
    assert fit.model.round_seconds(1) == pytest.approx(0.014)
    assert fit.model.c == pytest.approx(0.00175 / 0.010), "c is over all draft steps, as of the lanes"
    rows = {row["part"]: row for row in fit.table.rows}
    assert rows["draft step"]["measured"] == pytest.approx(0.00175)
    assert rows["one more draft step"]["fitted"] == pytest.approx(0.001)


@pytest.mark.parametrize("whole", [[0.005], [0.005, 0.0, 0.0, 0.0]], ids=["prompt lookup", "heads"])
def test_a_draft_that_is_one_step_costs_the_same_for_any_length(whole):
    fit = fit_costs([decoded([timed("yyyn", whole)] * 9 + [timed("yn", whole[:2])] * 9)])
    assert fit.model.draft_step == pytest.approx(0.0, abs=1e-9)
    assert fit.model.round_seconds(2) == pytest.approx(0.015)


def test_drafts_whose_steps_are_not_tokens_are_compared_by_length():
    fit = fit_costs([decoded([timed("yyyn", [0.005])] * 9 + [timed("yn", [0.003])] * 9)])
    assert fit.model.draft_step == pytest.approx(0.001)
    assert fit.model.round_seconds(4) == pytest.approx(0.015)


def test_sampling_that_grows_with_the_draft():
    rounds = [timed("yyyn", [0.0] * 4, rest=0.005)] * 9 + [timed("yn", [0.0] * 2, rest=0.003)] * 9
    model = fit_costs([decoded(rounds)]).model
    assert model.judging == pytest.approx(0.001)
    assert model.round_seconds(8) == pytest.approx(0.001 + 8 * 0.001 + 0.01)


def test_measured_steps_give_the_shape_and_rounds_the_level():
    """A pass two wide runs other kernels than a plain one; a straight line from 1 to 5 would miss it."""
    steps = [StepTimes("target", w, [s, s, 9.0]) for w, s in ((1, 0.005), (2, 0.008), (5, 0.0082), (9, 0.0084))]
    rounds = [timed("yyyn", [0.001] * 4, verify=0.0164)] * 30
    model = fit_costs([decoded(rounds)], steps).model
    assert model.target[1] == pytest.approx(0.016)
    assert model.target[4] == pytest.approx(0.0164)
    assert model.target[8] == pytest.approx(0.0168)
    assert fit_costs([decoded(rounds)]).model.target[1] == pytest.approx(0.0116)


def test_a_wider_pass_is_never_taken_to_be_quicker_but_for_the_plain_one():
    steps = [StepTimes("target", w, [s]) for w, s in ((1, 0.020), (2, 0.010), (3, 0.012), (4, 0.011), (5, 0.013))]
    rounds = [timed("yyyn", [0.001] * 4, verify=0.013)] * 30
    model = fit_costs([decoded(rounds, plain=plain_rounds(40, 0.020))], steps).model
    assert model.target[:5] == pytest.approx([0.020, 0.010, 0.0115, 0.0115, 0.013])


def test_a_second_slow_width_stays_slow():
    """Passes of one and two tokens on slow kernels (bfloat16), wider ones on quick ones: no mean over both."""
    alone = {1: 0.220, 2: 0.225, **dict.fromkeys(range(3, 10), 0.168)}
    steps = [StepTimes("target", w, [s * (1 + i / 100) for i in range(-4, 5)]) for w, s in alone.items()]
    rounds = [timed("yyyn", [0.001] * 4, verify=0.168)] * 30
    model = fit_costs([decoded(rounds, plain=plain_rounds(40, 0.220))], steps).model
    assert model.target[:5] == pytest.approx([0.220, 0.225, 0.168, 0.168, 0.168])


def test_beyond_the_widest_pass_the_slope_is_that_of_wide_passes():
    widths = [timed("y" * k, [0.0] * k, verify=0.015 + 0.0001 * k) for k in (1, 2, 3, 4)]
    assert fit_costs([decoded(widths * 9)]).model.target[8] == pytest.approx(0.0158)


def test_a_rare_width_is_not_at_the_mercy_of_one_disturbed_pass():
    rare = [timed("yn", [0.001] * 2, verify=v) for v in (0.012, 0.012, 0.3, 0.012, 0.012)]
    model = fit_costs([decoded([timed("yyyn", [0.001] * 4, verify=0.014)] * 30 + rare)]).model
    assert model.target[2] == pytest.approx(0.012)


def test_a_disturbed_repeat_does_not_count():
    quiet = synthetic([0.7], 4, prompts=3, repeats=3, **EXACT)
    loud = [_slowed(d, 5.0) if d.repeat == 1 else d for d in synthetic([0.7], 4, prompts=3, repeats=3, **EXACT)]
    assert fit_costs(loud).model.round_seconds(4) == pytest.approx(fit_costs(quiet).model.round_seconds(4))
    assert fit_costs(loud).model.plain == pytest.approx(fit_costs(quiet).model.plain)


def _slowed(decode: Decoded, factor: float) -> Decoded:
    for record in (*decode.trace.rounds, *decode.trace.baseline.rounds):
        timing = record.timing
        timing.draft = [s * factor for s in timing.draft]
        timing.verify, timing.sampling, timing.other = (
            s * factor for s in (timing.verify, timing.sampling, timing.other)
        )
    return decode


def test_the_model_predicts_pooled_time_under_noise():
    """Medians of skewed times would be 4% short of the sum."""
    decodes = synthetic([0.7], 4, prompts=20, rounds=60, noise=0.3, censored=0.2, **EXACT)
    fit, rounds = fit_costs(decodes), [r for d in decodes for r in d.trace.rounds]
    total = sum(r.timing.total for r in rounds)
    assert sum(fit.model.round_seconds(len(r.drafted)) for r in rounds) == pytest.approx(total, rel=0.01)
    assert 0 < fit.error < 0.05


def test_a_plain_lane_shared_by_lanes_counts_once():
    first = decoded([timed("yyyn", [0.001] * 4)] * 9, plain=plain_rounds(10, 0.010))
    second = decoded([timed("yn", [0.001] * 2)] * 9, plain=plain_rounds(10, 0.020))
    shared = replace(first, trace=replace(first.trace))
    rows = fit_costs([first, shared, second]).table.rows
    assert rows[0]["count"] == 20
    assert rows[0]["measured"] == pytest.approx(0.015)


def test_the_table_shows_the_model_beside_the_measured_means():
    table = fit_costs(synthetic([0.7], 2, censored=0.3, **EXACT)).table
    rows = {row["part"]: row for row in table.rows}
    assert rows["one more draft step"]["relative"] == pytest.approx(0.1)
    assert rows["target pass 3 wide"]["measured"] == pytest.approx(0.0108)
    assert rows["target pass 3 wide"]["fitted"] == pytest.approx(0.0108)
    assert rows["round with 2 drafts"]["error"] == pytest.approx(0, abs=1e-9)
    assert rows["round with 0 drafts"]["fitted"] == pytest.approx(0.0106)
    total = sum(row["count"] for name, row in rows.items() if name.startswith("round"))
    assert total == 12 * 25
    assert np.isfinite([v for row in table.rows for v in row.values() if isinstance(v, float)]).all()


def test_a_plain_pass_without_time_has_no_ratio():
    model = fit_costs([decoded([timed("yyyn", [0.001] * 4)] * 9, plain=plain_rounds(40, 0.0))]).model
    assert (model.c, model.v(4)) == (None, None)


def test_what_is_missing_is_said():
    with pytest.raises(SpecvizError, match="no plain lane"):
        fit_costs([Decoded("lane", made_trace([made_round(0, "yn")]), "p")])
    with pytest.raises(SpecvizError, match="Nothing was drafted"):
        fit_costs([decoded([made_round(0, "")])])
