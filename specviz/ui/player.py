"""The step player as a Gradio component; what it looks like and does stands in assets/player."""

from functools import cache
from pathlib import Path

import gradio as gr
import plotly

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "player"
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

# One after the other they are the body of one function, so every name is visible in the files after it.
SCRIPTS = ("words", "dom", "pieces", "run", "draft", "lane", "copies", "head", "bars", "inspector", "tree", "mask",
           "rules", "cuts", "sentence", "charts", "keep", "transfer", "map", "transport", "main")  # fmt: skip
STYLES = ("palette", "player", "stream", "inspector", "ways")


class StepPlayer(gr.HTML):
    """Shows a run; the value is the append-only text of `specviz.ui.stream` lines.

    The event `trace_import` carries `name` and `text` of a file that a visitor chose: check it and answer with
    the lines of a run.
    """

    def __init__(self, value: str = "", **kwargs):
        _serve_plotly()
        super().__init__(
            value,
            html_template=_template(),
            css_template=_joined(STYLES, ".css"),
            js_on_load=_joined(SCRIPTS, ".js"),
            apply_default_css=False,
            **kwargs,
        )

    def postprocess(self, value: str | None) -> str:
        return value or ""

    def api_info(self) -> dict:
        return {"type": "string", "description": "Lines of JSON, see specviz.ui.stream"}


@cache
def _serve_plotly() -> None:
    """Let the page load plotly.js from the installed plotly package, so that the two always match."""
    gr.set_static_paths([PLOTLY_JS])


@cache
def _template() -> str:
    return (ASSETS / "template.html").read_text("utf-8").replace("@PLOTLY@", PLOTLY_JS.as_posix())


@cache
def _joined(names: tuple[str, ...], ending: str) -> str:
    return "\n".join((ASSETS / f"{name}{ending}").read_text("utf-8") for name in names)
