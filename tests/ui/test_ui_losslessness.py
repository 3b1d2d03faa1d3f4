"""Checks on the engine's own rules and a pair that is a table: what is shown grows, stops, fails in sentences."""

import json
import threading
from dataclasses import replace
from itertools import pairwise

import pytest
from fakes import FakeEngine
from tiny import table_model, tokenizer

import specviz
from specviz import Settings, SpecvizError
from specviz.analysis.lossless import lossless_report
from specviz.charts.lossless import lossless_charts
from specviz.decoding import lossless
from specviz.decoding.lossless import sample_place
from specviz.trace.checked import FAULTS
from specviz.trace.measured import PromptText
from specviz.ui import board_writer
from specviz.ui.board_writer import shown_report
from specviz.ui.check_controls import CheckControls
from specviz.ui.checking import Draws, Texts, check
from specviz.ui.desk import Desk

SETTINGS = Settings(gamma=2, temperature=1.5, top_k=3)
ORDER = Draws("near", "w1 w3", ("rejection", "no-residual"), 1000, SETTINGS, 2)


@pytest.fixture(autouse=True)
def _every_update(monkeypatch):
    monkeypatch.setattr(board_writer, "FRAME", 0.0)
    monkeypatch.setattr(lossless, "SILENCE", 60.0)  # tallies only, however slow the machine is


@pytest.fixture(scope="module")
def pair():
    return specviz.Pair(table_model(5, 1, scale=0.9), table_model(5, 2), tokenizer(5))


@pytest.fixture
def engine(pair):
    return replace(FakeEngine().engine(), load=lambda key: pair)


def run(engine, order=ORDER, stop=None):
    return check(engine, Desk(engine.load), order, stop or threading.Event())


def lines_of(update, kind):
    return [line for line in map(json.loads, update.text.splitlines()) if line["t"] == kind]


def test_draws_grow_into_the_report_of_the_analysis(engine, pair):
    updates = list(run(engine))
    texts = [u.text for u in updates if u.text is not None]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    last = updates[-1]
    assert last.status == "Finished."
    sampling = sample_place(pair, "w1 w3", ORDER.rules, 1000, SETTINGS, every=250)
    expected = lossless_report(sampling.place, [tally for tally in sampling if tally])
    shown = lines_of(last, "report")[-1]["report"]
    assert shown["sentences"] == expected.sentences
    assert [t["rows"] for t in shown["tables"]] == [t["rows"] for t in shown_report(expected)["tables"]]
    assert lines_of(last, "charts")[-1]["charts"] == json.loads(json.dumps(lossless_charts(expected)))
    progress = lines_of(last, "progress")
    assert [p["done"] for p in progress] == sorted(p["done"] for p in progress)
    assert progress[-1]["of"] == 2000
    assert {"report.json", "rules.csv", "lossless-2.csv", "growth.csv"} <= lines_of(last, "end")[0]["exports"].keys()


def test_texts_are_compared_by_the_pairs_own_method(engine):
    prompts = [PromptText("<b>one</b>", "code", "w1 w2"), PromptText("two", "prose", "w4")]
    last = list(run(engine, Texts("near", prompts, Settings(gamma=2, max_new_tokens=6))))[-1]
    tables = lines_of(last, "report")[-1]["report"]["tables"]
    assert [t["key"] for t in tables] == ["equality"]
    assert [row[0] for row in tables[0]["rows"]] == ["<b>one</b>", "two"]
    assert [row[2] for row in tables[0]["rows"]] == ["the same tokens"] * 2
    assert lines_of(last, "charts")[-1]["charts"] == {}


def test_stop_keeps_what_was_counted(engine):
    stop = threading.Event()
    updates = run(engine, replace(ORDER, draws=100_000), stop)
    for update in updates:
        if update.text and lines_of(update, "progress"):
            stop.set()
    assert update.status.startswith("Stopped")
    rules = lines_of(update, "report")[-1]["report"]["tables"][0]
    assert rules["rows"][0][2] == "2 500"


def test_a_refusal_is_a_sentence_at_its_control(engine):
    last = list(run(engine, replace(ORDER, settings=replace(SETTINGS, top_k=0))))[-1]
    assert last.problems.keys() == {"top_k"}
    assert last.status.startswith("Top-k must be")
    assert last.text is None


def test_a_failure_on_the_way_ends_the_board(engine, monkeypatch):
    def broken(*arguments):
        yield None
        raise SpecvizError("The device is out of memory.")

    failing = replace(engine, compare_greedy=broken)
    last = list(run(failing, Texts("near", [PromptText("one", "code", "w1")], Settings())))[-1]
    assert last.status == "Failed: The device is out of memory."
    assert lines_of(last, "end")[0]["exports"] == {}


@pytest.fixture(scope="module")
def controls():
    import gradio as gr

    with gr.Blocks():
        made = CheckControls(FakeEngine().engine())
        made.both()
        made.draws()
        made.texts()
    return made


def values(controls, **changes):
    named = {c: getattr(c, "value", None) for c in (*controls.inputs.values(), *controls.prompts.inputs)}
    return named | {controls.inputs[name]: value for name, value in changes.items()}


def test_the_first_order_is_what_the_controls_show(controls):
    order, problems = controls.draws_order(values(controls))
    assert problems == {}
    assert (order.pair, order.rules, order.draws, order.tokens) == ("near", ("rejection", *FAULTS), 10_000, 2)
    assert (order.settings.gamma, order.settings.temperature, order.settings.top_k) == (2, 1.0, 8)
    texts, problems = controls.texts_order(values(controls))
    assert problems == {}
    assert len(texts.prompts) == 4


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"draws": 10}, "draws"),
        ({"draws": "many"}, "draws"),
        ({"tokens": 3}, "tokens"),
        ({"temperature": -1}, "temperature"),
        ({"rule": "<b>"}, "rule"),
        ({"pair": "far"}, "pair"),
        ({"prompt": None}, "prompt"),
        ({"gamma": 99}, "gamma"),
    ],
)
def test_bad_values_are_named(controls, changes, field):
    order, problems = controls.draws_order(values(controls, **changes))
    assert order is None
    assert field in problems
    order, _ = controls.draws_order(values(controls, faults=["nonsense", "soft-q"]))
    assert order.rules == ("rejection", "soft-q")
