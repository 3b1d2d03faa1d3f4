"""What the tabs share that run one thing at a time: the updates of a run, Stop, and the line that says what goes on."""

import html
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import gradio as gr

from specviz.ui.controls import Updates
from specviz.ui.stops import Stops


class Tab:
    """A tab has a status line and the stops of its visitors' runs."""

    _stops: Stops
    _status: gr.HTML

    def _follow(
        self, start: Callable[[threading.Event], Any], show: Callable[[Any], Updates], request: gr.Request
    ) -> Iterator[Updates]:
        """Every update of the run that `start` begins, as the page shows it; a closed tab closes the run."""
        with self._stops.watch(str(request.session_hash)) as stop, closing(start(stop)) as updates:
            for update in updates:
                yield show(update)

    def _request_stop(self, request: gr.Request) -> Any:
        if self._stops.stop(str(request.session_hash)):
            return gr.skip()  # the run itself says when it has stopped
        return html.escape("Nothing is running.")

    def _say(self, sentence: str) -> Updates:
        return {self._status: html.escape(sentence)}
