"""Comparisons with a fake engine: order, stop, failure, several pairs at once, recorded lanes, names of lanes."""

import json
import logging
import threading
from dataclasses import replace
from itertools import pairwise
from zipfile import ZipFile

import pytest
from fakes import FakeEngine, FakeMeasurement
from made import race_trace
from measured import synthetic

from specviz.trace.decodes import load_decodes
from specviz.trace.errors import SpecvizError
from specviz.trace.files import save_trace
from specviz.trace.measured import PromptText
from specviz.trace.schema import Settings
from specviz.ui import board_writer as board_module
from specviz.ui import comparison
from specviz.ui.comparison import Comparison, LiveLane, RecordedLane, compare
from specviz.ui.desk import Desk
from specviz.ui.lane_controls import LaneControls
from specviz.ui.lane_names import Choice, named_lanes
from specviz.ui.pair_check import PairCheck
from specviz.ui.trace_files import TraceFiles

PROMPTS = [PromptText("one", "code", "def f():"), PromptText("two", "code", "class A:")]


def live(number=1, **more):
    return LiveLane(f"{number} lane", "near", Settings(method="prompt-lookup"), **more)


def run(fake, *lanes, stop=None, desk=None, repeats=1, prompts=PROMPTS):
    engine = fake.engine()
    order = Comparison(list(lanes), prompts, repeats)
    return compare(engine, desk or Desk(engine.load), order, stop or threading.Event())


def lines_of(update, kind):
    return [line for line in map(json.loads, update.text.splitlines()) if line["t"] == kind]


def recorded(label, title="Run", prompt=" t5"):
    trace = race_trace(6)
    trace.title, trace.prompt.text = title, prompt
    return RecordedLane(label, trace)


def test_a_comparison_grows_and_ends_with_tables_files_and_decodes(monkeypatch):
    monkeypatch.setattr(board_module, "FRAME", 0.0)
    updates = list(run(FakeEngine(rounds=6), live(1), live(2), repeats=2))
    texts = [u.text for u in updates if u.text is not None]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    last = updates[-1]
    assert last.status == "Finished."
    assert [(d.lane, d.prompt, d.repeat) for d in last.decoded] == [
        (lane, prompt, repeat) for lane in ("1 lane", "2 lane") for repeat in (0, 1) for prompt in ("one", "two")
    ]
    table = lines_of(last, "report")[-1]["report"]["tables"][0]
    assert [row[0] for row in table["rows"]] == ["1 lane", "2 lane"]
    assert "report.json" in lines_of(last, "end")[0]["exports"]
    assert max(line["done"] for line in lines_of(last, "progress")) <= 12


def test_every_token_of_the_first_repeat_is_shown_once_in_its_row(monkeypatch):
    monkeypatch.setattr(board_module, "FRAME", 0.0)
    fake = FakeEngine(rounds=6)
    last = list(run(fake, live(1), live(2), repeats=2))[-1]
    streams = {line["key"]: line["lanes"] for line in lines_of(last, "stream")}
    assert streams == {name: ["1 lane", "2 lane", "plain target"] for name in ("one", "two")}
    counts = {}
    for line in lines_of(last, "tokens"):
        for row, tokens in line["lanes"].items():
            counts[line["key"], row] = counts.get((line["key"], row), 0) + len(tokens)
    written = sum(len(r.emitted) for r in last.decoded[0].trace.rounds)
    assert counts == {(name, row): 12 if row == "2" else written for name in ("one", "two") for row in "012"}


def test_stop_keeps_what_is_whole(monkeypatch):
    monkeypatch.setattr(board_module, "FRAME", 0.0)
    stop, updates = threading.Event(), []
    fake = FakeEngine(rounds=4)
    for update in run(fake, live(1), stop=stop):
        updates.append(update)
        if fake.measurements and fake.measurements[0].decoded:
            stop.set()
    assert [d.prompt for d in updates[-1].decoded] == ["one"]
    assert updates[-1].status == "Stopped; what was whole is kept."
    assert fake.measurements[0].closed


def test_a_failure_halfway_keeps_what_is_whole_and_says_one_sentence(caplog):
    caplog.set_level(logging.CRITICAL)
    for error, sentence in ((SpecvizError("No memory is left."), "Failed: No memory is left."),
                            (ValueError("secret"), "Failed: The run failed for a reason")):  # fmt: skip
        fake = FakeEngine(rounds=4, error=error)
        last = list(run(fake, live(1)))[-1]
        assert last.status.startswith(sentence)
        assert last.decoded == []
        assert fake.measurements[0].closed


def test_a_lane_that_cannot_run_says_why_in_its_place_and_nothing_is_run():
    fake = FakeEngine(refuse=SpecvizError("2 lane: There are no heads; choose another pair."))
    last = list(run(fake, live(1), live(2)))[-1]
    assert last.problems == {"2 lane": "There are no heads; choose another pair."}
    assert last.text is None
    fake = FakeEngine(refuse=SpecvizError("The prompt is empty."))
    assert list(run(fake, live(1)))[-1].status == "The prompt is empty."


