"""The charts: valid plotly, plain JSON, the right numbers, and a reason where there are none."""

import json

import plotly.graph_objects as go
import pytest
from made import made_round, made_trace, plain_rounds, race_trace

from specviz.charts.run import acceptance, accepted_length, beta_over_run, run_charts, tokens_over_time
from specviz.charts.style import MOST_POINTS

TRACES = {
    "race": race_trace(),
    "one lane": made_trace([made_round(0, "yn")]),
    "no drafts": made_trace([made_round(0, "")], plain_rounds(1, 0.1)),
    "empty": made_trace([]),
}


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES.keys())
def test_charts_are_plotly_and_plain_json(trace):
    for name, chart in run_charts(trace).items():
        text = json.dumps(chart, allow_nan=False)
        assert "bdata" not in text
        assert '"template"' not in text
        go.Figure(data=chart["data"], layout=chart["layout"])  # raises on a field plotly does not know
        assert chart["note"], name
        assert chart["layout"]["xaxis"]["title"]["text"]
        assert chart["layout"]["yaxis"]["title"]["text"]


def test_empty_charts_give_the_reason():
    for name, chart in run_charts(TRACES["empty"]).items():
        assert chart["data"] == [], name
        assert chart["layout"]["annotations"][0]["text"] == chart["note"]


def test_acceptance_numbers():
    bars, marks = acceptance([made_round(0, "yyn"), made_round(1, "n..")])["data"]
    assert bars["y"] == [50.0, 100.0, 0.0]
    assert marks["y"] == [50.0, 50.0, 0.0]
    assert bars["text"][0] == "1 of 2 judged = 50% (95% interval 0% to 100%)"
    assert len(bars["error_y"]["array"]) == 3


def test_a_position_never_judged_has_no_bar():
    bars, _ = acceptance([made_round(0, "n.."), made_round(1, "n..")])["data"]
    assert bars["y"] == [0.0, None, None]
    assert bars["error_y"]["array"][1] is None


def test_accepted_length_numbers():
    chart = accepted_length([made_round(0, "yyn"), made_round(1, "n.."), made_round(2, "")])
    assert chart["data"][0]["y"] == [1, 0, 1, 0]
    assert chart["note"] == "Measured: 2 rounds with drafts; on average 1.00 drafts accepted."


def test_tokens_over_time_is_each_lane_on_its_clock():
    chart = tokens_over_time(made_trace([made_round(0, "yn", (1.0, 2.0, 0.0, 0.0))], plain_rounds(2, 3.0)))
    speculative, plain = chart["data"]
    assert (speculative["x"], speculative["y"]) == ([0.0, 4.0], [0, 2])
    assert (plain["x"], plain["y"]) == ([0.0, 3.0, 6.0], [0, 1, 2])
    assert speculative["line"]["dash"] != plain["line"]["dash"]
    assert chart["layout"]["meta"] == {"cursor": "time"}


def test_costs_of_a_step_stand_below_the_lanes():
    rounds = [made_round(0, "yn", (0.001, 0.012, 0.0, 0.0))]
    note = tokens_over_time(made_trace(rounds, plain_rounds(2, 0.010), gamma=2))["note"]
    assert note.endswith("a draft step c = 0.10, a pass with 2 drafts v = 1.20.")
    assert "c =" not in tokens_over_time(made_trace(rounds, gamma=2))["note"]


def test_beta_over_run_numbers():
    chart = beta_over_run(made_trace([made_round(0, "yn.", chance=0.8), made_round(1, "y", chance=0.5)]))
    by_name = {t["name"]: t["y"] for t in chart["data"]}
    assert by_name["expected"] == [0.0, 1.6, 2.1]
    assert by_name["accepted"] == [0, 1, 2]
    assert chart["layout"]["meta"] == {"cursor": "round"}


def test_long_runs_are_thinned_and_keep_their_ends():
    rounds = [made_round(i, "y") for i in range(3000)]
    chart = tokens_over_time(made_trace(rounds))
    assert len(chart["data"][0]["x"]) <= MOST_POINTS
    assert (chart["data"][0]["y"][0], chart["data"][0]["y"][-1]) == (0, 6000)
    assert len(beta_over_run(made_trace(rounds))["data"][2]["x"]) <= MOST_POINTS + 1
