"""The early-exit lens: how well the model's first layers alone agree with all of them."""

from typing import Any

from specviz.analysis.ways import lens_reading, used_exit, used_row
from specviz.analysis.words import count
from specviz.charts.style import ACCEPTED, BONUS, INK, Chart, chart
from specviz.trace.schema import Trace


def exit_lens(trace: Trace) -> Chart:
    """beta and arg-max agreement by number of layers, and the exit this run drafted with. Needs `trace.lens`."""
    labels = ("Early-exit lens", "layers that draft", "agreement with all layers")
    lens = trace.lens or []
    layers = [row.layers for row in lens]
    data = [
        _line("β = Σ min(p, q)", layers, [row.beta for row in lens], ACCEPTED, "circle", "solid"),
        _line("same arg max", layers, [row.agree for row in lens], BONUS, "diamond", "dash"),
    ]
    used = used_exit(trace)
    if used is not None:
        data.append(_mark(used))
    note = (
        f"Measured over {count(lens[0].positions, 'position')} of this run's own text, {lens_reading(trace.settings)}. "
        f"The output does not depend on the layer; the number of accepted drafts and the speed do.{_chosen(trace)}"
    )
    return chart(labels, data, note, yaxis={"range": [0, 1.02]})


def _chosen(trace: Trace) -> str:
    row = used_row(trace)
    if row is None:
        return ""
    layers = f"{row.layers} of {trace.provenance.target.layers} layers"
    return f" This run drafted with {layers}: β {row.beta:.2f}, same arg max {row.agree:.0%}."


def _line(name: str, x: list[int], y: list[float], colour: str, symbol: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": x,
        "y": [round(value, 4) for value in y],
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"color": colour, "symbol": symbol, "size": 7},
    }


def _mark(layers: int) -> dict[str, Any]:
    line = {"color": INK, "dash": "dot", "width": 1.5}
    name = f"used: {layers}"
    return {"type": "scatter", "mode": "lines", "name": name, "x": [layers, layers], "y": [0, 1], "line": line}
