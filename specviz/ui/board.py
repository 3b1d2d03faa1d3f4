"""The board: a component that shows a growing report. Its value is made by `specviz.ui.board_writer`.

The value is append-only lines of JSON (NDJSON), never rewritten; each is an object with a type `t`:

    board     {"t", "id", "title"}
              opens a board (`id` is unique, so a new first line means a new board; an empty value clears it)
    progress  {"t", "done", "of", "text"}             how far the work is; the newest line counts
    report    {"t", "report": {"title", "sentences": [text], "tables": [TABLE], "sources": [text]}}
              takes the place of all sentences and tables. TABLE is {"key", "title", "note", "folded", "columns",
              "rows"}; those that are folded stand below the charts;
              a column is {"key", "title", "about", "kind"}, kind null for labels; a row is a list of cells in
              the columns' order, a cell its text or [text, interval]
    charts    {"t", "charts": {name: {"data", "layout", "note"}}}     takes the place of all charts, see charts.style;
              a chart with layout.meta.small shares its row with others
    stream    {"t", "key", "title", "lanes": [title]}     opens a row of token streams under each other
    tokens    {"t", "key", "pieces": {id: {"text", "kind"?}}, "lanes": {index: [[piece, origin, at], ...]}}
              more tokens of the lanes of a stream. piece: its number in the board's own table of display pieces,
              sent before the first use. at: the character of the output at which it begins, from 0
    end       {"t", "sentence", "exports": {file name: text}}        closes the board; one button a file, that of
              TABLE.key + ".csv" below its table

Python makes every text of a value (`specviz.analysis.tables.cell_text`); the browser only lays out and draws.
"""

import html

import gradio as gr

from specviz.ui.page_files import joined, serve_plotly, template

SCRIPTS = ("player/words", "player/dom", "player/pieces", "player/charts", "player/transfer", "board/words",
           "board/board", "board/tables", "board/streams", "board/main")  # fmt: skip
STYLES = ("player/palette", "player/player", "player/stream", "board/board")


class Board(gr.HTML):
    """Shows what a `BoardWriter` wrote; the value is its text. hint: what stands there while it is empty."""

    def __init__(self, value: str = "", hint: str = "Nothing here yet.", **kwargs):
        serve_plotly()
        super().__init__(
            value,
            html_template=template("board/template.html").replace("@HINT@", html.escape(hint)),
            css_template=joined(STYLES, ".css"),
            js_on_load=joined(SCRIPTS, ".js"),
            apply_default_css=False,
            **kwargs,
        )

    def postprocess(self, value: str | None) -> str:
        return value or ""

    def api_info(self) -> dict:
        return {"type": "string", "description": "Lines of JSON, see specviz.ui.board"}
