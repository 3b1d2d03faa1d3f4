"""Reports in a terminal."""

import pytest
from made import provenance

from specviz.analysis.tables import Column, Report, Table
from specviz.terminal_tables import report_text, show_report, table_text

COLUMNS = [
    Column("lane", "lane"),
    Column("gain", "speedup", "times", "measured", "plain time per token / time per token", "low", "high"),
    Column("alpha", "alpha", "number", "exact", "mean of sum min(p, q)"),
    Column("held", "memory", "bytes", "measured"),
]
ROWS = [
    {"lane": "draft-model, gamma 4", "gain": 1.5, "low": 1.25, "high": 1.75, "alpha": 0.8, "held": 2_500_000},
    {"lane": "b", "gain": None, "low": None, "high": None, "alpha": None, "held": None},
]


def table(rows=ROWS):
    return Table("lanes", "Lanes", COLUMNS, rows, "Two lanes.")


def test_an_aligned_table_has_kinds_under_heads_then_note_and_definitions():
    assert table_text(table(), 100).splitlines() == [
        "Lanes",
        "-----",
        "lane                                 speedup  alpha    memory",
        "                                    measured  exact  measured",
        "draft-model, gamma 4  1.50× (1.25× to 1.75×)    0.8    2.5 MB",
        "b                                       none   none      none",
        "",
        "Two lanes.",
        "speedup: plain time per token / time per token",
        "alpha: mean of sum min(p, q)",
    ]


def test_a_table_that_does_not_fit_is_told_row_by_row():
    text = table_text(table(), 50)
    assert max(map(len, text.splitlines())) <= 50
    assert text.splitlines()[2:7] == [
        "draft-model, gamma 4",
        "  speedup (measured)  1.50× (1.25× to 1.75×)",
        "  alpha (exact)       0.8",
        "  memory (measured)   2.5 MB",
        "b",
    ]


def test_an_empty_table_says_so():
    assert table_text(table([]), 80).splitlines()[2] == "no rows"


@pytest.mark.parametrize("width", [60, 140])
def test_wide_characters_keep_their_columns_and_control_characters_stay_out(width):
    rows = [{"lane": "模型", "gain": 2.0, "alpha": 0.5}, {"lane": "\x1b[2Jx\n", "gain": 1.0, "alpha": 0.25}]
    text = table_text(table(rows), width)
    assert "\x1b" not in text
    assert "\\x1b[2Jx" in text
    if width == 140:
        first, second = text.splitlines()[4:6]
        assert first.index("2.00×") + 2 == second.index("1.00×"), "two characters that take four columns"


def test_a_report_is_title_sentences_tables_and_sources(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    report = Report("Which gamma?", ["Use gamma 4 here.", "long " * 60], [table()], [provenance()])
    show_report(report)
    out = capsys.readouterr().out
    assert out == report_text(report, 100)
    parts = out.split("\n\n")
    assert parts[0] == "Which gamma?\n============"
    assert parts[1] == "Use gamma 4 here."
    assert max(map(len, parts[2].splitlines())) <= 100
    assert parts[3].startswith("Lanes\n-----\n")
    assert parts[-1].startswith("Made 2026-01-01T00:00:00Z on test, 2 threads, with target (float32, cpu) and draft")
