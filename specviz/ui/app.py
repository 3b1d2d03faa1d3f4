"""The whole page, and how it is served."""

import logging
import threading
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.ui.api import make_run_trace
from specviz.ui.compare import Compare
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine, local_engine
from specviz.ui.examples import TRACES
from specviz.ui.layout import TAB_CSS
from specviz.ui.losslessness import Losslessness
from specviz.ui.playground import Playground
from specviz.ui.stops import Stops
from specviz.ui.theme import CSS, theme
from specviz.ui.tune import Tune

logger = logging.getLogger(__name__)
_MOST_BODY = 32 * 1024 * 1024  # bytes of one request: an imported trace of 4,096 tokens is about 5 MB
_HOUR = 3600  # seconds between removals of old downloads, and their age

_TITLE = (
    "# specviz\nReal speculative decoding, one round at a time; "
    "every number says whether it is measured, exact, fitted or quoted."
)


def build(engine: Engine | None = None, warm: bool = True, traces: Path = TRACES) -> gr.Blocks:
    """The page. warm: load the embedded pair in the background once a visitor has the page.

    traces: folder of recorded runs (*.json.gz); the page opens on the first by name.
    """
    engine = engine or local_engine()
    desk, stops = Desk(engine.load), Stops()

    with gr.Blocks(
        title="specviz: speculative decoding, token by token", fill_width=True, delete_cache=(_HOUR, _HOUR)
    ) as page:
        with gr.Row(elem_id="sv-head"):
            gr.Markdown(_TITLE, elem_id="sv-title")
            shade = gr.Button("Light / dark", size="sm", elem_id="sv-shade")
            shade.click(None, None, None, js="() => { document.body.classList.toggle('dark'); }")
        with gr.Tabs():
            with gr.Tab("Playground"):
                Playground(engine, desk, stops, traces)
            with gr.Tab("Compare"):
                compare = Compare(engine, desk, stops, traces)
            with gr.Tab("Tune"):
                Tune(engine, desk, stops)
            with gr.Tab("Losslessness"):
                Losslessness(engine, desk, stops)
        gr.api(make_run_trace(engine, desk), api_name="run_trace", concurrency_limit=2)

        def _leave(request: gr.Request) -> None:
            stops.stop(str(request.session_hash))
            compare.leave(str(request.session_hash))

        page.unload(_leave)
        if warm:
            page.load(_Warm(engine, desk), None, None, queue=False, api_visibility="private")
    return page.queue(max_size=32)


def launch_options() -> dict[str, Any]:
    """Arguments of `launch` for `build()`; gradio reads GRADIO_SERVER_NAME and GRADIO_SERVER_PORT itself."""
    return {
        "theme": theme(),
        "css": CSS + TAB_CSS,
        "run_history": False,
        "ssr_mode": False,
        "max_file_size": "5mb",
        "footer_links": [],
        "app_kwargs": {"max_body_size": _MOST_BODY},
    }


class _Warm:
    """Loads the first available pair once, in a thread of its own, so that the first Run starts at once."""

    def __init__(self, engine: Engine, desk: Desk) -> None:
        self._engine, self._desk = engine, desk
        self._once = threading.Lock()

    def __call__(self) -> None:
        if self._once.acquire(blocking=False):
            threading.Thread(target=self._load, name="warm", daemon=True).start()

    def _load(self) -> None:
        key = next((entry.key for entry in self._engine.entries() if entry.embedded and entry.available), None)
        if key is None:
            return
        try:
            with self._desk.take_ticket() as ticket:
                if ticket.ahead == 0:
                    ticket.pair(key)
        except Exception as error:
            logger.warning("the pair could not be loaded ahead: %s", error)
