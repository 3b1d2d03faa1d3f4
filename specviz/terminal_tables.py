"""A report in a terminal: sentences, tables with the kind of every number under its head, definitions."""

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator

from specviz.analysis.tables import Column, Report, Table, cell_text, source_text

_GAP = "  "
_WIDEST, _NARROWEST = 160, 40


def show_report(report: Report) -> None:
    """Print a report to stdout, as wide as the terminal."""
    width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))
    sys.stdout.write(report_text(report, width))


def report_text(report: Report, width: int) -> str:
    """The report as lines of at most `width` characters, but for words that are longer."""
    parts = [safe(f"{report.title}\n{'=' * min(width, len(report.title))}")]
    parts += [textwrap.fill(safe(sentence), width) for sentence in report.sentences]
    sources = [textwrap.fill(safe(source_text(source)), width) for source in report.provenance]
    return "\n\n".join([*parts, *(table_text(table, width) for table in report.tables), *sources]) + "\n"


def table_text(table: Table, width: int) -> str:
    """One table: aligned columns, or where they do not fit one block a row; then its note and its definitions."""
    head = safe(f"{table.title}\n{'-' * min(width, len(table.title))}")
    body = list(_aligned(table))
    if max(map(len, body), default=0) > width:
        body = list(_blocks(table, width))
    notes = [table.note] if table.note else []
    notes += [f"{c.title}: {c.about}" for c in table.columns if c.about]
    told = [textwrap.fill(safe(note), width, subsequent_indent=_GAP) for note in notes]
    return "\n".join([head, *(body or ["no rows"]), *([""] if told else []), *told])


def safe(text: str) -> str:
    """Model text must not steer the terminal: control characters are shown as escapes, newline and tab stay."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else c.encode("unicode_escape").decode()
        for c in text
    )


def _aligned(table: Table) -> Iterator[str]:
    """Heads, kinds and rows in columns; numbers to the right, labels to the left."""
    if not table.rows:
        return
    lines = [[c.title for c in table.columns], [c.kind or "" for c in table.columns]]
    lines += [[_cell(c, row) for c in table.columns] for row in table.rows]
    widths = [max(_wide(line[i]) for line in lines) for i in range(len(table.columns))]
    for line in lines:
        padded = [_padded(safe(text), w, c) for text, w, c in zip(line, widths, table.columns, strict=True)]
        yield _GAP.join(padded).rstrip()


def _blocks(table: Table, width: int) -> Iterator[str]:
    """Every row as a block: its first cell, then one line for each other column."""
    first, *others = table.columns
    names = [f"{c.title} ({c.kind})" if c.kind else c.title for c in others]
    indent = max(map(len, names), default=0) + 2 * len(_GAP)
    for row in table.rows:
        yield _cell(first, row)
        for name, column in zip(names, others, strict=True):
            start = f"{_GAP}{name}".ljust(indent)
            yield textwrap.fill(_cell(column, row), width, initial_indent=start, subsequent_indent=" " * indent)


def _cell(column: Column, row: dict) -> str:
    return safe(cell_text(column, row)).replace("\n", " ").replace("\t", " ")


def _padded(text: str, width: int, column: Column) -> str:
    space = " " * (width - _wide(text))
    return text + space if column.kind is None else space + text


def _wide(text: str) -> int:
    """Columns of a terminal that a text takes: East Asian wide characters take two, combining marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
