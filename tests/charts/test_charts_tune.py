"""The charts of tuning: valid plotly, plain JSON, and no number that is not in their table."""

import json

import plotly.graph_objects as go
import pytest
from simulated import clock, decode, stretches

from specviz.analysis.costs import fit_costs
from specviz.analysis.policies import policy_table
from specviz.analysis.prediction import kinds_table, sweep_table
from specviz.analysis.tables import Table
from specviz.analysis.waterfall import waterfall_table
from specviz.charts.tune import policies, speedup_by_gamma, speedup_by_kind, waterfall

KINDS = ("code", "prose")


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    texts = [stretches(40, seed) for seed in range(6)]
    lanes = {g: [decode(t, g, clock(wider=0.001), f"p{i}", KINDS[i % 2]) for i, t in enumerate(texts)] for g in (2, 4)}
    fit = fit_costs(lanes[4])
    return {
        "sweep": sweep_table(lanes, lanes[4], fit, range(1, 7)),
        "kinds": kinds_table(lanes, lanes[4], fit, range(1, 7)),
        "waterfall": waterfall_table(lanes[4]),
        "policies": policy_table(lanes[4], fit.model),
    }


@pytest.fixture(scope="module")
def charts(tables) -> dict[str, tuple[dict, Table]]:
    made = {
        "sweep": speedup_by_gamma(tables["sweep"]),
        "waterfall": waterfall(tables["waterfall"]),
        "policies": policies(tables["policies"]),
        **speedup_by_kind(tables["kinds"]),
    }
    return {name: (chart, tables.get(name, tables["kinds"])) for name, chart in made.items()}


def numbers(value) -> list[float]:
    if isinstance(value, list):
        return [n for inner in value for n in numbers(inner)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_charts_are_plotly_and_plain_json(charts):
    assert set(charts) == {"sweep", "waterfall", "policies", *KINDS}
    for chart, _ in charts.values():
        json.dumps(chart, allow_nan=False)
        go.Figure(data=chart["data"], layout=chart["layout"])
        assert chart["note"]


def test_every_number_drawn_stands_in_the_table(charts):
    for name, (chart, table) in charts.items():
        known = {value for row in table.rows for value in row.values()}
        for trace in chart["data"]:
            drawn = numbers(trace["x"]) + numbers(trace["y"])
            assert drawn or trace["name"] == "measured", name
            assert set(drawn) <= known, (name, trace.get("name"))


def test_the_sweep_shows_measured_points_with_intervals_and_both_curves(charts, tables):
    by_name = {t["name"]: t for t in charts["sweep"][0]["data"]}
    assert by_name["measured"]["x"] == [2, 4]
    assert by_name["predicted"]["x"] == [0, 1, 2, 3, 4, 5, 6]
    assert by_name["Leviathan"]["line"]["dash"] == "dash"
    low, high, gap = by_name[""]["y"][:3]
    row = next(r for r in tables["sweep"].rows if r["gamma"] == 2)
    assert (low, high, gap) == (row["low"], row["high"], None)
    (plain,) = charts["sweep"][0]["layout"]["shapes"]
    assert (plain["y0"], plain["y1"]) == (1, 1)


def test_notes_say_what_intervals_are_over(charts):
    assert "over prompts" in charts["sweep"][0]["note"]
    one = [decode(stretches(40, 1), 4)]
    table = sweep_table({4: one}, one, fit_costs(one))
    note = speedup_by_gamma(table)["note"]
    assert "over the rounds of the only prompt" in note
    assert "over prompts" not in note


def test_kinds_share_one_scale(charts):
    ranges = [charts[kind][0]["layout"]["yaxis"]["range"] for kind in KINDS]
    assert ranges[0] == ranges[1]
    assert charts["prose"][0]["layout"]["title"]["text"] == "prose"


def test_the_waterfall_goes_from_ideal_to_measured(charts):
    (bars,) = charts["waterfall"][0]["data"]
    assert bars["measure"] == ["absolute", *["relative"] * 4, "total"]
    assert sum(bars["y"][:-1]) == pytest.approx(bars["y"][-1])
    assert all(text.endswith("×") for text in bars["text"])


def test_policies_say_what_was_not_recorded(charts):
    (bars,) = charts["policies"][0]["data"]
    assert bars["y"][0] == "plain decoding"
    assert "verdicts not recorded: none" in bars["hovertext"][0]


def test_empty_tables_give_the_reason(tables):
    for draw, key in ((speedup_by_gamma, "sweep"), (waterfall, "waterfall"), (policies, "policies")):
        chart = draw(Table(key, "", tables[key].columns, []))
        assert chart["data"] == []
        assert chart["note"] == "Nothing measured yet."
    assert speedup_by_kind(Table("kinds", "", tables["kinds"].columns, [])) == {}
