"""The command line, in process, on a tiny pair."""

import json

import pytest
from records import trace
from tiny import byte_tokenizer, table_model

import specviz
from specviz.cli import main
from specviz.trace.files import dumps, load_trace, save_trace
from specviz.trace.schema import Exit


@pytest.fixture
def tiny_pair(monkeypatch):
    text = byte_tokenizer()
    pair = specviz.Pair(table_model(len(text), 0), table_model(len(text), 0, scale=1.2), text, name="tiny")
    asked = {}

    def load(key=None, **options):
        asked.update(options, key=key)
        return pair

    monkeypatch.setattr("specviz.models.loading.load_pair", load)
    return asked


def test_run_prints_the_stream_and_the_summary_and_writes_the_trace(tiny_pair, tmp_path, capsys):
    path = tmp_path / "out.json.gz"
    arguments = ["run", "--prompt", "ab", "--gamma", "2", "--max-new-tokens", "20", "--temperature", "1", "--seed", "3"]
    assert main([*arguments, "--trace", str(path)]) == 0
    out = capsys.readouterr().out
    saved = load_trace(path)
    assert (saved.settings.gamma, saved.settings.seed, saved.settings.temperature) == (2, 3, 1.0)
    assert len(saved.output_ids) == len(saved.baseline.output_ids) == 20
    for title in ("speedup", "tokens per target pass", "acceptance", "alpha", "time", "measured", "exact"):
        assert title in out
    assert "\x1b" not in out, "no colour codes unless stdout is a terminal"
    rejected = sum(d.verdict == "rejected" for r in saved.rounds for d in r.drafted)
    assert rejected
    assert out.count("[-") == rejected + 1  # and the legend
    assert tiny_pair["key"] == "tiny-code", "the default pair"


def test_replay_shows_what_run_showed(tiny_pair, tmp_path, capsys):
    path = tmp_path / "out.json"
    main(["run", "--prompt", "ab", "--max-new-tokens", "12", "--trace", str(path)])
    first = capsys.readouterr().out.replace(f"trace: {path}\n", "")
    assert main(["replay", str(path), "--csv", str(tmp_path / "tables")]) == 0
    shown, _, tables = capsys.readouterr().out.partition("tables: ")
    assert shown == first
    assert tables.endswith("tokens.csv\n")
    assert (tmp_path / "tables" / "rounds.csv").read_text().startswith("round,start,drafted")
    assert (tmp_path / "tables" / "tokens.csv").read_text().startswith("round,place,id,text")


def test_control_characters_do_not_reach_the_terminal(tmp_path, capsys):
    hostile = trace()
    hostile.pieces[2].text = "\x1b[2Jx\u202e\n"
    main(["replay", str(save_trace(hostile, tmp_path / "t.json"))])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[2Jx\\u202e\n" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "--prompt", "a", "--gamma", "-1"], "Gamma must be a whole number from 0 to 64."),
        (["run", "--prompt", "a", "--trace", "no/such/folder/x.json"], "choose a file in a folder that exists"),
        (["run", "--prompt", "a", "--pair", "x", "--target", "y"], "Give --pair or --target, not both."),
        (["run", "--prompt", "a", "--draft", "y"], "Give --target too"),
        (
            ["run", "--prompt", "a", "--tree", "a b"],
            "The tree must be whole numbers above 0, such as 3 2 1: children per node at each depth.",
        ),
        (["run", "--prompt", "a", "--tree", "3 0"], "The tree must be whole numbers above 0"),
        (["run", "--prompt", "a", "--tree", "9 9"], "This tree has 90 nodes; give one of at most 64."),
        (["replay", "nothing.json"], "Cannot read nothing.json"),
        (["train", "other"], "python -m specviz train tiny-code"),
    ],
)
def test_mistakes_get_one_sentence_and_status_one(tiny_pair, capsys, arguments, sentence):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "ignored"),
    [
        (["--method", "prompt-lookup", "--tree", "2 2"], "--tree"),
        (["--exit-layer", "2", "--typical-delta", "0.5"], "--exit-layer, --typical-delta"),
        (["--gamma", "3", "--tree", "2 2"], "--gamma"),
        (["--method", "prompt-lookup", "--draft-length", "confidence"], "--draft-length"),
        (["--gamma", "0", "--method", "prompt-lookup", "--ngram-max", "5"], "--ngram-max"),
        (["--tree", "2 2"], None),
        (["--gamma", "0"], None),
        (["--draft-length", "confidence", "--confidence", "0.2", "--temperature", "0.5"], None),
        (["--ngram-max", "3"], None),  # as by default
    ],
)
def test_settings_that_take_no_part_are_named_once(tiny_pair, capsys, arguments, ignored):
    assert main(["run", "--prompt", "ab", "--max-new-tokens", "4", "--no-plain", *arguments]) == 0
    note = f"note: This combination of settings does not use {ignored}.\n" if ignored else ""
    assert capsys.readouterr().err == note


def test_the_summary_tells_what_only_this_way_to_draft_has(tiny_pair, tmp_path, capsys):
    main(["run", "--prompt", "abababab", "--max-new-tokens", "8", "--method", "prompt-lookup", "--no-plain"])
    assert "(measured; how often it found something to copy: rounds" in " ".join(capsys.readouterr().out.split())
    shown = trace()
    shown.lens, shown.rounds[0].drafted[0].kept = [Exit(1, 0.25, 0.5, 3)], 0.75
    main(["replay", str(save_trace(shown, tmp_path / "t.json"))])
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "early-exit lens - (measured; how the first layers alone agree with all of them: largest beta: 1 layer" in out
    )
    assert "shared tokens 0.75 (exact; mass of the draft's own distribution on tokens of both vocabularies: mean" in out


def test_an_interrupted_run_keeps_its_trace(tiny_pair, tmp_path, monkeypatch, capsys):
    from specviz.decoding.race import Race

    step, seen = Race.__next__, []

    def interrupted(self):
        seen.append(1)
        if len(seen) == 6:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Race, "__next__", interrupted)
    path = tmp_path / "t.json"
    assert main(["run", "--prompt", "ab", "--max-new-tokens", "100", "--trace", str(path)]) == 130
    saved = load_trace(path)
    assert saved.finish == "stopped"
    assert 0 < len(saved.output_ids) < 100
    assert "Stopped" in capsys.readouterr().out


def test_schema_prints_the_schema(capsys):
    assert main(["schema"]) == 0
    assert "rounds" in json.loads(capsys.readouterr().out)["$defs"]["Trace"]["properties"]


def test_the_readmes_commands_parse():
    import re
    import shlex
    from pathlib import Path

    from specviz.cli import _parser

    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    commands = re.findall(r"^python -m specviz (.+)$", readme, flags=re.M)
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command)
        if words[0] != "train":
            assert _parser().parse_args(words).action


def test_a_trace_can_be_read_without_loss(tmp_path):
    assert dumps(load_trace(save_trace(trace(True), tmp_path / "t.json.gz"))) == dumps(trace(True))
