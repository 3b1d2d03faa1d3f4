"""The charts of tuning: drawn from the tables "sweep", "kinds", "waterfall" and "policies" and from nothing else."""

from collections.abc import Sequence
from typing import Any

from specviz.analysis.tables import Row, Table, Value, cell_text
from specviz.analysis.waterfall import IDEAL, MEASURED
from specviz.charts.style import ACCEPTED, BONUS, INK, PLAIN, Chart, chart, empty

_SWEEP = ("Speedup against gamma", "gamma (tokens drafted per round)", "speedup (×)")
_NOTHING = "Nothing measured yet."
_ROOM = 1.4  # of the axis, above the highest point
_AS_ABOVE = (
    "Measured points with 95% intervals, cut at the frame; predicted and Leviathan's curves (fitted), as for all kinds."
)


def speedup_by_gamma(sweep: Table) -> Chart:
    """Measured speedups with their intervals, the predicted curve, Leviathan's formula dashed, and the line of plain.

    sweep: the table "sweep".
    """
    return _curves(sweep, sweep.rows, _SWEEP)


def speedup_by_kind(kinds: Table) -> dict[str, Chart]:
    """The same chart for each kind of text, by kind: small, all with one scale, to stand beside one another.

    kinds: the table "kinds".
    """
    names = list(dict.fromkeys(str(row["kind"]) for row in kinds.rows))
    charts = {}
    for name in names:
        rows = [row for row in kinds.rows if row["kind"] == name]
        charts[name] = _curves(kinds, rows, (name, *_SWEEP[1:]))
        charts[name]["note"] = f"{_AS_ABOVE} {kinds.note}"
        charts[name]["layout"] |= {"meta": {"small": True}, "showlegend": False}
        charts[name]["layout"]["yaxis"] |= _scale(kinds.rows)
    return charts


def waterfall(table: Table) -> Chart:
    """Ideal speedup, what each cost takes from it, and the measured one. table: "waterfall"."""
    labels = ("Where the speedup goes", "", "speedup (×)")
    if not table.rows:
        return empty(labels, _NOTHING)
    measures = {IDEAL: "absolute", MEASURED: "total"}
    shown = ["after" if row["part"] in measures else "change" for row in table.rows]
    bars = {
        "type": "waterfall",
        "x": table.values("part"),
        "y": [row[key] for key, row in zip(shown, table.rows, strict=True)],
        "measure": [measures.get(str(row["part"]), "relative") for row in table.rows],
        "text": [_text(table, key, row) for key, row in zip(shown, table.rows, strict=True)],
        "textposition": "outside",
        "cliponaxis": False,
        "hoverinfo": "x+text",
        "decreasing": {"marker": {"color": PLAIN}},
        "increasing": {"marker": {"color": BONUS}},
        "totals": {"marker": {"color": ACCEPTED}},
        "connector": {"line": {"color": INK, "width": 1, "dash": "dot"}},
        "showlegend": False,
    }
    return _with_plain(chart(labels, [bars], f"Measured. {table.note} The line at 1 is plain decoding."))


def policies(table: Table) -> Chart:
    """Predicted speedup of every policy, one bar each. table: "policies"."""
    labels = ("Draft length policies, replayed", "predicted speedup (×)", "")
    if not table.rows:
        return empty(labels, _NOTHING)
    names = table.values("policy")
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": table.values("speedup"),
        "y": names,
        "text": [_text(table, "speedup", row) for row in table.rows],
        "textposition": "auto",
        "hovertext": [
            f"{row['policy']}: {_text(table, 'speedup', row)}; {_text(table, 'drafts', row)} drafted, "
            f"{_text(table, 'passes', row)} target passes; verdicts not recorded: {_text(table, 'unknown', row)}"
            for row in table.rows
        ],
        "hoverinfo": "text",
        "marker": {"color": ACCEPTED},
        "showlegend": False,
    }
    axes = {"xaxis": {"rangemode": "tozero"}, "yaxis": {"autorange": "reversed"}}
    drawn = chart(labels, [bars], f"Fitted. {table.note}", **axes)
    drawn["layout"]["height"] = 80 + 24 * len(names)
    return drawn


def _curves(table: Table, rows: Sequence[Row], labels: tuple[str, str, str]) -> Chart:
    if not rows:
        return empty(labels, _NOTHING)
    gammas = [row["gamma"] for row in rows]
    measured = [row for row in rows if row["measured"] is not None]
    data = [
        _line("predicted", gammas, [row["predicted"] for row in rows], {"color": ACCEPTED, "width": 2}),
        _line("Leviathan", gammas, [row["leviathan"] for row in rows], {"color": BONUS, "width": 1.5, "dash": "dash"}),
    ]
    if measured:
        data += [_intervals(measured), _points(table, measured)]
    note = (
        "Points: measured, with 95% intervals, cut at the frame. Line: predicted (fitted). Dashed: "
        f"Leviathan's formula with the measured alpha and c (fitted). The line at 1 is plain decoding. {table.note}"
    )
    axes = {"xaxis": {"dtick": 1 if gammas[-1] <= 10 else 2}, "yaxis": _scale(rows)}
    return _with_plain(chart(labels, data, note, **axes))


def _scale(rows: Sequence[Row]) -> dict[str, Any]:
    """An axis with room for every point and curve; an interval may go on beyond it, as few prompts make it huge."""
    shown = [row[key] for row in rows for key in ("measured", "predicted", "leviathan")]
    return {"range": [0, _ROOM * max(value for value in shown if value is not None)]}


def _points(table: Table, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "measured",
        "x": [row["gamma"] for row in rows],
        "y": [row["measured"] for row in rows],
        "text": [f"gamma {row['gamma']}: {_text(table, 'measured', row)}" for row in rows],
        "hoverinfo": "text",
        "marker": {"color": INK, "size": 8, "symbol": "circle"},
    }


def _intervals(rows: Sequence[Row]) -> dict[str, Any]:
    """Upright lines from low to high, one trace with gaps, so that the chart holds the table's own numbers."""
    known = [row for row in rows if row["low"] is not None]
    x = [value for row in known for value in (row["gamma"], row["gamma"], None)]
    y = [value for row in known for value in (row["low"], row["high"], None)]
    return _line("", x, y, {"color": INK, "width": 1.2}, showlegend=False, hoverinfo="skip")


def _with_plain(figure: Chart) -> Chart:
    """The speedup of plain decoding over itself as a line across."""
    line = {"color": PLAIN, "dash": "dot", "width": 1.5}
    across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}
    figure["layout"]["shapes"] = [across]
    return figure


def _line(name: str, x: Sequence[Value], y: Sequence[Value], line: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "name": name, "x": list(x), "y": list(y), "line": line, **more}


def _text(table: Table, key: str, row: Row) -> str:
    """A cell as the table shows it."""
    return cell_text(next(column for column in table.columns if column.key == key), row)
