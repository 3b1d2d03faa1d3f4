"""Charts of a check of losslessness, drawn from the tables of `specviz.analysis.lossless` alone."""

import re
from typing import Any

from specviz.analysis.tables import Report, Row, Table, cell_text
from specviz.charts.style import ACCEPTED, BONUS, INK, PLAIN, Chart, chart, empty, thin

_MOST_BARS, _FEWER_BARS = 16, 8  # of the rule that is looked at first, and of those beside it
_LONGEST = 24  # characters of a continuation on the axis
_AXES: dict[str, Any] = {"xaxis": {"rangemode": "tozero"}, "yaxis": {"type": "log", "rangemode": "normal"}}
_REJECTED, _RESAMPLED = "var(--sv-rejected)", "var(--sv-resampled)"
_STYLES = [(ACCEPTED, "solid"), (_REJECTED, "dash"), (_RESAMPLED, "dot"), (BONUS, "dashdot"), (INK, "longdash")]


def lossless_charts(report: Report) -> dict[str, Chart]:
    """For every rule its draws beside the exact distribution; both distances as draws came in."""
    tables = report.keyed()
    if "growth" not in tables:
        return {}
    charts = {
        "total_variation": total_variation(tables["growth"]),
        "chi_square": chi_square(tables["growth"]),
    }
    drawn = {key: table for key, table in tables.items() if table.key == "lossless"}
    return charts | {key: bars(table, small=place > 0) for place, (key, table) in enumerate(drawn.items())}


def bars(table: Table, small: bool = False) -> Chart:
    """The likeliest continuations: exact probability, and the share of the draws beside it. small: fewer of them."""
    labels = (table.title, "", "probability (%)")
    rows = table.rows[: _FEWER_BARS if small else _MOST_BARS]
    if not rows:
        return empty(labels, "No draw yet.")
    places = list(range(1, len(rows) + 1))
    data = [
        _bars("exact", places, rows, "exact", table, PLAIN),
        _bars("drawn", places, rows, "frequency", table, ACCEPTED),
    ]
    ticks = {"tickvals": places, "ticktext": [_label(row) for row in rows], "tickangle": -60}
    left = len(table.rows) - len(rows)
    note = f"Exact and measured. {table.note}" + (f" The table has {left} more continuations." if left else "")
    figure = chart(labels, data, note, xaxis=ticks)
    figure["layout"] |= {"barmode": "group", "bargap": 0.2, "height": 320}
    if small:
        figure["layout"] |= {"meta": {"small": True}, "height": 280}
    return figure


def total_variation(growth: Table) -> Chart:
    """Total variation of every rule against draws, and what luck alone leaves, on a logarithmic axis."""
    labels = ("Total variation", "draws", "total variation")
    if not growth.rows:
        return empty(labels, "No draw yet.")
    note = (
        "Measured; the grey line is exact: what luck alone leaves after so many draws. A right rule goes down with it; "
        "one with a fault stops at the distance of its own distribution."
    )
    luck = list({row["draws"]: row for row in growth.rows}.values())
    line = _line("luck alone", luck, "noise", {"color": PLAIN, "width": 4})
    return chart(labels, [line, *_by_rule(growth, "total_variation")], note, **_AXES)


def chi_square(growth: Table) -> Chart:
    """Chi-square over its degrees of freedom of every rule against draws, on a logarithmic axis."""
    labels = ("Chi-square / degrees of freedom", "draws", "chi-square / df")
    if all(row["chi_square_per_df"] is None for row in growth.rows):
        return empty(labels, "Too few draws to compare.")
    note = "Measured. A right rule stays near 1 however long one draws; one with a fault grows with the draws."
    return chart(labels, _by_rule(growth, "chi_square_per_df"), note, **_AXES)


def _by_rule(growth: Table, key: str) -> list[dict[str, Any]]:
    rules = list(dict.fromkeys(growth.values("rule")))
    lines = []
    for place, rule in enumerate(rules):
        colour, dash = _STYLES[place % len(_STYLES)]
        rows = [row for row in growth.rows if row["rule"] == rule and row[key] is not None]
        lines.append(_line(str(rule), rows, key, {"color": colour, "width": 2, "dash": dash}))
    return lines


def _line(name: str, rows: list[Row], key: str, line: dict[str, Any]) -> dict[str, Any]:
    rows = [rows[k] for k in thin(len(rows))]
    values = {"x": [row["draws"] for row in rows], "y": [row[key] for row in rows]}
    return {"type": "scatter", "mode": "lines", "name": name, "line": line, **values}


def _bars(name: str, places: list[int], rows: list[Row], key: str, table: Table, colour: str) -> dict[str, Any]:
    column = next(c for c in table.columns if c.key == key)
    return {
        "type": "bar",
        "name": name,
        "x": places,
        "y": [100 * row[key] for row in rows],
        "text": [f"{name} {cell_text(column, row)}" for row in rows],
        "textposition": "none",
        "hoverinfo": "text",
        "marker": {"color": colour},
    }


def _label(row: Row) -> str:
    """A continuation on an axis: Plotly reads a few tags in texts, so they are escaped.

    Some differ in their spaces alone, often at the end: several in a row become marks, and both ends stay.
    """
    text = re.sub(" {2,}", lambda spaces: "·" * len(spaces[0]), str(row["text"]))
    if len(text) > _LONGEST:
        end = _LONGEST // 2
        text = f"{text[: _LONGEST - 1 - end]}…{text[-end:]}"
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
