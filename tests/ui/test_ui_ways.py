"""Methods and rules on the page: which controls they use, what is read, what the player is told."""

import json

import pytest
from made import made_round, made_trace

from specviz.models.catalog import CatalogEntry
from specviz.trace.methods import METHODS, OPTIONAL
from specviz.trace.schema import Copied, Exit, Settings
from specviz.trace.settings import tree_widths
from specviz.ui.checks import read_settings
from specviz.ui.controls import Controls
from specviz.ui.ways import Ways, rule_choices, rule_note
from specviz.ui.writer import replay_lines

GOOD = {"prompt": "x", "gamma": 4, "max_new_tokens": 32}
PAIR = CatalogEntry("lone", "Lone pair", "no draft", "a")


def problems(**values):
    return read_settings({**GOOD, **values})[1]


@pytest.mark.parametrize(
    ("method", "rule", "length", "tree", "used"),
    [
        ("draft-model", "rejection", "constant", "", {"gamma", "draft_length", "tree"}),
        ("draft-model", "rejection", "confidence", "", {"gamma", "draft_length", "confidence", "tree"}),
        ("draft-model", "rejection", "confidence", "3 2", {"tree"}),
        ("draft-model", "block", "constant", "3 2", {"gamma", "draft_length"}),
        ("early-exit", "typical", "constant", "", {"gamma", "draft_length", "exit_layer", "typical_epsilon",
                                                   "typical_delta"}),
        ("prompt-lookup", "match", "constant", "2", {"gamma", "draft_length", "ngram_max", "ngram_min", "ngram_tie"}),
    ],
)  # fmt: skip
def test_controls_of_a_combination(method, rule, length, tree, used):
    assert Ways([PAIR]).used(method, rule, length, tree) == used
    assert used <= OPTIONAL


def test_values_that_are_not_used_do_not_fail_a_run():
    bad = {"gamma": 99, "ngram_max": -1, "exit_layer": 0.5, "typical_epsilon": None, "confidence": "much"}
    settings, found = read_settings({**GOOD, **bad, "method": "medusa", "rule": "match", "tree": "2 1"})
    assert found == {}
    assert settings == Settings(method="medusa", rule="match", tree=(2, 1), max_new_tokens=32)


@pytest.mark.parametrize(
    ("field", "value", "more"),
    [
        ("method", "magic", {}), ("method", None, {}), ("rule", ["match"], {}),
        ("tree", "3 x", {}), ("tree", "0 2", {}), ("tree", "9 9", {}), ("tree", "2 -1", {}),
        ("tree", [3, 2], {}), ("tree", 3, {}), ("tree", "9" * 5000, {}),
        ("draft_length", "sometimes", {}), ("confidence", 1.5, {"draft_length": "confidence"}),
        ("ngram_max", 0, {"method": "prompt-lookup"}), ("ngram_tie", "middle", {"method": "composite"}),
        ("exit_layer", 0, {"method": "early-exit"}), ("exit_layer", 1.5, {"method": "early-exit"}),
        ("exit_layer", "some", {"method": "early-exit"}), ("exit_layer", "3 4", {"method": "early-exit"}),
        ("typical_epsilon", -1, {"rule": "typical"}), ("typical_delta", None, {"rule": "typical"}),
    ],
)  # fmt: skip
def test_each_bad_value_gets_one_sentence_at_its_field(field, value, more):
    found = problems(**{field: value}, **more)
    assert list(found) == [field]
    assert found[field].endswith(".")


def test_trees_are_read_with_blanks_or_commas():
    assert tree_widths("3, 2 1") == (3, 2, 1)
    assert tree_widths("") == tree_widths(None) == ()
    assert tree_widths("2.5") is tree_widths("²") is tree_widths((3, 2)) is None


def test_an_empty_exit_layer_is_a_quarter():
    for nothing in (None, "", "  "):
        assert read_settings({**GOOD, "method": "early-exit", "exit_layer": nothing}) == (
            Settings(method="early-exit", max_new_tokens=32),
            {},
        )
    assert read_settings({**GOOD, "method": "early-exit", "exit_layer": " 3 "})[0].exit_layer == 3


def test_methods_that_a_pair_cannot_use_are_told_with_the_reason():
    ways = Ways([PAIR])
    assert ways.open_methods("lone") == ["prompt-lookup", "early-exit"]
    assert set(ways.closed_methods("lone")) == {
        METHODS[m].title for m in ("draft-model", "composite", "medusa", "cross-tokenizer")
    }
    assert ways.open_methods("unknown") == ways.open_methods(["x"]) == list(METHODS)


def test_a_rule_that_is_not_exact_is_marked_before_and_after_it_is_chosen():
    marked = [key for label, key in rule_choices() if "changes the output" in label]
    assert marked == ["typical"]
    assert "<mark>changes the output</mark>" in rule_note("typical")
    assert "<mark>" not in rule_note("block")


def test_the_controls_survive_any_value_from_a_browser():
    import gradio as gr

    with gr.Blocks():
        controls = Controls([PAIR])
        controls.prompt()
        controls.pair()
        controls.ways()
        controls.settings()
        controls.more()
        controls.wire()
    updates = controls._choose_pair({"a": 1}, None, ["x"], 7, {"b": 2})
    assert updates[controls.inputs["method"]]["value"] == "draft-model"
    assert controls.inputs["method"].value == "prompt-lookup"


def lines_of(trace):
    return [json.loads(line) for line in replay_lines(trace, "recorded").splitlines()]


def test_the_run_line_names_methods_and_rules_and_what_was_not_used():
    head = lines_of(made_trace([made_round(0, "yn")], method="prompt-lookup"))[0]
    assert head["methods"]["prompt-lookup"]["title"] == "Prompt lookup"
    assert [key for key, rule in head["rules"].items() if not rule["exact"]] == ["typical"]
    assert "tree" in head["unused"]
    assert "ngram_max" not in head["unused"]


def test_rounds_carry_the_rules_and_the_end_carries_what_is_known_then():
    record = made_round(0, "yn")
    record.copied = Copied(2, 1)
    trace = made_trace([record, made_round(1, "")])
    trace.lens, trace.draft_cut = [Exit(1, 0.5, 0.25, 8)], [" t7", " t8"]
    lines = lines_of(trace)
    rounds = [line for line in lines if line["t"] == "round"]
    assert [row["rule"] for row in rounds[0]["rules"]] == ["rejection", "greedy-draft", "match", "block", "typical"]
    assert rounds[0]["round"]["copied"] == {"start": 2, "matched": 1}
    assert "rules" not in rounds[1]
    tail = lines[-1]["lanes"]["speculative"]
    assert tail["lens"] == [{"layers": 1, "beta": 0.5, "agree": 0.25, "positions": 8}]
    assert tail["draft_cut"] == [" t7", " t8"]
    assert "lens" not in lines[0]["trace"]
