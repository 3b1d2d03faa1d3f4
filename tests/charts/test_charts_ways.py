"""Charts of the other ways to draft: the exit lens, trees by depth, the words for each rule."""

import plotly.graph_objects as go
import pytest
from made import made_round, made_trace

from specviz.analysis.ways import used_exit
from specviz.charts.lens import exit_lens
from specviz.charts.run import acceptance, beta_over_run, run_charts
from specviz.trace.schema import Exit

LENS = [Exit(1, 0.25, 0.5, 40), Exit(2, 0.625, 0.75, 40), Exit(3, 0.9, 1.0, 40)]


def lens_trace(**settings):
    trace = made_trace([made_round(0, "yn")], method="early-exit", **settings)
    trace.provenance.target.layers = 4
    trace.lens = LENS
    return trace


def test_the_lens_shows_both_measures_and_marks_the_exit():
    chart = exit_lens(lens_trace(exit_layer=2))
    beta, agree, used = chart["data"]
    assert (beta["x"], beta["y"]) == ([1, 2, 3], [0.25, 0.625, 0.9])
    assert agree["y"] == [0.5, 0.75, 1.0]
    assert (used["x"], used["name"]) == ([2, 2], "used: 2")
    assert "The output does not depend on the layer" in chart["note"]
    assert chart["note"].endswith("This run drafted with 2 of 4 layers: β 0.62, same arg max 75%.")
    go.Figure(data=chart["data"], layout=chart["layout"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "text, p and q at temperature 1 without filters, as the run is greedy. The"),
        ({"temperature": 0.7}, "text, p and q processed as in the run. The"),
        (
            {"temperature": 0.7, "presence_penalty": -0.5},
            "text, p and q processed as in the run, penalties left out. The",
        ),
        ({"repetition_penalty": 1.1}, "as the run is greedy, penalties left out. The"),
        ({"frequency_penalty": 0.1}, "as the run is greedy, penalties left out. The"),
    ],
)
def test_the_lens_says_under_what_it_was_read(settings, said):
    assert said in exit_lens(lens_trace(**settings))["note"]


def test_no_exit_given_means_a_quarter():
    assert used_exit(lens_trace()) == 1
    assert used_exit(made_trace([])) is None
    assert len(exit_lens(lens_trace(exit_layer=9))["data"]) == 2, "a trace may come from anywhere"


def test_without_a_lens_there_is_no_chart():
    trace = lens_trace()
    assert list(run_charts(trace))[-1] == "exit_lens"
    trace.lens = None
    assert "exit_lens" not in run_charts(trace)


def test_trees_are_counted_by_depth():
    chart = acceptance([made_round(0, "yn")], trees=True)
    assert chart["layout"]["title"]["text"] == "Acceptance by depth"
    assert chart["layout"]["xaxis"]["title"]["text"] == "depth in the tree"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("rejection", "the sum of min(1, p/q) over the judged tokens"),
        ("match", "the sum of p(x) over the judged tokens"),
        ("block", "the mean accepted length of block verification"),
        ("typical", "Under this rule each chance is 0 or 1"),
    ],
)
def test_expected_acceptance_is_named_by_its_rule(rule, words):
    assert words in beta_over_run(made_trace([made_round(0, "yn")], rule=rule, temperature=1.0))["note"]
