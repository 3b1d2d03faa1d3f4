"""The step player as a Gradio component; what it looks like and does stands in assets/player."""

import gradio as gr

from specviz.ui.page_files import joined, serve_plotly, template

SCRIPTS = ("words", "dom", "pieces", "run", "draft", "lane", "copies", "head", "bars", "inspector", "tree", "mask",
           "rules", "cuts", "sentence", "charts", "keep", "transfer", "map", "transport", "main")  # fmt: skip
STYLES = ("palette", "player", "stream", "inspector", "ways")


class StepPlayer(gr.HTML):
    """Shows a run; the value is the append-only text of `specviz.ui.stream` lines.

    The event `trace_import` carries `name` and `text` of a file that a visitor chose: check it and answer with
    the lines of a run.
    """

    def __init__(self, value: str = "", **kwargs):
        serve_plotly()
        super().__init__(
            value,
            html_template=template("player/template.html"),
            css_template=joined(tuple(f"player/{name}" for name in STYLES), ".css"),
            js_on_load=joined(tuple(f"player/{name}" for name in SCRIPTS), ".js"),
            apply_default_css=False,
            **kwargs,
        )

    def postprocess(self, value: str | None) -> str:
        return value or ""

    def api_info(self) -> dict:
        return {"type": "string", "description": "Lines of JSON, see specviz.ui.stream"}
