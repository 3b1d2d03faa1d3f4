"""Small multiples of a comparison, drawn from the tables of `specviz.analysis.lanes.lane_report` alone."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from specviz.analysis.tables import Column, Report, Row, Table, cell_text
from specviz.charts.style import ACCEPTED, BONUS, INK, PLAIN, Chart, chart

_ACROSS, _MOST_LINES = 36, 4  # characters that fit below a small chart, and lines of a lane's name there
_FURTHEST = 3  # times the largest value that an interval may stretch the axis
_SMALL = {"meta": {"small": True}, "height": 190}


def lane_charts(report: Report) -> dict[str, Chart]:
    """Speedup and tokens per pass of every lane, then the hazard by position of each lane that drafted."""
    lanes = report.table("lanes")
    charts = {"speedup": speedups(lanes), "tokens_per_pass": tokens_per_pass(lanes)}
    tables = {key: table for key, table in report.keyed().items() if table.key == "acceptance" and table.rows}
    furthest = max((len(_positions(table)) for table in tables.values()), default=0)
    return charts | {key: hazards(table, furthest) for key, table in tables.items()}


def speedups(lanes: Table) -> Chart:
    """Speedup of each lane with its interval; the line is plain decoding."""
    known = [row for row in lanes.rows if row.get("speedup") is not None]
    column = _column(lanes, "speedup")
    marks = {
        "type": "scatter",
        "mode": "markers",
        "marker": {"color": ACCEPTED, "size": 9},
        "error_y": _interval(column, known),
        **_values(column, known, lanes.rows),
    }
    note = "Measured; bars: 95% interval. The line at 1 is plain decoding; a lane below it is slower than that."
    top = _top(column, known)
    if any((row.get(column.high or "") or 0) > top for row in known):
        note += " A bar that leaves the chart goes on to the end that the table names."
    axes = {"xaxis": _names(lanes.rows), "yaxis": {"range": [0, top]}}
    figure = chart(("Speedup", "", "× plain decoding"), [marks], note, **axes)
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1}
    figure["layout"]["shapes"] = [line | {"line": {"color": PLAIN, "dash": "dash", "width": 1.5}}]
    return _small(figure)


def tokens_per_pass(lanes: Table) -> Chart:
    """Tokens per target pass of each lane."""
    known = [row for row in lanes.rows if row.get("tokens_per_pass") is not None]
    column = _column(lanes, "tokens_per_pass")
    bars = {"type": "bar", "marker": {"color": BONUS}, "textposition": "none", **_values(column, known, lanes.rows)}
    note = "Measured: emitted tokens / target passes. Plain decoding makes one a pass."
    return _small(chart(("Tokens per target pass", "", "tokens"), [bars], note, xaxis=_names(lanes.rows)))


def hazards(table: Table, furthest: int) -> Chart:
    """The hazard of one lane by position, on axes that all lanes share. furthest: the last position of any lane."""
    rows, column = _positions(table), _column(table, "hazard")
    places = [int(row["position"]) for row in rows]
    bars = {
        "type": "bar",
        "x": places,
        "y": _percents(column, rows),
        "error_y": _interval(column, rows, percent=True),
        "marker": {"color": ACCEPTED},
        "text": [f"{cell_text(column, row)}: {row['accepted']} of {row['judged']} judged" for row in rows],
        "textposition": "none",
        "hoverinfo": "x+text",
    }
    ticks = {"tickvals": places, "range": [0.4, furthest + 0.6]}
    labels = (table.title, "position in the draft", "accepted / judged (%)")
    return _small(chart(labels, [bars], "Measured; bars: 95% interval.", xaxis=ticks, yaxis={"range": [0, 105]}))


def _values(column: Column, known: Sequence[Row], rows: Sequence[Row]) -> dict[str, Any]:
    """Places of the lanes, counted from 1, their values, and what to read on hover."""
    return {
        "x": [rows.index(row) + 1 for row in known],
        "y": [round(row[column.key], 4) for row in known],
        "text": [f"{row['lane']}: {cell_text(column, row)}" for row in known],
        "hoverinfo": "text",
    }


def _names(rows: Sequence[Row]) -> dict[str, Any]:
    """The axis of lanes: their names below their places."""
    room = max(8, _ACROSS // max(1, len(rows)))
    names = [str(row["lane"]).replace("γ ", "γ\u00a0") for row in rows]
    return {
        "tickvals": list(range(1, len(rows) + 1)),
        "ticktext": ["<br>".join(wrap(name, room)[:_MOST_LINES]) for name in names],
        "range": [0.4, len(rows) + 0.6],
        "tickangle": 0,
    }


def _interval(column: Column, rows: Sequence[Row], percent: bool = False) -> dict[str, Any]:
    """Error bars to the ends of the interval; none where there is no interval."""
    scale, digits = (100, 2) if percent else (1, 4)
    ends = [(row.get(column.low or ""), row[column.key], row.get(column.high or "")) for row in rows]
    whole = [end if None not in end else None for end in ends]
    return {
        "type": "data",
        "symmetric": False,
        "array": [end and round(scale * (end[2] - end[1]), digits) for end in whole],
        "arrayminus": [end and round(scale * (end[1] - end[0]), digits) for end in whole],
        "color": INK,
        "thickness": 1.2,
        "width": 4,
    }


def _top(column: Column, rows: Sequence[Row]) -> float:
    """Where the axis ends: above every interval, but not so far that the values themselves cannot be told apart."""
    values = [1.0, *(row[column.key] for row in rows)]
    highs = [row.get(column.high or "") or row[column.key] for row in rows]
    return 1.08 * max(*values, min(max(highs, default=1.0), _FURTHEST * max(values)))


def _percents(column: Column, rows: Sequence[Row]) -> list[float | None]:
    values = [row[column.key] for row in rows]
    return [None if value is None else round(100 * value, 2) for value in values]


def _positions(table: Table) -> list[Row]:
    """The rows of single positions, without the one for all."""
    return [row for row in table.rows if str(row["position"]).isdigit()]


def _column(table: Table, key: str) -> Column:
    return next(column for column in table.columns if column.key == key)


def _small(figure: Chart) -> Chart:
    figure["layout"] |= _SMALL
    return figure
