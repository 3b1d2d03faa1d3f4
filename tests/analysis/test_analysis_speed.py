"""Speed, costs, figures and the timeline, against values worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import made_round, made_trace, plain_rounds, race_trace

from specviz.analysis.figures import trace_figures
from specviz.analysis.speed import FEWEST, break_even, costs, percents, speedup, time_split, why_slower
from specviz.analysis.summary import agreement, end_sentence, first_difference
from specviz.analysis.timeline import Timeline
from specviz.analysis.totals import Totals
from specviz.analysis.words import duration

GOOD = (0.001, 0.010, 0.0, 0.0)  # one draft step 1 ms, a target pass 10 ms


def perfect(gamma: int, rounds: int):
    return [made_round(i, "y" * gamma, GOOD) for i in range(rounds)]


def test_speedup_of_a_perfect_draft():
    """Case 54: 10 ms and 1 ms a step, gamma 4: 50 / 14 = 3.57, per token, prefill not in it."""
    gain = speedup(Totals.of(perfect(4, 10)), Totals.of(plain_rounds(50, 0.010)))
    assert gain == pytest.approx(50 / 14)


def test_speedup_is_per_token_when_lengths_differ():
    """Case 55: 40 tokens against 64."""
    trace = made_trace(perfect(4, 8), plain_rounds(64, 0.010))
    figure = trace_figures(trace)["speedup"]
    assert figure["value"] == "3.57×"
    assert figure["kind"] == "measured"
    assert "the lengths differ" in figure["detail"]
    assert "40 tokens" in figure["detail"]
    assert "64 tokens" in figure["detail"]


def test_slower_is_shown_as_slower_and_why():
    """Case 56: 10 ms target, 8 ms draft, half accepted."""
    rounds = [made_round(i, "yn" if i % 2 else "n.", (0.008, 0.010, 0.0, 0.0)) for i in range(10)]
    trace = made_trace(rounds, plain_rounds(15, 0.010))
    figures = trace_figures(trace)
    assert float(figures["speedup"]["value"].rstrip("×")) < 1
    sentence = why_slower(Totals.of(rounds), Totals.of(trace.baseline.rounds))
    assert "too few drafts are accepted (5 of at most 20)" in sentence
    assert "2.0 draft steps take 16.0 ms" in sentence
    assert "must yield 2.60 tokens to break even and yields 1.50" in sentence
    assert sentence in end_sentence(trace)


def test_slower_even_with_all_accepted():
    rounds = [made_round(i, "yy", (0.015, 0.010, 0.0, 0.0)) for i in range(4)]
    assert "even if every one were accepted" in why_slower(Totals.of(rounds), Totals.of(plain_rounds(8, 0.01)))


def test_no_reason_is_given_for_a_gain():
    assert why_slower(Totals.of(perfect(4, 3)), Totals.of(plain_rounds(9, 0.01))) is None


def test_costs_are_relative_to_a_plain_target_step():
    found = costs([*perfect(4, 2), made_round(2, "y", (0.002, 0.5, 0.0, 0.0))], plain_rounds(5, 0.008), 4)
    assert found.c == pytest.approx((8 * 0.001 + 0.002) / 9 / 0.008)
    assert found.v == pytest.approx(0.010 / 0.008)
    assert costs([], [], 4).c is None


def test_break_even():
    assert break_even(Totals.of(perfect(4, 2)), Totals.of(plain_rounds(5, 0.010))) == pytest.approx(1.4)
    assert break_even(Totals(), Totals.of(plain_rounds(5, 0.010))) is None


def test_time_split_and_its_figure():
    trace = made_trace([made_round(0, "yn", (1.0, 7.0, 0.5, 0.5))])
    assert time_split(Totals.of(trace.rounds)) == {"draft": 2.0, "verify": 7.0, "sampling": 0.5, "other": 0.5}
    figure = trace_figures(trace)["time_split"]
    assert figure["value"] == "draft 20% · verify 70% · sampling 5% · other 5%"
    assert figure["parts"]["verify"] == 7.0
    assert "recording took another 250 ms, off the clock" in figure["detail"]


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=6))
def test_percents_add_up(parts):
    assert sum(percents({str(k): part for k, part in enumerate(parts)}).values()) == 100


def test_figures_of_a_small_run():
    figures = trace_figures(made_trace([made_round(0, "yn.."), made_round(1, "yyyy")], temperature=1.0))
    assert figures["tokens_per_pass"] == {
        "value": "3.50",
        "kind": "measured",
        "detail": "7 tokens / 2 target passes",
    }
    assert figures["acceptance"]["value"] == "5/6 · 83%"
    assert "5/8 = 62% of all drafted" in figures["acceptance"]["detail"]
    assert figures["alpha"]["value"] == "0.50"
    assert figures["alpha"]["kind"] == "exact"
    assert figures["speedup"]["value"] is None


def test_tokens_per_pass_is_never_written_as_a_factor():
    """Case 57."""
    assert not set("x×") & set(trace_figures(race_trace())["tokens_per_pass"]["value"])


@pytest.mark.parametrize("rounds", [[], [made_round(0, "")]])
def test_no_data_says_so(rounds):
    """Case 53: no 0 %, no NaN."""
    figures = trace_figures(made_trace(rounds))
    assert figures["acceptance"]["value"] is None
    assert figures["acceptance"]["detail"] == "no drafts in this run"
    assert figures["alpha"]["value"] is None
    assert "nan" not in str(figures).lower()


def replay(trace):
    line = Timeline(trace)
    line.push_all()
    return line.rest()


def test_timeline_orders_by_clock_and_takes_plain_as_it_stood():
    rounds = [made_round(i, "y" * 9 + "n", (0.5, 25.0, 0.0, 0.0)) for i in range(2)]
    moments = list(replay(made_trace(rounds, plain_rounds(21, 3.0))))
    order = "p" * 10 + "s" + "p" * 10 + "s" + "p"  # a plain token that ends with the round comes first
    assert "".join(m.lane[0] for m in moments) == order
    assert [m.end for m in moments if m.lane == "speculative"] == [30.0, 60.0]
    first, last = (m.figures for m in moments if m.figures)
    assert "over 10 tokens; speculative" in first["speedup"]["detail"]
    assert first["speedup"]["value"] == "1.00×"
    assert "over 20 tokens; speculative" in last["speedup"]["detail"]
    assert all((m.figures is None) == (m.lane == "plain") for m in moments)


@given(
    st.lists(st.integers(1, 9), max_size=12),
    st.lists(st.integers(1, 9), max_size=12),
    st.integers(0, 2**24 - 1),
)
def test_live_order_is_the_order_of_the_replay(speculative, plain, order):
    """However the lanes are fed, each round comes out once, by the clock, with the same figures."""
    rounds = [made_round(i, "yn", (0.0, float(s), 0.0, 0.0)) for i, s in enumerate(speculative)]
    others = [made_round(i, "", (0.0, float(s), 0.0, 0.0)) for i, s in enumerate(plain)]
    trace = made_trace(rounds, others)
    replayed = [(m.lane, m.record.index, m.end, m.figures) for m in replay(trace)]
    trace.finish = trace.baseline.finish = "running"
    line, live, left = Timeline(trace), [], [list(rounds), list(others)]
    while any(left):
        lane = order % 2 if all(left) else 0 if left[0] else 1
        order >>= 1
        line.push(("speculative", "plain")[lane], left[lane].pop(0))
        if not left[lane]:
            (trace, trace.baseline)[lane].finish = "budget"
        live += line.ready()
    live += line.rest()
    assert [(m.lane, m.record.index, m.end, m.figures) for m in live] == replayed


def test_agreement_of_the_lanes():
    trace = made_trace([made_round(0, "yy")], plain_rounds(3, 1.0))
    trace.baseline.output_ids = [7, 7, 8]
    assert agreement(trace) == "Both lanes wrote the same tokens."
    trace.baseline.output_ids = [7, 8, 8]
    place = trace.baseline.rounds[1].emitted[0]
    for gap, dtype, said in (
        (0.25, "bfloat16", "0.25 apart: a near-tie, which bfloat16 rounds differently in passes of different width"),
        (0.0, "bfloat16", "exactly equal: a near-tie, which bfloat16 rounds differently in passes of different width"),
        (0.25, "float32", "0.25 apart: more than rounding in float32 explains, so this is a fault"),
    ):
        place.gap, trace.baseline.provenance.target.dtype = gap, dtype
        begin = "The lanes differ from token 2 on, where the two best scores of the plain lane are "
        assert agreement(trace) == f"{begin}{said}."
    trace.baseline.output_ids = [7, 7]
    assert agreement(trace) == "Both lanes wrote the same first 2 tokens; one of them went on."


def test_first_difference():
    assert first_difference([1, 2], [1, 2]) is None
    assert first_difference([1, 2], [1, 3]) == 1
    assert first_difference([1], [1, 3]) == 1
    assert first_difference([], []) is None


def test_failure_is_told():
    trace = made_trace([made_round(0, "yn")])
    trace.finish, trace.failure = "failed", "The target gave no number at step 3."
    assert end_sentence(trace).startswith("The run failed, after 2 tokens in 1 target pass. The target gave no number")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0009, "0.90 ms"), (0.01412, "14.1 ms"), (1.0911, "1091 ms"), (70.187, "70.2 s")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_a_token_or_two_give_no_speedup():
    trace = made_trace([made_round(0, "n...")], plain_rounds(64, 0.3))
    figure = trace_figures(trace)["speedup"]
    assert figure["value"] is None
    assert f"fewer than {FEWEST} tokens" in figure["detail"]
    assert "times as fast" not in end_sentence(trace)
