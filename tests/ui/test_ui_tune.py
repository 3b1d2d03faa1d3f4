"""Calibrations on an engine of known hazards and costs: what is said, stop, failure, and what can be ordered."""

import json
import logging
import threading
from dataclasses import replace
from itertools import pairwise

import pytest
from tuned import ROUNDS, KnownEngine

from specviz.analysis.advice import sweep_report
from specviz.trace.errors import SpecvizError
from specviz.trace.methods import METHODS
from specviz.trace.schema import Settings
from specviz.ui import board_writer
from specviz.ui.board_writer import shown_report
from specviz.ui.desk import Desk
from specviz.ui.tune_controls import CHOICES, PRESETS, TuneControls
from specviz.ui.tuning import Tuning, interleaved, tune, tune_charts

GAMMAS = (1, 2, 4, 8)


@pytest.fixture(autouse=True)
def _every_update(monkeypatch):
    monkeypatch.setattr(board_writer, "FRAME", 0.0)


def order(known, kinds=("code", "prose"), gammas=GAMMAS, repeats=1):
    sets = [known.engine().prompt_set(kind)[:2] for kind in kinds]
    return Tuning("near", Settings(method="prompt-lookup"), gammas, interleaved(sets), repeats)


def run(known, stop=None, **more):
    engine = known.engine()
    return tune(engine, Desk(engine.load), order(known, **more), stop or threading.Event())


def lines_of(update, kind):
    return [line for line in map(json.loads, update.text.splitlines()) if line["t"] == kind]


def report_of(update):
    return lines_of(update, "report")[-1]["report"]


def by_gamma(decoded):
    found = {}
    for decode in decoded:
        found.setdefault(decode.trace.settings.gamma, []).append(decode)
    return found


def test_a_calibration_says_what_the_analysis_says_of_its_decodes():
    known = KnownEngine()
    updates = list(run(known))
    texts = [u.text for u in updates if u.text is not None]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    last, measured = updates[-1], known.measurements[0]
    assert last.status == "Finished."
    assert measured.closed
    steps = known.engine().step_times(None, None, range(1, 10), 64, 6)
    groups = by_gamma(measured.decoded)
    expected = sweep_report(groups, groups[4], steps, range(1, 9))
    shown, wanted = report_of(last), shown_report(expected)
    assert shown["sentences"] == expected.sentences
    assert [t["rows"] for t in shown["tables"]] == [t["rows"] for t in wanted["tables"]]
    assert lines_of(last, "charts")[-1]["charts"] == json.loads(json.dumps(tune_charts(expected)))
    exports = lines_of(last, "end")[0]["exports"]
    assert {"report.json", "report.md", "sweep.csv", "kinds.csv", "flags.csv", "policies.csv"} <= exports.keys()


def test_the_curve_is_predicted_for_every_gamma_and_hits_the_measured_points():
    """Costs are exact here, so the error is that of sampled acceptance alone."""
    last = list(run(KnownEngine()))[-1]
    sweep = next(t for t in report_of(last)["tables"] if t["key"] == "sweep")
    keys = [column["key"] for column in sweep["columns"]]
    rows = [dict(zip(keys, row, strict=True)) for row in sweep["rows"]]
    assert [row["gamma"] for row in rows] == [str(gamma) for gamma in range(9)]
    assert [row["measured"] != "none" for row in rows] == [gamma in GAMMAS for gamma in range(9)]
    errors = [abs(float(row["error"].rstrip("%"))) for row in rows if row["error"] != "none"]
    assert max(errors) < 10
    charts = lines_of(last, "charts")[-1]["charts"]
    small = [name for name, chart in charts.items() if chart["layout"].get("meta", {}).get("small")]
    assert small == ["kind code", "kind prose"]
    assert {"sweep", "waterfall", "policies"} <= charts.keys()


@pytest.mark.parametrize(("draft", "begins"), [(0.001, "Use gamma "), (0.05, "Do not speculate here: ")])
def test_the_first_sentence_is_the_recommendation(draft, begins):
    assert report_of(list(run(KnownEngine(draft=draft)))[-1])["sentences"][0].startswith(begins)


def test_single_passes_are_measured_once_as_wide_as_the_longest_draft():
    known = KnownEngine()
    list(run(known, repeats=2))
    ((widths, context),) = known.asked
    assert widths == list(range(1, 10))
    outputs = sorted(len(d.trace.output_ids) for d in known.measurements[0].decoded[: len(GAMMAS)])
    assert 1 + outputs[0] // 2 <= context <= 1 + outputs[-1] // 2
    assert outputs[0] >= ROUNDS


def test_the_prediction_starts_from_gamma_4_or_else_from_the_longest():
    for gammas, start in (((1, 2, 4, 8), 4), ((1, 3, 6), 6)):
        sweep = report_of(list(run(KnownEngine(), gammas=gammas))[-1])["tables"][0]
        assert f"at gamma {start}." in sweep["note"]


def test_stop_analyses_what_is_whole():
    known, stop = KnownEngine(), threading.Event()
    updates = []
    for update in run(known, stop):
        updates.append(update)
        if len(known.measurements) and len(known.measurements[0].decoded) == 2 * len(GAMMAS):
            stop.set()
    last = updates[-1]
    assert last.status == "Stopped; what was whole is kept."
    assert known.measurements[0].closed
    assert len(known.measurements[0].decoded) == 2 * len(GAMMAS)
    assert "2 prompts" in report_of(last)["tables"][0]["note"]
    assert lines_of(last, "end")[0]["exports"]