def test_the_pairs_of_a_run_are_in_memory_together_and_others_are_let_go():
    fake = FakeEngine(rounds=1)
    engine = fake.engine()
    desk = Desk(engine.load)
    with desk.take_ticket() as ticket:
        ticket.pair("other")
    list(run(fake, live(1), live(2, dtype="float32"), live(3), desk=desk))
    assert fake.loads == ["other", "near", "near float32"]
    with desk.take_ticket() as ticket:
        assert ticket.pair("near").dtype is None
        ticket.pair("other")
    assert fake.loads == ["other", "near", "near float32", "other"]


def test_a_pair_that_does_not_fit_is_one_sentence_in_its_lane(caplog):
    caplog.set_level(logging.CRITICAL)

    def load(key, dtype=None):
        if dtype:
            raise MemoryError("no room for the weights at /secret")
        return object()

    fake = FakeEngine()
    last = list(run(fake, live(1), live(2, dtype="float32"), desk=Desk(load)))[-1]
    assert last.problems == {
        "2 lane": "The pair could not be loaded: there is not enough memory for it. Choose another pair."
    }
    assert not fake.measurements


@pytest.mark.parametrize("prompts", [[], PROMPTS, [PromptText("chosen", "code", " t5")]])
def test_recorded_lanes_need_no_model_and_share_a_row_of_streams_if_they_share_a_prompt(prompts):
    fake = FakeEngine()
    last = list(run(fake, recorded("1 a"), recorded("2 b"), prompts=prompts))[-1]
    assert fake.loads == []
    assert [line["lanes"] for line in lines_of(last, "stream")] == [["1 a", "2 b", "plain"]]
    assert [set(line["lanes"]) for line in lines_of(last, "tokens")] == [{"0", "1", "2"}]
    rows = lines_of(last, "report")[-1]["report"]["tables"][0]["rows"]
    assert [row[0] for row in rows] == ["1 a", "2 b"]


def test_a_recorded_lane_of_the_same_prompt_stands_beside_the_live_one(monkeypatch):
    monkeypatch.setattr(board_module, "FRAME", 0.0)
    lanes = (live(1), recorded("2 old", prompt="class A:"), recorded("3 far", title="Far", prompt="else"))
    last = list(run(FakeEngine(rounds=2), *lanes))[-1]
    streams = {line["key"]: line["lanes"] for line in lines_of(last, "stream")}
    assert streams["two"] == ["1 lane", "2 old", "plain target"]
    assert streams["one"] == ["1 lane", "plain target"]
    assert [d.prompt for d in last.decoded] == ["one", "two", "two", "Far"]


def test_a_recorded_lane_whose_prompt_the_run_does_not_reach_is_shown_at_the_end(monkeypatch):
    monkeypatch.setattr(board_module, "FRAME", 0.0)
    stop = threading.Event()
    for update in run(FakeEngine(rounds=2), live(1), recorded("2 old", prompt="class A:"), stop=stop):
        last = update
        if update.status == "Decoding.":
            stop.set()
    assert [line["title"] for line in lines_of(last, "stream") if "2 old" in line["lanes"]] == ["recorded: two"]


@pytest.mark.parametrize("lanes", [(recorded("1 a"), recorded("2 b")), (live(1), live(2))])
def test_a_report_that_cannot_be_made_leaves_the_decodes_and_closes_the_board(monkeypatch, caplog, lanes):
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(comparison, "lane_report", lambda *_, **__: 1 / 0)
    last = list(run(FakeEngine(rounds=2), *lanes))[-1]
    (end,) = lines_of(last, "end")
    assert "No report could be made of it: The run failed for a reason" in end["sentence"]
    assert end["exports"] == {}
    assert last.status.startswith("Finished. No report could be made of it: ")
    assert {decode.lane for decode in last.decoded} == {lane.label for lane in lanes}


def test_the_report_says_which_lane_dropped_out_and_why():
    fake, engine = FakeEngine(rounds=2), FakeEngine().engine()

    def measure(lanes, prompts, repeats):
        measurement = FakeMeasurement(lanes, prompts, repeats, fake)
        measurement.failed = {"2 gone": "No memory is left."}
        return measurement

    order = Comparison([live(1), live(2)], PROMPTS)
    last = list(compare(replace(engine, measure=measure), Desk(engine.load), order, threading.Event()))[-1]
    assert "2 gone dropped out: No memory is left." in lines_of(last, "report")[-1]["report"]["sentences"]


