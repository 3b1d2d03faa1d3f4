"""What all charts share: the shape of the dict, axes that read well from 320 px up, thinning."""

from typing import Any, Literal

import numpy as np

Chart = dict[str, Any]  # {"data": [...], "layout": {...}, "note": text}
Cursor = Literal["time", "round"]

ACCEPTED, BONUS, PLAIN = "var(--sv-accepted)", "var(--sv-bonus)", "var(--sv-plain)"
INK, FAINT = "var(--sv-text)", "var(--sv-grid)"
MOST_POINTS = 800  # more cannot be told apart on a screen


def chart(
    labels: tuple[str, str, str],
    data: list[dict[str, Any]],
    note: str,
    cursor: Cursor | None = None,
    **axes: Any,
) -> Chart:
    """A chart; labels: title, x axis and y axis with units. `axes` adds to xaxis and yaxis.

    Fonts and grid colours are the player's, which also shows the title as a heading of the page.
    """
    title, x, y = labels
    layout = {
        "title": {"text": title},
        "height": 240,
        "margin": {"l": 48, "r": 10, "t": 30, "b": 44},
        "showlegend": sum(trace.get("showlegend", True) for trace in data) > 1,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "xaxis": _axis(x, axes.get("xaxis")),
        "yaxis": _axis(y, {"rangemode": "tozero", **axes.get("yaxis", {})}),
        "hovermode": "closest",
        "bargap": 0.35,
    }
    if cursor:
        layout["meta"] = {"cursor": cursor}
    return {"data": data, "layout": layout, "note": note}


def empty(labels: tuple[str, str, str], reason: str) -> Chart:
    """A chart without data: axes, and the reason as its note and in its middle."""
    blank = chart(labels, [], reason)
    place = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
    blank["layout"]["annotations"] = [{"text": reason, **place}]
    for axis in ("xaxis", "yaxis"):
        blank["layout"][axis] |= {"range": [0, 1], "showticklabels": False}
    return blank


def thin(length: int) -> list[int]:
    """At most MOST_POINTS indices spread evenly over range(length), first and last among them."""
    if length <= MOST_POINTS:
        return list(range(length))
    return np.unique(np.linspace(0, length - 1, MOST_POINTS).round().astype(int)).tolist()


def _axis(title: str, more: dict[str, Any] | None) -> dict[str, Any]:
    return {"title": {"text": title, "standoff": 6}, "automargin": True, "fixedrange": True, **(more or {})}
