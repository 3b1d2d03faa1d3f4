"""A browser, and a page with the player in it that can show every trace of the tests."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

sys.path.insert(0, str(Path(__file__).parent))

import texts
import traces
import ways
import wire
from serving import CHROMIUM_ARGS, launched, trace_app

from specviz.ui.writer import replay_lines

expect.set_options(timeout=30_000)  # the machine may be busy with other tests
TRACES = {
    "example": traces.example(),
    "greedy": traces.example(temperature=0.0),
    "plain": traces.example(12, gamma=0, baseline=False),
    "slow": traces.example(24, gamma=8),
    "long": traces.example(600),
    "large seed": traces.example(4, seed=2**63 + 1),
    "close": traces.close_calls(),
    "long prompt": traces.example(4, prompt_tokens=100),
    "hostile": texts.hostile(),
    "control": texts.control(),
    "marks": texts.marks(),
    "rtl": texts.rtl(),
    "split": texts.split(),
}
# runs of the other ways to draft go through the page's own writer, figures and charts included
WAYS = {
    "tree": ways.tree(),
    "wide tree": ways.tree((4, 3, 2), tokens=16),
    "copied": ways.copied(),
    "composite": ways.copied(40, "composite"),
    "early exit": ways.early_exit(),
    "other tokenizer": ways.other_tokenizer(),
    "block": ways.under("block"),
    "typical": ways.under("typical"),
    "match": ways.under("match"),
    "fallen back": ways.fallen_back(),
}
LINES = {name: wire.lines(trace, run_id=name) for name, trace in TRACES.items()}
LINES |= {name: replay_lines(trace, "recorded").splitlines(keepends=True) for name, trace in WAYS.items()}
TRACES |= WAYS
LINES["live"] = wire.lines(traces.example(30), "live", "live-1")
LINES["damaged"] = [
    *LINES["example"][:6],
    "{not json\n",
    '{"t":"round","lane":"speculative","round":{}}\n',
    *LINES["example"][6:],
]
LINES["none"] = []


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict) -> dict:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        sentence = "These tests need Chromium: install it, or name it in the variable CHROMIUM."
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return {**browser_type_launch_args, "executable_path": path, "args": CHROMIUM_ARGS}


@pytest.fixture(scope="session")
def player_url() -> Iterator[str]:
    with launched(trace_app(LINES, wire.lines)) as url:
        yield url


@pytest.fixture
def problems(page: Page) -> list[str]:
    """What went wrong in the page, and every address outside this machine that it asked for."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    page.on(
        "request",
        lambda request: (
            found.append(request.url) if "//127.0.0.1" not in request.url and request.url.startswith("http") else None
        ),
    )
    return found


@pytest.fixture
def show(page: Page, player_url: str, problems: list[str]) -> Iterator[Callable[..., Page]]:
    """show(name, width, theme): the page with this trace at its last step; fails on errors and outside requests."""

    def opened(name: str, width: int = 1280, theme: str = "light") -> Page:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{player_url}/?trace={name}&__theme={theme}")
        page.wait_for_selector("#sp .status:not(:empty)")
        if LINES[name]:
            page.wait_for_selector("#sp .sv:not(.empty)")
            page.wait_for_function(
                "n => document.querySelectorAll('#sp .lane-speculative .round').length === n",
                arg=len(TRACES.get(name, TRACES["example"]).rounds),
            )
            page.wait_for_selector("#sp .plot .main-svg")
        return page

    yield opened
    assert problems == []
