"""The tab Losslessness: does speculative decoding write what plain decoding would? Right rules and wrong ones."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from specviz.trace.checked import FAULTS
from specviz.ui.board import Board
from specviz.ui.check_controls import CheckControls
from specviz.ui.checking import check
from specviz.ui.controls import QUIET, Updates
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine
from specviz.ui.stops import Stops
from specviz.ui.tab import RUN, Tab

_ABOUT = (
    "Speculative decoding is exact: its tokens have the very distribution of the target. **Draw** samples one place "
    "of a text thousands of times and holds the result against the exact probabilities, under a right rule and under "
    "rules that are wrong on purpose. **Compare texts** decodes greedily and looks for the first token that differs."
)
_READING = """
- **Bars.** Grey is exact: the product of the target's probabilities. The coloured bar beside it is how often this
  continuation was drawn. Under a right rule the two differ by luck alone.
- **Total variation** is half the sum of all those differences. Luck shrinks as draws come in, by half for four times
  as many, and a right rule goes down with it. A wrong rule stops falling: it draws from another distribution, and what
  is left is the distance between the two.
- **p-value**: the chance of a chi-square at least this large if the rule is right. For a right rule it is as likely
  to be 0.3 as 0.03 or 0.9, so 0.3 says nothing against it, and 0.9 is no better than 0.3. A fault drives it to 0 as
  draws come in. Below 0.0001 it counts as different here; one right check in ten thousand ends there too.
- **No difference seen** is not a proof: a small fault, or one that shows only elsewhere, needs more draws or another
  prompt.
- **Near-tie**: two tokens whose scores are closer than the rounding of the number format. Passes of different width
  round differently, so either may win. The place is computed again in float32 to tell a near-tie from a fault.
"""
_WRONG = "\n".join(f"- **{info.title}.** {info.about}" for info in FAULTS.values())
_HINT = "Press Draw: the drawn and the exact distribution, and how far they are apart, will grow here."


class Losslessness(Tab):
    """Lays itself out in the current Blocks. stops: runs by visitor."""

    def __init__(self, engine: Engine, desk: Desk, stops: Stops) -> None:
        self._engine, self._desk, self._stops = engine, desk, stops
        self._controls = CheckControls(engine)
        self._lay_out()
        self._wire()

    def _lay_out(self) -> None:
        with gr.Row(elem_classes="sv-tab", elem_id="sv-check"):
            with gr.Column(min_width=280, elem_classes="sv-tab-start"):
                gr.Markdown(_ABOUT)
                with gr.Row():
                    self._draw = gr.Button("Draw", variant="primary", min_width=80)
                    self._compare = gr.Button("Compare texts", min_width=110)
                    self._stop = gr.Button("Stop", min_width=60)
                self._lay_out_status("sv-check-status", elem_classes="sv-say")
            with gr.Column(min_width=280, elem_classes="sv-tab-choose"):
                self._controls.both()
                self._controls.draws()
                self._controls.texts()
            with gr.Column(min_width=280, elem_classes="sv-tab-board"):
                self._view = Board(hint=_HINT, elem_id="sv-check-board")
                with gr.Accordion("How to read this"):
                    gr.Markdown(_READING)
                    gr.Markdown(f"The rules that are wrong on purpose:\n\n{_WRONG}")

    def _wire(self) -> None:
        inputs = {*self._controls.inputs.values(), *self._controls.prompts.inputs}
        places = [*self._controls.problem_updates({"prompts": ""}), self._view, self._status]
        for button, start in ((self._draw, self._start_draws), (self._compare, self._start_texts)):
            button.click(start, inputs, places, concurrency_id="check", **RUN)
        self._stop.click(self._request_stop, None, self._status, **QUIET)

    def _start_draws(self, values: dict[Any, Any], request: gr.Request) -> Iterator[Updates]:
        yield from self._run_order(*self._controls.draws_order(values), check, request)

    def _start_texts(self, values: dict[Any, Any], request: gr.Request) -> Iterator[Updates]:
        yield from self._run_order(*self._controls.texts_order(values), check, request)
