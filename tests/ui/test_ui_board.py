"""The board's writer: lines that only grow, every value as its text, tokens with their places."""

import json
import logging
from itertools import pairwise

import pytest
from made import made_round, made_trace, provenance, race_trace
from measured import synthetic

from specviz.analysis.lanes import lane_report
from specviz.analysis.tables import Column, Report, Table, cell_text, report_json
from specviz.trace.schema import Emitted, Piece
from specviz.ui import board_writer as board_module
from specviz.ui.board_writer import BoardWriter, report_exports, shown_report


def lines_of(writer):
    return [json.loads(line) for line in writer.text.splitlines()]


def report(*tables):
    return Report("Title", ["One sentence."], list(tables), [provenance()])


def small(key="small", value=0.5):
    columns = [Column("lane", "Lane"), Column("share", "Share", "percent", "measured", "What it is.", "low", "high")]
    return Table(key, "Small", columns, [{"lane": "<b>a</b>", "share": value, "low": 0.25, "high": 0.75}], "A note.")


def test_text_only_grows_and_every_board_begins_with_another_line():
    writer, texts = BoardWriter("A"), []
    trace = race_trace(4)
    for act in (lambda: writer.progress(1, 2, "x"), lambda: writer.report(report(small())), lambda: writer.charts({}),
                lambda: writer.stream("p", "Prompt", ["a"]), lambda: writer.tokens("p", {0: trace}),
                lambda: writer.end("Finished.", {"a.txt": "text"})):  # fmt: skip
        texts.append(writer.text)
        act()
    texts.append(writer.text)
    assert all(later.startswith(earlier) and later.endswith("\n") for earlier, later in pairwise(texts))
    kinds = [line["t"] for line in lines_of(writer)]
    assert kinds == ["board", "progress", "report", "charts", "stream", "tokens", "end"]
    assert BoardWriter("A").text != BoardWriter("A").text


def test_a_report_is_shown_with_every_value_as_its_text():
    table = shown_report(report(small()))["tables"][0]
    assert table["columns"][1] == {"key": "share", "title": "Share", "about": "What it is.", "kind": "measured"}
    assert table["rows"] == [["<b>a</b>", ["50.0%", "(25.0% to 75.0%)"]]]
    assert shown_report(report(small(value=None)))["tables"][0]["rows"] == [["<b>a</b>", "none"]]
    assert shown_report(report(small()))["sources"][0].startswith("Made 2026-01-01")


def test_all_cells_of_a_real_report_read_as_in_the_terminal():
    real = lane_report(synthetic([0.8, 0.6], 2, prompts=3, rounds=6, repeats=2, noise=0.05))
    for shown, table in zip(shown_report(real)["tables"], real.tables, strict=True):
        for cells, row in zip(shown["rows"], table.rows, strict=True):
            texts = [cell if isinstance(cell, str) else " ".join(cell) for cell in cells]
            assert texts == [cell_text(column, row) for column in table.columns]


def test_tables_of_one_key_are_told_apart_and_folded_by_key():
    both = report(small(), small(value=0.1), small("other"))
    shown = shown_report(both, folded={"small"})
    assert [(table["key"], table["folded"]) for table in shown["tables"]] == [
        ("small", True), ("small-2", True), ("other", False)]  # fmt: skip
    files = report_exports(both)
    assert list(files) == ["report.json", "report.md", "small.csv", "small-2.csv", "other.csv"]
    assert files["report.json"] == report_json(both)
    assert files["small.csv"].splitlines() == ["lane,share,low,high", "<b>a</b>,0.5,0.25,0.75"]


def test_tokens_carry_the_character_at_which_they_begin_and_each_piece_is_sent_once():
    trace = made_trace([])
    trace.pieces |= {1: Piece("ab"), 2: Piece("E2 82", "bytes"), 3: Piece("AC", "bytes"), 4: Piece("é")}
    writer = BoardWriter("A")
    writer.stream("p", "Prompt", ["a", "b"])
    for index, ids in enumerate([[1], [2, 3], [4, 1]]):
        record = made_round(index, "")
        record.emitted = [Emitted(i, "plain", 0.5) for i in ids]
        trace.rounds.append(record)
        writer.tokens("p", {1: trace})
    writer.tokens("p", {1: trace})
    sent = [line for line in lines_of(writer) if line["t"] == "tokens"]
    texts = {number: piece["text"] for line in sent for number, piece in line["pieces"].items()}
    placed = [(texts[str(piece)], at) for line in sent for piece, _, at in line["lanes"]["1"]]
    assert placed == [("ab", 0), ("E2 82", 2), ("AC", 2), ("é", 3), ("ab", 4)]
    assert len(sent) == 3
    assert sum(len(line["pieces"]) for line in sent) == 4


def test_a_board_ends_with_the_files_of_its_last_report_or_says_why_there_are_none(caplog):
    caplog.set_level(logging.CRITICAL)
    for make, files, why in (
        (lambda: report(small()), ["report.json", "report.md", "small.csv"], ""),
        (report, [], ""),
        (None, [], ""),
        (lambda: 1 / 0, [], "No report could be made of it: The run failed for a reason"),
    ):
        writer = BoardWriter("A")
        said = writer.end_with("Finished.", make)
        (end,) = [line for line in lines_of(writer) if line["t"] == "end"]
        assert list(end["exports"]) == files
        assert said.startswith(why)
        assert end["sentence"] == f"Finished. {said}".strip()


@pytest.mark.parametrize(("gone", "due"), [(0.5, False), (1.5, True)])
def test_whole_reports_wait_for_a_second_and_longer_as_the_run_grows(monkeypatch, gone, due):
    now = 100.0
    monkeypatch.setattr(board_module, "monotonic", lambda: now)
    writer = BoardWriter("A")
    now += gone
    assert writer.due() is due
    now = 200.0
    writer.report(report(small()))
    now += 5
    assert not writer.due()
    now += 15
    assert writer.due()


def test_frames_are_an_eighth_of_a_second_apart(monkeypatch):
    now = 100.0
    monkeypatch.setattr(board_module, "monotonic", lambda: now)
    writer = BoardWriter("A")
    due = []
    for _ in range(40):
        now += 0.05
        due.append(writer.frame_due())
    assert sum(due) == 13
