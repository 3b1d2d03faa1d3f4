"""The command line, in process, on a tiny pair."""

import json

import pytest
from records import trace
from tiny import byte_tokenizer, table_model

import specviz
from specviz.cli import main
from specviz.trace.files import dumps, load_trace, save_trace


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
        (["replay", "nothing.json"], "Cannot read nothing.json"),
        (["train", "other"], "python -m specviz train tiny-code"),
    ],
)
def test_mistakes_get_one_sentence_and_status_one(tiny_pair, capsys, arguments, sentence):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error


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
