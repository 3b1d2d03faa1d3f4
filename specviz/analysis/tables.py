"""Tables and reports: what the analysis hands to the page, the terminal, the charts and the exports.

Every number stands in a column, and every column of numbers says its kind and its definition, so that the same
table reads the same everywhere. JSON of a report: `report_json` (schema in assets/report.schema.json).
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter

from specviz.analysis.words import duration
from specviz.trace.schema import Provenance

Kind = Literal["measured", "exact", "fitted", "quoted"]
Format = Literal["text", "count", "number", "times", "percent", "seconds", "bytes", "p"]
Value = str | int | float | bool | None
Row = dict[str, Value]

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
_UNITS = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class Column:
    """One column. kind: None for labels only; a column of numbers has one, and `about` is its definition.

    format: how a value reads. "times" is a speedup (1.59×), "number" anything else without a unit, "percent" takes
    a share in [0, 1], "seconds" and "bytes" take those units, "p" is a p-value, 0 where no float can hold it. low and
    high: keys of the ends of the 95% interval, which stand in the rows beside the value, without a column.
    """

    key: str
    title: str
    format: Format = "text"
    kind: Kind | None = None
    about: str = ""
    low: str | None = None
    high: str | None = None
    __pydantic_config__ = _STRICT


@dataclass(slots=True)
class Table:
    """Rows of values by column key; a value that was not measured is None and reads "none". note: scope, counts."""

    key: str
    title: str
    columns: list[Column]
    rows: list[Row]
    note: str = ""
    __pydantic_config__ = _STRICT

    def __post_init__(self) -> None:
        for column in self.columns:
            if (column.format == "text") != (column.kind is None):
                raise ValueError(f"{self.key}.{column.key}: a column of numbers has a kind, a label has none")

    def values(self, key: str) -> list[Value]:
        """One column, in the order of the rows."""
        return [row.get(key) for row in self.rows]

    def records(self) -> list[Row]:
        """The rows with the columns' keys in order, the ends of intervals after their value."""
        keys = [k for c in self.columns for k in (c.key, c.low, c.high) if k]
        return [{key: row.get(key) for key in keys} for row in self.rows]

    def csv(self) -> str:
        """Comma-separated values with a header of column keys."""
        import pandas as pd

        return pd.DataFrame(self.records()).to_csv(index=False)


@dataclass(slots=True)
class Report:
    """What a measurement says: sentences first, then the tables they rest on, then where the numbers come from."""

    title: str
    sentences: list[str]
    tables: list[Table]
    provenance: list[Provenance] = field(default_factory=list)
    format: Literal["specviz-report"] = "specviz-report"
    version: Literal[1] = 1
    __pydantic_config__ = _STRICT

    def table(self, key: str) -> Table:
        """The table of that key. Raises KeyError."""
        for table in self.tables:
            if table.key == key:
                return table
        raise KeyError(key)

    def keyed(self) -> dict[str, Table]:
        """The tables by key, in order; the second one of a key is called key-2."""
        found: dict[str, Table] = {}
        for table in self.tables:
            count = 1 + sum(other.key == table.key for other in found.values())
            found[table.key if count == 1 else f"{table.key}-{count}"] = table
        return found


def cell_text(column: Column, row: Row) -> str:
    """A value as people read it, without its kind; "none" where there is none."""
    value = row.get(column.key)
    if value is None:
        return "none"
    text = _written(column.format, value)
    low, high = (row.get(key) if key else None for key in (column.low, column.high))
    if low is None or high is None:
        return text
    return f"{text} ({_written(column.format, low)} to {_written(column.format, high)})"


def report_json(report: Report) -> str:
    """The report as JSON, readable and exact."""
    return json.dumps(asdict(report), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def report_schema() -> dict[str, Any]:
    """JSON schema of a report."""
    return TypeAdapter(Report).json_schema()


def report_markdown(report: Report) -> str:
    """The report as Markdown: sentences, tables with kinds and definitions, provenance."""
    parts = [f"# {_escaped(report.title)}", *map(_escaped, report.sentences), *map(_markdown_table, report.tables)]
    return "\n\n".join([*parts, *map(_markdown_source, report.provenance)]) + "\n"


def source_text(source: Provenance) -> str:
    """Where the numbers come from, as one sentence."""
    models = " and ".join(f"{m.name} ({m.dtype}, {m.device})" for m in (source.target, source.draft) if m)
    return (
        f"Made {source.date} on {source.machine}, {source.threads} threads, with {models}; specviz "
        f"{source.specviz}, torch {source.torch}, transformers {source.transformers}, Python {source.python}."
    )


def _markdown_table(table: Table) -> str:
    heads = [_escaped(f"{c.title} ({c.kind})" if c.kind else c.title) for c in table.columns]
    lines = [heads, ["---"] * len(heads)]
    lines += [[_escaped(cell_text(c, row)) for c in table.columns] for row in table.rows]
    rows = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    meanings = "\n".join(f"- {_escaped(c.title)}: {_escaped(c.about)}" for c in table.columns if c.about)
    return "\n\n".join(part for part in (f"## {_escaped(table.title)}", rows, meanings, _escaped(table.note)) if part)


def _markdown_source(source: Provenance) -> str:
    return _escaped(source_text(source))


def _escaped(text: str) -> str:
    """Text as Markdown shows it literally, in one line or table cell: names of models and lanes are untrusted."""
    for mark in "\\`*_[]<>|#&~":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def _written(form: Format, value: Value) -> str:
    if isinstance(value, str | bool) or form == "text":
        return str(value)
    if form == "count":
        return f"{value:,.0f}".replace(",", " ")
    if form == "times":
        return f"{value:.2f}×"
    if form == "percent":
        return f"{100 * value:.1f}%"
    if form == "seconds":
        return duration(value)
    if form == "bytes":
        return _bytes(value)
    if form == "p":
        return p_text(value)
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"


def p_text(value: float) -> str:
    """A p-value; never 0, which stands for one that no float can hold."""
    return f"{value:.2g}" if value else "below 1e-300"


def _bytes(value: float) -> str:
    size, unit = float(value), 0
    while abs(size) >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {_UNITS[unit]}"
