"""Small multiples of a comparison: the tables' own numbers, on axes that all lanes share."""

import json
from dataclasses import replace

import plotly.graph_objects as go
import pytest
from measured import synthetic

from specviz.analysis.lanes import lane_report
from specviz.charts.lanes import lane_charts, speedups


@pytest.fixture(scope="module")
def report():
    quick = synthetic([0.9, 0.7, 0.5], 3, prompts=4, rounds=12, noise=0.1, lane="1 quick")
    slow = synthetic([0.3], 2, prompts=4, rounds=12, draft=0.02, seed=1, lane="2 slow & a name that is rather long")
    none = synthetic([], 0, prompts=4, rounds=12, lane="3 no draft")
    return lane_report([*quick, *slow, *none])


def test_charts_are_plotly_and_plain_json(report):
    charts = lane_charts(report)
    assert list(charts) == ["speedup", "tokens_per_pass", "acceptance", "acceptance-2"]
    for chart in charts.values():
        assert "bdata" not in json.dumps(chart, allow_nan=False)
        go.Figure(data=chart["data"], layout=chart["layout"])
        assert chart["note"]
        assert chart["layout"]["meta"] == {"small": True}


def test_speedups_stand_at_their_lanes_with_their_intervals(report):
    rows = report.table("lanes").rows
    (marks,) = lane_charts(report)["speedup"]["data"]
    assert marks["x"] == [1, 2, 3]
    assert marks["y"] == [round(row["speedup"], 4) for row in rows]
    top = [y + up for y, up in zip(marks["y"], marks["error_y"]["array"], strict=True)]
    assert top == pytest.approx([row["speedup_high"] for row in rows], abs=2e-4)
    bottom = [y - down for y, down in zip(marks["y"], marks["error_y"]["arrayminus"], strict=True)]
    assert bottom == pytest.approx([row["speedup_low"] for row in rows], abs=2e-4)
    assert marks["y"][1] < 1


def test_a_lane_without_a_figure_keeps_its_place_and_gets_no_mark(report):
    lanes = report.table("lanes")
    rows = [lanes.rows[0], lanes.rows[1] | {"speedup": None}, lanes.rows[2]]
    chart = speedups(replace(lanes, rows=rows))
    assert chart["data"][0]["x"] == [1, 3]
    assert chart["layout"]["xaxis"]["tickvals"] == [1, 2, 3]


def test_hazards_are_percents_of_the_table_on_equal_axes(report):
    charts = lane_charts(report)
    table = report.keyed()["acceptance"]
    (bars,) = charts["acceptance"]["data"]
    assert bars["y"] == [round(100 * row["hazard"], 2) for row in table.rows[:-1]]
    assert bars["text"][0].endswith(f"{table.rows[0]['accepted']} of {table.rows[0]['judged']} judged")
    ranges = {tuple(charts[key]["layout"]["xaxis"]["range"]) for key in ("acceptance", "acceptance-2")}
    assert ranges == {(0.4, 3.6)}


def test_an_interval_without_bounds_does_not_hide_the_values(report):
    lanes = report.table("lanes")
    whole = speedups(lanes)
    assert whole["layout"]["yaxis"]["range"][1] >= max(row["speedup_high"] for row in lanes.rows)
    assert "leaves the chart" not in whole["note"]
    rows = [lanes.rows[0] | {"speedup_high": 5000.0}, *lanes.rows[1:]]
    cut = speedups(replace(lanes, rows=rows))
    assert cut["layout"]["yaxis"]["range"] == [0, pytest.approx(1.08 * 3 * lanes.rows[0]["speedup"])]
    assert "leaves the chart" in cut["note"]