def test_stop_before_anything_is_whole_leaves_no_figures():
    known, stop = KnownEngine(), threading.Event()
    updates = []
    for update in run(known, stop):
        updates.append(update)
        if update.text:
            stop.set()
    end = lines_of(updates[-1], "end")[0]
    assert "no prompt was decoded to its end" in end["sentence"]
    assert not end["exports"]
    assert not lines_of(updates[-1], "report")


def test_a_refused_measurement_leaves_the_board_and_names_the_control():
    updates = list(run(KnownEngine(refuse=SpecvizError("No heads are loaded.", field="method"))))
    assert all(u.text is None for u in updates)
    assert updates[-1].problems == {"method": "No heads are loaded."}


def test_a_failure_keeps_what_was_whole_and_says_one_sentence(caplog):
    caplog.set_level(logging.CRITICAL)
    updates = list(run(KnownEngine(error=ValueError("secret /home/somebody"))))
    assert "did not foresee" in updates[-1].status
    assert "secret" not in updates[-1].text
    assert report_of(updates[-1])["sentences"]


def test_a_gamma_that_drops_out_is_named_and_the_others_are_analysed():
    last = list(run(KnownEngine(lost={"gamma 8": "Out of memory."})))[-1]
    assert "gamma 8 dropped out: Out of memory." in lines_of(last, "end")[0]["sentence"]
    assert len(report_of(last)["tables"][0]["rows"]) == 5  # 0 to 4


def test_without_a_single_draft_the_board_says_so():
    last = list(run(KnownEngine(dry=True)))[-1]
    assert last.status == "Finished."
    assert report_of(last)["sentences"][0].startswith("Nothing was drafted")
    assert report_of(last)["tables"] == []


def test_closing_the_tab_frees_the_measurement_and_the_turn():
    known = KnownEngine()
    engine = known.engine()
    desk = Desk(engine.load)
    updates = tune(engine, desk, order(known), threading.Event())
    while next(updates).text is None:
        pass
    updates.close()
    assert known.measurements[0].closed
    with desk.take_ticket() as ticket:
        assert ticket.ahead == 0


def test_the_kinds_take_turns():
    known = KnownEngine()
    assert [p.name for p in order(known, kinds=("code", "edit")).prompts] == ["code 0", "edit 0", "code 1", "edit 1"]


@pytest.fixture
def controls():
    import gradio as gr

    engine = KnownEngine().engine()
    with gr.Blocks():
        made = TuneControls(engine, engine.entries())
        made.amount()
        made.pair()
        made.ways()
        made.wire()
    return made


def chosen(controls, **more):
    return {name: control.value for name, control in controls.inputs.items()} | {"method": "prompt-lookup"} | more


def test_what_stands_in_the_controls_at_first_can_be_ordered(controls):
    made, problems = controls.order(chosen(controls))
    assert problems == {}
    quick = PRESETS["Quick"]
    assert (made.pair, made.gammas, made.repeats) == ("near", quick.gammas, quick.repeats)
    assert made.settings.max_new_tokens == quick.tokens
    assert [p.name for p in made.prompts[:5]] == ["code 0", "prose 0", "edit 0", "question 0", "code 1"]
    assert len(made.prompts) == 4 * quick.prompts


def test_a_tree_and_a_draft_length_of_elsewhere_take_no_part(controls):
    made, problems = controls.order(chosen(controls, tree="3 2", draft_length="heuristic", gamma=99, confidence=7))
    assert problems == {}
    assert replace(made.settings, gamma=4, max_new_tokens=64) == Settings(method="prompt-lookup")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gammas", []), ("gammas", [99]), ("gammas", "all"), ("kinds", []), ("kinds", [["code"]]), ("prompts", 0),
        ("prompts", "two"), ("repeats", True), ("repeats", 2.5), ("max_new_tokens", 0), ("temperature", -1),
        ("pair", "far"), ("pair", None), ("method", "telepathy"), ("rule", []), ("ngram_max", 0),
    ],
)  # fmt: skip
def test_bad_values_get_a_sentence_at_their_control(controls, field, value):
    made, problems = controls.order(chosen(controls, **{field: value}))
    assert made is None
    assert set(problems) == {field}
    assert field in controls.problems
    assert problems[field].endswith(".")


def test_a_method_that_the_pair_lacks_is_refused(controls):
    made, problems = controls.order(chosen(controls, method="medusa"))
    assert made is None
    assert "has no Medusa heads" in problems["method"]


def test_controls_that_the_calibration_chooses_never_come_up(controls):
    for method in METHODS:
        shown = controls._choose_method(method, "rejection", "constant", "")
        hidden = {name for name, place in controls._places.items() if shown.get(place, {}).get("visible") is False}
        assert {"gamma", "tree", "draft_length", "confidence"} <= hidden


def test_presets_are_within_what_the_page_allows():
    for preset in PRESETS.values():
        assert set(preset.gammas) <= set(CHOICES)
        assert 4 in preset.gammas
