"""python -m specviz check, in process, on a tiny pair."""

import json

import jsonschema
import pytest
from tiny import byte_tokenizer, table_model

import specviz
from specviz.analysis.tables import report_schema
from specviz.cli import main
from specviz.decoding import acceptance

QUICK = ["check", "--prompt", "ab", "--draws", "400", "--max-new-tokens", "8", "--top-k", "3"]


@pytest.fixture(autouse=True)
def tiny_pair(monkeypatch):
    text = byte_tokenizer()
    pair = specviz.Pair(table_model(len(text), 0), table_model(len(text), 1), text, name="tiny")
    monkeypatch.setattr("specviz.models.loading.load_pair", lambda *names, **options: pair)


def test_a_right_rule_gives_status_zero_and_a_report(capsys):
    assert main([*QUICK, "--rule", "rejection", "block", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, report_schema())
    tables = {table["key"]: table for table in report["tables"]}
    assert [row["rule"] for row in tables["rules"]["rows"]] == ["Rejection sampling", "Block verification"]
    assert {row["draws"] for row in tables["rules"]["rows"]} == {400}
    assert [row["verdict"] for row in tables["equality"]["rows"]] == ["the same tokens"]


def test_draws_need_no_number_of_tokens(capsys):
    assert main([*QUICK, "--no-greedy", "--max-new-tokens", "0"]) == 0
    assert "Rejection sampling: nothing tells its tokens" in " ".join(capsys.readouterr().out.split())


def test_broken_rules_stand_beside_and_do_not_fail_the_check(capsys):
    assert main([*QUICK, "--broken", "--no-greedy"]) == 0
    out = capsys.readouterr().out
    for title in ("No residual", "Residual from raw q", "One uniform for the block", "Greedy draft, soft q"):
        assert title in out
    assert "Greedy text against plain decoding" not in out


def test_a_rule_of_the_engine_that_breaks_gives_status_one(monkeypatch, capsys):
    monkeypatch.setattr(acceptance, "residual", lambda p, q: (q, False))
    assert main([*QUICK, "--no-greedy", "--draws", "2000"]) == 1
    assert "it is not lossless here" in capsys.readouterr().out.replace("\n", " ")


def test_a_fault_in_greedy_text_gives_status_one(monkeypatch, capsys):
    def credulous(judged):
        path = list(range(len(judged.proposal.ids)))
        return acceptance.Outcome(path, int(judged.p[-1].argmax()), dict.fromkeys(path, 1.0))

    monkeypatch.setitem(acceptance.JUDGES, "rejection", credulous)
    wrong = ["--draws", "0", "--max-new-tokens", "30", "--gamma", "4"]
    assert main([*QUICK, *wrong]) == 1
    assert "1 fault" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--draws", "0", "--no-greedy"], "Nothing is left to check"),
        (["--top-k", "0"], "Top-k must be a whole number from 1 to 32"),
        (["--temperature", "0"], "there is nothing to sample"),
        (["--max-new-tokens", "0"], "The number of tokens must be a whole number from 1 to 8,192 here"),
        (["--gamma", "-1"], "Gamma must be a whole number from 0 to 64"),
    ],
)
def test_mistakes_get_one_sentence(more, sentence, capsys):
    assert main([*QUICK, *more]) == 1
    assert sentence in capsys.readouterr().err
