"""The files in assets that make a component of the page: scripts and styles, put one after the other."""

from functools import cache
from pathlib import Path

import gradio as gr
import plotly

from specviz.models.catalog import ASSETS

PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


@cache
def joined(names: tuple[str, ...], ending: str) -> str:
    """The text of files below assets, by name without their ending; every name in one is visible in those after it."""
    return "\n".join((ASSETS / f"{name}{ending}").read_text("utf-8") for name in names)


@cache
def template(name: str) -> str:
    """A template below assets, with the address of plotly.js in the place it keeps for it."""
    return (ASSETS / name).read_text("utf-8").replace("@PLOTLY@", PLOTLY_JS.as_posix())


@cache
def serve_plotly() -> None:
    """Let the page load plotly.js from the installed plotly package, so that the two always match."""
    gr.set_static_paths([PLOTLY_JS])
