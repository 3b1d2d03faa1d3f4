"""What the tabs share that run one thing at a time: the line that says what goes on, the updates of a run, Stop."""

import html
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import gradio as gr

from specviz.ui.controls import Controls, Updates
from specviz.ui.desk import MOST_WAITING, Desk
from specviz.ui.engine import Engine
from specviz.ui.stops import Stops
from specviz.ui.turns import Update

RUN: dict[str, Any] = {
    "concurrency_limit": MOST_WAITING + 2,  # the desk lets one run at a time and tells the others
    "show_progress": "hidden",
    "api_visibility": "private",
}  # of a button that starts a run


class Tab:
    """A tab has a status line, a view that shows the run, and the stops of its visitors' runs."""

    _engine: Engine
    _desk: Desk
    _stops: Stops
    _controls: Controls
    _status: gr.HTML
    _view: gr.HTML

    def _lay_out_status(self, elem_id: str, **more: Any) -> None:
        self._status = gr.HTML(
            html_template="<p role='status'>${value}</p>", elem_id=elem_id, apply_default_css=False, **more
        )

    def _run_order(
        self, order: Any | None, problems: dict[str, str], run: Callable[..., Iterator[Update]], request: gr.Request
    ) -> Iterator[Updates]:
        """The problems beside their controls; then, if there is an order, every update of `run`."""
        yield self._controls.problem_updates(problems)
        if order is None:
            yield self._say("Nothing was run. See the sentences below.")
            return
        yield from self._follow(lambda stop: run(self._engine, self._desk, order, stop), self._show, request)

    def _follow(
        self, start: Callable[[threading.Event], Any], show: Callable[[Any], Updates], request: gr.Request
    ) -> Iterator[Updates]:
        """Every update of the run that `start` begins, as the page shows it; a closed tab closes the run."""
        with self._stops.watch(str(request.session_hash)) as stop, closing(start(stop)) as updates:
            for update in updates:
                yield show(update)

    def _show(self, update: Update) -> Updates:
        page = self._say(update.status)
        if update.text is not None:
            page[self._view] = update.text
        if update.problems:
            page |= self._controls.problem_updates(update.problems)
        return page

    def _request_stop(self, request: gr.Request) -> Any:
        if self._stops.stop(str(request.session_hash)):
            return gr.skip()  # the run itself says when it has stopped
        return html.escape("Nothing is running.")

    def _say(self, sentence: str) -> Updates:
        return {self._status: html.escape(sentence)}
