"""Traces in and out of files; the schema; what is refused."""

import csv
import dataclasses
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from records import trace

from specviz import SpecvizError
from specviz.trace import files

ASSETS = Path(__file__).resolve().parents[2] / "assets"


def test_round_trip_through_both_kinds_of_file(tmp_path):
    whole = trace(baseline=True)
    for name in ("a.json", "a.json.gz"):
        path = files.save_trace(whole, tmp_path / name)
        assert files.load_trace(path) == whole
    assert (tmp_path / "a.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    (tmp_path / "b.json").write_bytes((tmp_path / "a.json.gz").read_bytes())  # told apart by content
    assert files.load_trace(tmp_path / "b.json") == whole


def test_the_shipped_schema_is_the_codes_and_accepts_traces():
    shipped = json.loads((ASSETS / "trace.schema.json").read_text())
    assert shipped == files.json_schema(), "write it anew: python -m specviz schema > assets/trace.schema.json"
    jsonschema.Draft202012Validator.check_schema(shipped)
    jsonschema.validate(json.loads(files.dumps(trace(baseline=True))), shipped)


def test_every_shipped_trace_reads():
    paths = sorted((ASSETS / "traces").glob("*.json.gz"))
    assert len(paths) >= 3
    for path in paths:
        trace = files.load_trace(path)
        assert trace.title
        assert trace.baseline.output_ids


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not a specviz trace"),
        ('{"format": "other"}', "not a specviz trace"),
        ('{"format": "specviz-trace", "version": 99}', "version 99; this specviz reads version 1"),
        ('{"format": "specviz-trace", "version": 1}', "damaged at settings"),
    ],
)
def test_what_is_not_a_trace_gets_one_sentence(text, expected):
    with pytest.raises(SpecvizError, match=expected):
        files.loads(text)


def changed(**changes):
    return json.dumps(json.loads(files.dumps(trace())) | changes)


def test_traces_that_contradict_themselves_are_refused():
    with pytest.raises(SpecvizError, match="contradicts itself"):
        files.loads(changed(output_ids=[1, 2]))
    with pytest.raises(SpecvizError, match="no text for token id"):
        files.loads(changed(pieces={}))
    with pytest.raises(SpecvizError, match="damaged at surprise"):
        files.loads(changed(surprise=1))
    nested = trace(baseline=True)
    nested.baseline.baseline = trace()
    with pytest.raises(SpecvizError, match="nested"):
        files.check(nested)


@pytest.mark.parametrize(
    ("parents", "fits"),
    [
        ([None, None], True), ([-1, -1], True), ([-1, 0], True),
        ([7, 0], False), ([0, 0], False), ([-1, 1], False), ([-1, None], False), ([None, 0], False),
    ],
)  # fmt: skip
def test_a_parent_must_stand_before_its_child(parents, fits):
    for lane in ("rounds", "baseline"):
        whole = trace(baseline=True)
        rounds = whole.rounds if lane == "rounds" else whole.baseline.rounds
        rounds[0].drafted = [
            replace(d, parent=parent) for d, parent in zip(trace().rounds[0].drafted, parents, strict=True)
        ]
        whole.baseline.pieces = whole.pieces
        if fits:
            assert files.loads(files.dumps(whole)) == whole
        else:
            with pytest.raises(SpecvizError, match="names a parent that does not stand before it"):
                files.loads(files.dumps(whole))


def test_numbers_out_of_range_are_refused():
    data = json.loads(files.dumps(trace()))
    data["rounds"][0]["drafted"][0]["p"] = 1.5
    with pytest.raises(SpecvizError, match=r"damaged at rounds.0.drafted.0.p"):
        files.loads(json.dumps(data))
    data["rounds"][0]["drafted"][0]["p"] = float("nan")
    with pytest.raises(SpecvizError):
        files.loads(json.dumps(data))


def test_damaged_and_missing_files(tmp_path):
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(files.dumps(trace()).encode())[:60])
    with pytest.raises(SpecvizError, match="ends early"):
        files.load_trace(tmp_path / "cut.json.gz")
    with pytest.raises(SpecvizError, match="Cannot read none.json"):
        files.load_trace(tmp_path / "none.json")


def test_a_decompression_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(SpecvizError, match="larger than"):
        files.load_trace(tmp_path / "bomb.json.gz")


def test_csv_tables():
    rows = list(csv.DictReader(io.StringIO(files.rounds_csv(trace()))))
    assert [(r["drafted"], r["judged"], r["accepted"], r["emitted"]) for r in rows] == [
        ("2", "2", "1", "2"),
        ("0", "0", "0", "1"),
    ]
    assert float(rows[0]["draft_s"]) == pytest.approx(0.003)
    tokens = list(csv.DictReader(io.StringIO(files.tokens_csv(trace()))))
    assert [(t["id"], t["role"]) for t in tokens] == [
        ("2", "accepted"),
        ("3", "rejected"),
        ("4", "resampled"),
        ("5", "plain"),
    ]
    assert tokens[0]["text"] == "'=cmd()", "model text must not become a formula"
    assert (tokens[1]["uniform"], tokens[2]["uniform"]) == ("0.9", "")


def test_records_are_plain_and_comparable():
    assert dataclasses.replace(trace(), title="x") != trace()
    assert trace() == trace()
