"""The tab Tune: which gamma to use here, or none, from one calibration."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from specviz.ui.board import Board
from specviz.ui.controls import QUIET, Updates
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine
from specviz.ui.stops import Stops
from specviz.ui.tab import RUN, Tab
from specviz.ui.tune_controls import TuneControls
from specviz.ui.tuning import tune

_ABOUT = (
    "Every gamma decodes the same prompts, in turns with plain decoding. One of them also predicts all the others, so "
    "that you see how far the prediction can be trusted."
)
_HINT = "Press Tune: which gamma to use here, how sure that is, and where the time goes will stand here."


class Tune(Tab):
    """Lays itself out in the current Blocks. stops: runs by visitor."""

    def __init__(self, engine: Engine, desk: Desk, stops: Stops) -> None:
        self._engine, self._desk, self._stops = engine, desk, stops
        self._controls = TuneControls(engine, engine.entries())
        self._lay_out()
        self._wire()

    def _lay_out(self) -> None:
        with gr.Row(elem_classes="sv-tab", elem_id="sv-tune"):
            with gr.Column(min_width=280, elem_classes="sv-tab-start"):
                gr.Markdown(_ABOUT)
                with gr.Row():
                    self._run = gr.Button("Tune", variant="primary", min_width=80)
                    self._stop = gr.Button("Stop", min_width=80)
                self._lay_out_status("sv-tune-status", elem_classes="sv-say")
            with gr.Column(min_width=280, elem_classes="sv-tab-choose"):
                self._controls.amount()
                self._controls.pair()
                self._controls.ways()
            with gr.Column(min_width=280, elem_classes="sv-tab-board"):
                self._view = Board(hint=_HINT, elem_id="sv-tune-board")

    def _wire(self) -> None:
        self._controls.wire()
        self._run.click(
            self._start,
            {*self._controls.inputs.values()},
            [*self._controls.problem_updates({}), self._view, self._status],
            **RUN,
        )
        self._stop.click(self._request_stop, None, self._status, **QUIET)

    def _start(self, values: dict[Any, Any], request: gr.Request) -> Iterator[Updates]:
        """A calibration, as updates of the page."""
        yield from self._run_order(*self._controls.order(self._controls.named(values)), tune, request)
