"""What all charts share: the shape of the dict, axes that read well from 320 px up, thinning."""

from typing import Any, Literal

import numpy as np

Chart = dict[str, Any]  # {"data": [...], "layout": {...}, "note": text}
Cursor = Literal["time", "round"]

ACCEPTED, REJECTED, PLAIN = "var(--sv-accepted)", "var(--sv-rejected)", "var(--sv-plain)"
BONUS, TEXT, GRID = "var(--sv-bonus)", "var(--sv-text)", "var(--sv-grid)"
MOST_POINTS = 800  # more cannot be told apart on a screen


def chart(
    title: str,
    x: str,
    y: str,
    data: list[dict[str, Any]],
    note: str,
    cursor: Cursor | None = None,
    **axes: Any,
) -> Chart:
    """A chart; `x` and `y` are axis titles with units, `axes` adds to xaxis and yaxis."""
    layout = {
        "title": {"text": title, "x": 0, "xref": "container", "xanchor": "left", "pad": {"l": 8}, "y": 0.97,
                  "yanchor": "top", "font": {"size": 13, "color": TEXT}},
        "height": 250,
        "margin": {"l": 48, "r": 10, "t": 34, "b": 64},
        "font": {"size": 11, "color": TEXT},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": len([t for t in data if t.get("showlegend", True)]) > 1,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.28, "yanchor": "top"},
        "xaxis": _axis(x, axes.get("xaxis")),
        "yaxis": _axis(y, axes.get("yaxis")) | {"rangemode": "tozero"},
        "hovermode": "closest",
        "bargap": 0.35,
        "uirevision": title,
    }  # fmt: skip
    if cursor:
        layout["meta"] = {"cursor": cursor}
    return {"data": data, "layout": layout, "note": note}


def empty(title: str, x: str, y: str, reason: str) -> Chart:
    """A chart without data: axes, and the reason as its note and in its middle."""
    blank = chart(title, x, y, [], reason)
    place = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
    blank["layout"]["annotations"] = [{"text": reason, "font": {"size": 12, "color": TEXT}, **place}]
    for axis in ("xaxis", "yaxis"):
        blank["layout"][axis] |= {"range": [0, 1], "showticklabels": False}
    return blank


def thin(length: int) -> list[int]:
    """At most MOST_POINTS indices spread evenly over range(length), first and last among them."""
    if length <= MOST_POINTS:
        return list(range(length))
    return np.unique(np.linspace(0, length - 1, MOST_POINTS).round().astype(int)).tolist()


def _axis(title: str, more: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 6},
        "gridcolor": GRID,
        "linecolor": GRID,
        "zerolinecolor": GRID,
        "automargin": True,
        "fixedrange": True,
        **(more or {}),
    }
