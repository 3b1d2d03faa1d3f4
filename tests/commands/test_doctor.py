"""The doctor from the command line, on folders of tiny models."""

import json

import pytest
from tiny import build, tokenizer

from specviz.analysis.doctor_report import doctor_report
from specviz.cli import main
from specviz.trace.findings import Finding, Number

LARGE = {"hidden_size": 64, "num_hidden_layers": 4}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for name, sizes in (("target", LARGE), ("draft", {"num_hidden_layers": 1})):
        build(**sizes).save_pretrained(root / name)
        tokenizer(specials={3: "<end>"}, eos="<end>").save_pretrained(root / name)
    return [f"--target={root / 'target'}", f"--draft={root / 'draft'}", "--dtype=float32", "--device=cpu"]


def asked(capsys, *arguments):
    status = main(["doctor", *arguments])
    return status, capsys.readouterr().out


def test_the_verdict_comes_first_and_json_says_the_same(folders, capsys):
    status, out = asked(capsys, *folders, "--context", "100", "--gamma", "2")
    assert status == 0
    assert " ".join(out.split()).index("Fits, with notes: The target has") < out.index("Findings")
    data = json.loads(asked(capsys, *folders, "--context", "100", "--gamma", "2", "--json")[1])
    assert data["format"] == "specviz-report"
    tables = {table["key"]: table for table in data["tables"]}
    assert {row["topic"] for row in tables["findings"]["rows"]} >= {"vocabulary", "context", "cache", "memory", "speed"}
    memory = {row["name"]: row for row in tables["memory"]["rows"]}
    assert memory["target cache"]["computed"] == 2 * 4 * 2 * 8 * 100 * 4  # k and v, layers, heads, head_dim, tokens
    assert memory["target cache"]["measured"] is None


def test_measuring_loads_the_pair_and_adds_what_it_takes(folders, capsys):
    data = json.loads(asked(capsys, *folders, "--measure", "--json")[1])
    tables = {table["key"]: table for table in data["tables"]}
    memory = {row["name"]: row for row in tables["memory"]["rows"]}
    assert memory["weights and caches"]["error"] == 0
    assert all(row["measured"] > 0 for row in tables["speed"]["rows"])
    assert "files" in {row["topic"] for row in tables["findings"]["rows"]}


def test_a_fault_ends_with_status_one_and_is_not_loaded(folders, capsys, monkeypatch):
    monkeypatch.setattr("specviz.models.loading.load_pair", lambda *_, **__: pytest.fail("loaded"))
    status, out = asked(capsys, folders[0], "--draft", "nobody/\x1b[2Jnothing", "--measure")
    assert status == 1
    assert "Cannot work: The draft cannot be loaded." in out
    assert "\x1b" not in out


def test_a_pair_that_does_not_load_is_a_finding(folders, capsys, monkeypatch):
    from specviz.trace.errors import SpecvizError

    def refuse(*_, **__):
        raise SpecvizError("There is not enough memory for it; choose a smaller model.")

    monkeypatch.setattr("specviz.models.loading.load_pair", refuse)
    status, out = asked(capsys, *folders, "--measure")
    assert status == 1
    assert "Cannot work: There is not enough memory for it" in out


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--pair", "x", "--target", "y"], "Give --pair or --target, not both."),
    (["--draft", "y"], "Give --target too"),
    (["--pair", "nope"], "There is no pair named 'nope'"),
    (["--gamma", "0"], "Gamma must be a whole number from 1 to 64."),
    (["--context", "0"], "The context must be a whole number from 1"),
])  # fmt: skip
def test_mistakes_get_one_sentence(capsys, arguments, sentence):
    assert main(["doctor", *arguments]) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_every_number_of_a_report_has_a_kind_and_a_definition():
    numbers = (Number("a", "what a is", 105.0, 100.0), Number("b", "what b is"))
    found = [
        Finding("memory", "warning", "Found.", "Do.", numbers, "bytes"),
        Finding("verdict", "note", "Fits.", "Do."),
    ]
    report = doctor_report(found, "<b>t", None)
    assert (report.title, report.sentences) == ("Pair doctor: <b>t", ["Fits. Do."])
    table = report.table("memory")
    assert [c.title for c in table.columns[1:3]] == ["computed", "measured"]
    assert [c.kind for c in table.columns] == [None, "exact", "measured", "measured", None]
    assert all(c.about for c in table.columns if c.kind)
    assert table.values("error") == [pytest.approx(0.05), None]
    assert report.table("findings").rows == [{"topic": "memory", "level": "warning", "finding": "Found. Do."}]


def test_a_speed_that_rests_on_an_assumption_says_so(folders, capsys):
    data = json.loads(asked(capsys, *folders, "--json")[1])
    speed = next(table for table in data["tables"] if table["key"] == "speed")
    computed = next(column for column in speed["columns"] if column["key"] == "computed")
    assert (computed["title"], computed["kind"]) == ("computed, at best", "exact")
    assert "under an assumption" in computed["about"]
    assert "upper bound" in computed["about"]
    rows = {row["name"]: row for row in speed["rows"]}
    assert rows["v(gamma)"]["computed"] == 1
    told = next(row["finding"] for row in data["tables"][0]["rows"] if row["topic"] == "speed")
    assert f"the speedup would be at best {rows['highest speedup']['computed']:.2f}, as if only" in told
    measured = json.loads(asked(capsys, *folders, "--measure", "--json")[1])
    told = next(row["finding"] for row in measured["tables"][0]["rows"] if row["topic"] == "speed")
    assert "as measured" in told
    assert "at best" not in told
