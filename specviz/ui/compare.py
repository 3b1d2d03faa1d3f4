"""The tab Compare: two to four lanes on the same prompts, in one run, side by side."""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Settings
from specviz.ui.board import Board
from specviz.ui.checks import PAGE_LIMITS, read_settings
from specviz.ui.comparison import CompareUpdate, Comparison, compare
from specviz.ui.controls import CHOICE, QUIET, Updates, problem_place
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine
from specviz.ui.examples import recorded_runs
from specviz.ui.lane_controls import lane_set
from specviz.ui.lane_names import Choice, named_lanes
from specviz.ui.prompt_choice import PromptChoice
from specviz.ui.stops import Stops
from specviz.ui.tab import RUN, Tab
from specviz.ui.trace_files import TraceFiles

MOST_REPEATS = 5
_FIRST = (
    Settings(method="draft-model"),
    Settings(method="prompt-lookup"),
    Settings(method="early-exit"),
    Settings(method="medusa"),
)
_SHARED = {"temperature": 0.0, "max_new_tokens": 48, "seed": 0}
_ABOUT = (
    "Every lane that runs here decodes the same prompts, in turns with the others and with plain decoding, so that a "
    "machine that slows down slows all of them."
)
_HINT = "Choose two to four lanes and press Compare: their outputs, figures and charts will stand here."


class Compare(Tab):
    """Lays itself out in the current Blocks. stops: runs by visitor. traces: folder of recorded runs."""

    def __init__(self, engine: Engine, desk: Desk, stops: Stops, traces: Path) -> None:
        self._engine, self._desk, self._stops = engine, desk, stops
        self._lanes = lane_set(_FIRST, engine, traces, recorded_runs(traces))
        self._files = TraceFiles()
        self._lay_out()
        self._wire()

    def _lay_out(self) -> None:
        with gr.Row(elem_classes="sv-tab", elem_id="sv-compare"):
            with gr.Column(min_width=280, elem_classes="sv-tab-start"):
                gr.Markdown(_ABOUT)
                with gr.Row():
                    self._run = gr.Button("Compare", variant="primary", min_width=80)
                    self._stop = gr.Button("Stop", min_width=80)
                self._lay_out_status("sv-compare-status", elem_classes="sv-say")
                self._problem = problem_place()
            with gr.Column(min_width=280, elem_classes="sv-tab-choose"):
                self._number = gr.Radio([2, 3, 4], value=2, label="Lanes", elem_id="sv-lanes")
                for place, lane in enumerate(self._lanes):
                    lane.lay_out(shown=place < 2)
                self._prompts = PromptChoice(self._engine, "sv-compare")
                self._lay_out_shared()
            with gr.Column(min_width=280, elem_classes="sv-tab-board"):
                self._view = Board(hint=_HINT, elem_id="sv-compare-board")
                self._download = gr.DownloadButton("Traces of this comparison", visible=False, size="sm")

    def _lay_out_shared(self) -> None:
        most = PAGE_LIMITS["max_new_tokens"][2]
        titles = {"temperature": "Temperature (0: greedy)", "tokens": f"Tokens (at most {most})", "seed": "Seed"}
        with gr.Row():
            numbers = [
                gr.Number(value, label=title, min_width=100, elem_id=f"sv-compare-{name}")
                for (name, title), value in zip(titles.items(), _SHARED.values(), strict=True)
            ]
        self._shared = dict(zip(_SHARED, numbers, strict=True))
        self._repeats = gr.Slider(1, MOST_REPEATS, value=1, step=1, label="Repeats", elem_id="sv-compare-repeats")

    def _wire(self) -> None:
        for lane in self._lanes:
            lane.wire()
        boxes = [lane.box for lane in self._lanes]
        self._number.input(_shown_lanes, self._number, boxes, **CHOICE)
        inputs = {self._number, self._repeats, *self._shared.values(), *self._prompts.inputs}
        places = [self._view, self._status, self._problem, self._download]
        self._run.click(
            self._start,
            inputs.union(*(lane.inputs.values() for lane in self._lanes)),
            places + [place for lane in self._lanes for place in lane.outputs],
            **RUN,
        )
        self._stop.click(self._request_stop, None, self._status, **QUIET)

    def _start(self, values: dict[Any, Any], request: gr.Request) -> Iterator[Updates]:
        """A comparison, as updates of the page."""
        order, page = self._order(values)
        yield page
        if order is None:
            return
        visitor = str(request.session_hash)
        yield from self._follow(
            lambda stop: compare(self._engine, self._desk, order, stop),
            lambda update: self._show_lanes(update, order, visitor),
            request,
        )

    def _order(self, values: dict[Any, Any]) -> tuple[Comparison | None, Updates]:
        """What was ordered, and the updates that show every problem in its place; None if there is one."""
        shared = {name: values.get(control) for name, control in self._shared.items()}
        lanes = self._lanes[: _lane_count(values.get(self._number))]
        read = [lane.choice(values, shared) for lane in lanes]
        page: Updates = {}
        for lane, (_, problem) in zip(lanes, read, strict=True):
            page |= lane.problem_update(problem)
        try:
            general = self._general(values, shared)
        except SpecvizError as error:
            return None, page | self._say("Nothing was run.", str(error))
        if any(problem for _, problem in read):
            return None, page | self._say("Nothing was run. See the sentences in the lanes.")
        choices: list[Choice] = [choice for choice, _ in read if choice is not None]
        return Comparison(named_lanes(choices), *general), page | self._say("")

    def _general(self, values: dict[Any, Any], shared: dict[str, Any]) -> tuple[list, int]:
        """Prompts and repeats. Raises SpecvizError with everything that is wrong with what all lanes share."""
        _, problems = read_settings({**shared, "prompt": ""})
        repeats = values.get(self._repeats)
        if isinstance(repeats, bool) or repeats not in range(1, MOST_REPEATS + 1):
            problems["repeats"] = f"Repeats must be a whole number from 1 to {MOST_REPEATS}."
        try:
            prompts = self._prompts.prompts(values)
        except SpecvizError as error:
            problems["prompts"] = str(error)
        if problems:
            raise SpecvizError(" ".join(problems.values()))
        return prompts, int(repeats)

    def _show_lanes(self, update: CompareUpdate, order: Comparison, visitor: str) -> Updates:
        page = self._say(update.status)
        if update.text is not None:
            page[self._view] = update.text
        for control, lane in zip(self._lanes, order.lanes, strict=False):
            if lane.label in update.problems:
                page |= control.problem_update(update.problems[lane.label])
        if update.decoded:
            page[self._download] = gr.update(value=self._files.save(visitor, update.decoded), visible=True)
        return page

    def leave(self, visitor: str) -> None:
        """Forget what a visitor who has left might have downloaded."""
        self._files.forget(visitor)

    def _say(self, sentence: str, problem: str = "") -> Updates:
        shown = gr.update(value=html.escape(problem), visible=bool(problem))
        return {self._status: html.escape(sentence), self._problem: shown}


def _lane_count(value: Any) -> int:
    return value if value in (2, 3, 4) and not isinstance(value, bool) else 2


def _shown_lanes(value: Any) -> list[Any]:
    return [gr.update(visible=place < _lane_count(value)) for place in range(4)]
