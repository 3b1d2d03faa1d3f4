"""A small page that holds only the player, and the flags the browser is started with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import gradio as gr

from specviz.ui.player import StepPlayer

CHROMIUM_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync"]  # fmt: skip


def player_app(value: str, extra: Callable[[StepPlayer], None] = lambda player: None) -> gr.Blocks:
    with gr.Blocks() as app:
        gr.Markdown("# The player")
        player = StepPlayer(value, elem_id="sp")
        extra(player)
    return app


@contextmanager
def launched(app: gr.Blocks) -> Iterator[str]:
    _, url, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True, run_history=False, ssr_mode=False)
    try:
        yield url
    finally:
        app.close()