def test_what_comes_while_the_measurement_warms_up_is_no_round(monkeypatch):
    monkeypatch.setattr(board_module, "FRAME", 0.0)
    fake, stop = FakeEngine(rounds=2), threading.Event()
    engine = fake.engine()

    class Warming(FakeMeasurement):
        def _measure(self, *of):
            yield from (None, None)
            yield from super()._measure(*of)

    def measure(lanes, prompts, repeats):
        return Warming(lanes, prompts, repeats, fake)

    order = Comparison([live(1)], PROMPTS)
    updates = list(compare(replace(engine, measure=measure), Desk(engine.load), order, stop))
    assert [u.status for u in updates].count("Warming up and decoding.") == 3
    assert updates[-1].status == "Finished."
    assert len(updates[-1].decoded) == 2


def test_lanes_are_called_what_they_are_and_by_what_sets_them_apart():
    twice = [Choice("near", Settings(method="prompt-lookup", gamma=2))] * 2
    assert [lane.label for lane in named_lanes(twice)] == ["1 Prompt lookup, γ 2", "2 Prompt lookup, γ 2"]
    mixed = named_lanes([
        Choice("near", Settings(tree=(3, 2)), dtype="float32"),
        Choice("far", Settings(rule="block", draft_length="heuristic")),
        Choice(trace=recorded("", "Old").trace),
    ])  # fmt: skip
    assert [lane.label for lane in mixed] == [
        "1 Draft model, tree 3 2, near, Rejection sampling, float32",
        "2 Draft model, γ 4, heuristic length, far, Block verification, default precision",
        "3 recorded: Old",
    ]
    assert isinstance(mixed[2], RecordedLane)


def lane(tmp_path):
    import gradio as gr

    trace = race_trace(3)
    save_trace(trace, tmp_path / "a.json.gz")
    trace.baseline = None
    save_trace(trace, tmp_path / "lone.json.gz")
    runs = {"a.json.gz": "A", "lone.json.gz": "Lone"}
    with gr.Blocks():
        controls = LaneControls(1, Settings(method="prompt-lookup"), FakeEngine().engine(), tmp_path, runs)
        controls.lay_out(shown=True)
    return controls


def test_what_a_lane_reads_from_its_controls(tmp_path):
    controls = lane(tmp_path)

    def choice(**values):
        named = {name: control.value for name, control in controls.inputs.items()} | values
        return controls.choice({controls.inputs[name]: value for name, value in named.items()}, {"temperature": 0.5})

    live_choice, problem = choice(gamma=7, dtype="bfloat16")
    assert problem is None
    assert (live_choice.pair, live_choice.dtype) == ("near", "bfloat16")
    assert live_choice.settings == Settings(method="prompt-lookup", gamma=7, temperature=0.5)
    assert choice(dtype={"x": 1})[0].dtype is None
    for values, part in (
        ({"pair": "far"}, "cannot be loaded here"),
        ({"pair": ["near"]}, "cannot be loaded here"),
        ({"gamma": 99}, "Gamma must be"),
        ({"method": "medusa"}, "heads"),
        ({"source": "recorded", "recorded": "../a"}, "Choose a recorded run."),
        ({"source": "recorded", "recorded": "lone.json.gz"}, "no plain lane"),
        ({"source": "file", "file": None}, "Choose a trace file"),
        ({"source": "file", "file": str(tmp_path / "none.json")}, "Cannot read"),
    ):
        nothing, sentence = choice(**values)
        assert nothing is None, values
        assert part in sentence, sentence
    assert choice(source="recorded", recorded="a.json.gz")[0].trace == race_trace(3)


def test_the_doctor_says_a_line_for_every_finding_and_one_for_a_failure(caplog):
    import gradio as gr

    def examined(fake, *chosen):
        with gr.Blocks():
            return list(PairCheck(fake.engine(), "x")._examine(*chosen))[-1]

    text = examined(FakeEngine(), "near", "float32")
    assert text.startswith("<p>Fits, with notes.</p><ul><li>")
    assert "near takes &lt;much&gt; in float32. Watch the memory.</li>" in text
    assert "in None" in examined(FakeEngine(), "near", {"x": 1})
    for key in ("far", ["near"], None):
        assert "No pair is chosen" in examined(FakeEngine(), key)
    assert examined(FakeEngine(refuse=SpecvizError("Too <bad>.")), "near") == "<p>Too &lt;bad&gt;.</p>"
    caplog.set_level(logging.CRITICAL)
    assert "did not foresee" in examined(FakeEngine(refuse=ValueError("secret")), "near")


def test_the_files_of_a_visitor_can_be_read_back_and_are_forgotten(tmp_path):
    files, decodes = TraceFiles(), synthetic([0.8], 2, prompts=2, rounds=3, lane="1 <lane>/../x")
    path = files.save("visitor", decodes)
    with ZipFile(path) as packed:
        packed.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    assert load_decodes([folder])[0] == decodes
    files.forget("visitor")
    files.forget("nobody")
    with pytest.raises(FileNotFoundError):
        ZipFile(path)
