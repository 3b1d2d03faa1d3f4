"""python -m specviz bench, in process, on a tiny pair."""

import json

import pytest

from specviz.analysis.lanes import lane_report
from specviz.analysis.tables import report_json
from specviz.cli import main
from specviz.trace.decodes import load_decodes
from specviz.trace.files import load_trace

QUICK = ["--prompt", "abab", "--prompt", "xyxy", "--repeats", "2", "--max-new-tokens", "10"]


def report_of(capsys):
    return json.loads(capsys.readouterr().out)


def test_a_lane_for_every_combination(tiny_pair, tmp_path, capsys):
    arguments = ["--gamma", "0", "2", "4", "--method", "draft-model", "prompt-lookup", "--temperature", "1", "--json"]
    assert main(["bench", *QUICK, *arguments, "--traces", str(tmp_path / "t")]) == 0
    lanes = [row["lane"] for row in report_of(capsys)["tables"][0]["rows"]]
    drafted = [f"{method}, gamma {gamma}" for method in ("draft-model", "prompt-lookup") for gamma in (2, 4)]
    assert sorted(lanes) == sorted(["no draft", *drafted])
    decodes, references = load_decodes([tmp_path / "t"])
    assert len(decodes) == 5 * 2 * 2
    assert not references
    assert {d.trace.prompt.text for d in decodes} == {"abab", "xyxy"}
    for d in decodes:
        assert len(d.trace.output_ids) == len(d.trace.baseline.output_ids) == 10
        assert d.trace.settings.temperature == 1.0
    assert tiny_pair == [(None, {})] or len(tiny_pair) == 1


def test_several_pairs_and_precisions_are_told_apart(tiny_pair, capsys):
    assert main(["bench", *QUICK, "--pair", "a", "b", "--dtype", "float32", "--gamma", "2", "--json"]) == 0
    lanes = [row["lane"] for row in report_of(capsys)["tables"][0]["rows"]]
    assert lanes == ["a float32: draft-model, gamma 2", "b float32: draft-model, gamma 2"]
    assert [key for key, _ in tiny_pair] == ["a", "b"]


def test_the_same_table_from_recorded_traces(tiny_pair, tmp_path, capsys):
    main(["bench", *QUICK, "--json", str(tmp_path / "live.json"), "--traces", str(tmp_path / "t")])
    live = (tmp_path / "live.json").read_text()
    capsys.readouterr()
    assert main(["bench", "--from", str(tmp_path / "t"), "--json"]) == 0
    assert capsys.readouterr().out == live
    files = sorted((tmp_path / "t").glob("*.json.gz"))
    main(["bench", "--from", *map(str, files), "--json"])
    assert capsys.readouterr().out == live
    assert report_json(lane_report(*load_decodes([tmp_path / "t"]))) == live
    assert load_trace(files[0]).baseline is not None


def test_every_output_that_was_asked_for(tiny_pair, tmp_path, capsys):
    places = ["--csv", str(tmp_path / "csv"), "--report", str(tmp_path / "r.md"), "--json", str(tmp_path / "r.json")]
    assert main(["bench", *QUICK, *places]) == 0
    shown = capsys.readouterr().out
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["format"] == "specviz-report"
    assert shown.startswith(report["title"])
    assert (tmp_path / "r.md").read_text().startswith(f"# {report['title']}")
    tables = {path.stem for path in (tmp_path / "csv").iterdir()}
    assert {"lanes", "acceptance", "terms"} <= tables
    header = (tmp_path / "csv" / "lanes.csv").read_text().splitlines()[0].split(",")
    assert header[0] == "lane"
    assert "speedup_low" in header


def test_references_stand_in_the_table_even_when_they_fail(tiny_pair, capsys):
    """The tiny pair is no transformers model: that is said, and the lanes are measured all the same."""
    assert main(["bench", *QUICK, "--baseline", "transformers", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "note: transformers generate dropped out" in err
    lanes = [row["lane"] for row in json.loads(out)["tables"][0]["rows"]]
    assert lanes == ["draft-model, gamma 4", "specviz plain target", "specviz draft-model, gamma 4"]


def test_kinds_limits_and_files_of_prompts(tiny_pair, tmp_path, capsys):
    mine = tmp_path / "mine.txt"
    mine.write_text("zz")
    arguments = ["--kind", "code", "prose", "--limit", "1", "--prompts", str(mine), "--repeats", "1"]
    assert main(["bench", *arguments, "--max-new-tokens", "3", "--traces", str(tmp_path / "t"), "--json"]) == 0
    decodes, _ = load_decodes([tmp_path / "t"])
    assert [(d.kind, d.prompt) for d in decodes] == [("code", "queue-class"), ("prose", "harbour"), ("other", "mine 1")]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--gamma", "-1"], "Gamma must be"),
        (["--method", "medusa"], "medusa, gamma 4: No Medusa heads"),
        (["--repeats", "0"], "at least one repeat"),
        (["--limit", "0"], "The limit must be"),
        (["--prompts", "none.toml"], "Cannot read none.toml"),
        (["--json", "no/such/file.json"], "choose a file in a folder that exists"),
        (["--csv", __file__], "it is a file"),
        (["--from", "nothing.json"], "Cannot read nothing.json"),
        (["--from", "/no/such/folder"], "Cannot read /no/such/folder: No such file or directory."),
        (["--prompts", "/no/such/set.toml"], "Cannot read /no/such/set.toml: No such file or directory."),
        (["--prompts", "/"], "Cannot read /: Is a directory."),
        (["--max-new-tokens", "0"], "The number of tokens must be a whole number from 1 to 8,192 here"),
    ],
)
def test_mistakes_get_one_sentence(tiny_pair, capsys, arguments, sentence):
    assert main(["bench", "--prompt", "a", "--max-new-tokens", "3", *arguments]) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["--gamma", "2", "99"], ["--max-new-tokens", "0"], ["--prompts", "/no/such.toml"]]
)
def test_mistakes_are_told_before_anything_is_loaded(tiny_pair, arguments):
    assert main(["bench", *arguments]) == 1
    assert not tiny_pair


def test_ctrl_c_keeps_what_is_whole(tiny_pair, tmp_path, monkeypatch, capsys):
    from specviz.decoding.bench import Measurement

    step = Measurement.__next__

    def interrupted(self):
        if len(self.decoded) == 1 and self.traces["draft-model, gamma 4"].finish == "running":
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Measurement, "__next__", interrupted)
    assert main(["bench", *QUICK, "--traces", str(tmp_path / "t"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert "note: stopped after 2 of 8 decodes." in err
    assert len(json.loads(out)["tables"][0]["rows"]) == 1
    assert len(load_decodes([tmp_path / "t"])[0]) == 1
