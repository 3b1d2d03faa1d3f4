"""Pages that hold only the player, and the flags the browser is started with."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from specviz.trace.errors import SpecvizError
from specviz.trace.files import loads
from specviz.ui.player import StepPlayer

CHROMIUM_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync"]  # fmt: skip


def player_app(value: str, extra: Callable[[StepPlayer], None] = lambda player: None) -> gr.Blocks:
    """A page with a player that shows this value."""
    with gr.Blocks(title="The player") as app:
        gr.Markdown("# The player")
        player = StepPlayer(value, elem_id="sp")
        extra(player)
    return app


def trace_app(texts: dict[str, list[str]], replay: Callable) -> gr.Blocks:
    """Shows the lines named in the address (?trace=name), streams "live" on a button, answers imports."""

    def named(request: gr.Request) -> str:
        return "".join(texts[request.query_params["trace"]])

    def streamed() -> Iterator[str]:
        for end in range(2, len(texts["live"])):
            yield "".join(texts["live"][:end])
            time.sleep(0.03)
        yield "".join(texts["live"])

    def stalled() -> str:
        return "".join(texts["live"][:20])

    def imported(event: gr.EventData) -> str:
        try:
            return "".join(replay(loads(event.text), "imported", "imported-1"))
        except SpecvizError as error:
            raise gr.Error(str(error)) from None

    def wire(player: StepPlayer) -> None:
        app_load.append(player)
        gr.Button("Stream").click(streamed, None, player, show_progress="hidden")
        gr.Button("Stall").click(stalled, None, player, show_progress="hidden")
        gr.Button("Another").click(lambda: "".join(texts["example"]), None, player, show_progress="hidden")
        player.trace_import(imported, None, player, show_progress="hidden")

    app_load: list[StepPlayer] = []
    app = player_app("", wire)
    with app:
        app.load(named, None, app_load[0], show_progress="hidden")
    return app


@contextmanager
def launched(app: gr.Blocks, **options: Any) -> Iterator[str]:
    _, url, _ = app.launch(
        prevent_thread_lock=True, server_name="127.0.0.1", quiet=True, run_history=False, ssr_mode=False, **options
    )
    try:
        yield url.rstrip("/")
    finally:
        app.close()
