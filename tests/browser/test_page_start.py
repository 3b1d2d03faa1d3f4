"""The main command: from `python app.py` to a page that shows the first recorded run."""

import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import expect

from specviz.ui.examples import TRACES, recorded_runs

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 20


@contextmanager
def started():
    """The address of `python app.py` on a free port that only the environment names."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command, environment = [sys.executable, "app.py"], {**os.environ, "GRADIO_SERVER_PORT": str(port)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def answers(url: str) -> bool:
    try:
        return urlopen(url, timeout=1).status == 200
    except (URLError, ConnectionError, TimeoutError):
        return False


def test_the_recorded_run_is_there_in_time_and_nothing_is_asked_elsewhere(page):
    addresses = []
    page.on("request", lambda request: addresses.append(request.url))
    begun = monotonic()
    with started() as url:
        while not answers(url):
            assert monotonic() - begun < MOST_SECONDS
            sleep(0.1)
        page.goto(url)
        expect(page.locator("#sv-player")).to_contain_text(next(iter(recorded_runs(TRACES).values())))
        expect(page.locator("#sv-player")).to_contain_text("target passes")
        assert monotonic() - begun < MOST_SECONDS
        expect(page.locator("#sv-player .js-plotly-plot")).to_have_count(4)
        assert [a for a in addresses if not a.startswith((url, "data:", "blob:"))] == []
