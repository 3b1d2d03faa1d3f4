"""The Playground: controls on the left, the player on the right, and what happens between them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.trace.errors import SpecvizError
from specviz.trace.files import loads
from specviz.ui.checks import read_settings
from specviz.ui.controls import CHOICE, QUIET, Controls, Updates
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine
from specviz.ui.examples import recorded_lines, recorded_runs
from specviz.ui.live import Order, live_run
from specviz.ui.pair_check import PairCheck
from specviz.ui.player import StepPlayer
from specviz.ui.stops import Stops
from specviz.ui.tab import RUN, Tab
from specviz.ui.turns import Update
from specviz.ui.writer import replay_lines


class Playground(Tab):
    """Lays itself out in the current Blocks. stops: runs by visitor. traces: folder of recorded runs."""

    def __init__(self, engine: Engine, desk: Desk, stops: Stops, traces: Path) -> None:
        self._engine, self._desk, self._stops = engine, desk, stops
        self._traces, self._runs = traces, recorded_runs(traces)
        self._controls = Controls(engine.entries())
        self._lay_out()
        self._wire()

    def _lay_out(self) -> None:
        with gr.Row(elem_id="sv-page"):
            with gr.Column(elem_id="sv-start", min_width=280):
                self._lay_out_recorded()
                self._controls.prompt()
                with gr.Row(elem_id="sv-run"):
                    self._run = gr.Button("Run", variant="primary", min_width=80)
                    self._stop = gr.Button("Stop", min_width=80)
                self._lay_out_status("sv-status")
            with gr.Column(elem_id="sv-settings", min_width=280):
                self._controls.pair()
                self._check = PairCheck(self._engine, "sv-doctor")
                self._controls.ways()
                self._controls.settings()
                self._controls.more()
            with gr.Column(elem_id="sv-view", min_width=280):
                first = next(iter(self._runs), None)
                self._view = StepPlayer(self._lines_of(first) if first else "", elem_id="sv-player")

    def _lay_out_recorded(self) -> None:
        choices = [(title, name) for name, title in self._runs.items()]
        self._recorded = gr.Radio(
            choices,
            value=choices[0][1] if choices else None,
            label="Recorded runs" if choices else "Recorded runs: none here yet. Press Run to make one",
            elem_id="sv-recorded",
        )

    def _wire(self) -> None:
        self._controls.wire()
        self._check.wire(self._controls.inputs["pair"])
        places = [*self._controls.problem_updates({"stop": ""}), self._view, self._status, self._recorded]
        running = self._run.click(
            self._start,
            {*self._controls.inputs.values()},
            places,
            **RUN,
        )
        self._stop.click(self._request_stop, None, self._status, **QUIET)
        shown = [self._view, self._status, self._recorded]
        self._recorded.input(self._show_recorded, self._recorded, shown, cancels=[running], **CHOICE)
        self._view.trace_import(self._show_import, None, shown, cancels=[running], **CHOICE)

    def _start(self, values: dict[Any, Any], request: gr.Request) -> Iterator[Updates]:
        """A live run, as updates of the page."""
        named = self._controls.named(values)
        settings, problems = read_settings(named)
        if not named["pair"]:
            problems["pair"] = "No pair can be loaded here; the list below says why."
        yield self._controls.problem_updates(problems)
        if problems:
            fields = ", ".join(name.replace("_", " ") for name in problems)
            yield self._say(f"Nothing was run. See the sentences at: {fields}.")
            return
        order = Order(str(named["pair"]), named["prompt"], settings)
        yield from self._follow(lambda stop: live_run(self._engine, self._desk, order, stop), self._show, request)

    def _show(self, update: Update) -> Updates:
        return super()._show(update) | ({self._recorded: None} if update.opens else {})

    def _show_recorded(self, name: str) -> Updates:
        if name not in self._runs:
            return self._say("There is no such recorded run.")
        return {self._view: self._lines_of(name), **self._say("")}

    def _lines_of(self, name: str) -> str:
        return recorded_lines(self._traces / name)

    def _show_import(self, event: gr.EventData) -> Updates:
        """The text that the player read from a file; the page keeps what it shows unless it is a trace."""
        text = getattr(event, "text", None)  # from the browser: may be anything
        try:
            trace = loads(text if isinstance(text, str) else "")
        except SpecvizError as error:
            return self._say(str(error))
        return {self._view: replay_lines(trace, "imported"), self._recorded: None, **self._say("Imported.")}
