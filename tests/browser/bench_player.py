"""Timings of the player in Chromium, run by hand: python tests/browser/bench_player.py"""

import json
import os
import platform
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr  # noqa: E402
import traces  # noqa: E402
import wire  # noqa: E402
from playwright.sync_api import Page, sync_playwright  # noqa: E402
from serving import CHROMIUM_ARGS, launched, player_app  # noqa: E402

SCRUB = """
steps => {
  const scrubber = document.querySelector('#sp .scrubber'), times = [];
  for (const step of steps) {
    const start = performance.now();
    scrubber.value = step;
    scrubber.dispatchEvent(new Event('input'));
    document.querySelector('#sp').getBoundingClientRect().height;
    times.push(performance.now() - start);
  }
  return times;
}
"""
WATCH_TASKS = """
window.longTasks = [];
const note = list => longTasks.push(...list.getEntries().map(entry => entry.duration));
new PerformanceObserver(note).observe({ type: 'longtask' });
"""


@contextmanager
def main_thread(page: Page) -> Iterator[Callable[[], float]]:
    """Milliseconds of processor time of the page's main thread; unlike the clock they do not grow under other load."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def used() -> float:
        metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"] * 1000

    yield used
    session.detach()


def scrubbing(page: Page) -> dict:
    last, numbers = int(page.locator("#sp .scrubber").get_attribute("max")), traces.Numbers(5)
    with main_thread(page) as used:
        before = used()
        times = sorted(page.evaluate(SCRUB, [int(numbers.next() * last) for _ in range(300)]))
        processor = (used() - before) / 300
    return {
        "scrubs": 300,
        "steps": last,
        "processor_ms_each": round(processor, 2),
        "median_ms": round(statistics.median(times), 2),
        "p95_ms": round(times[285], 2),
        "max_ms": round(times[-1], 2),
    }


def loading(page: Page, text: str) -> dict:
    """From handing the text to the player to the first chips, to the last page built, and the longest task."""
    page.evaluate(f"() => {{ {WATCH_TASKS} }}")
    page.get_by_role("button", name="Load", exact=True).click()
    page.wait_for_function("document.querySelector('#sp .title')?.textContent === 'big'")
    done = page.wait_for_function("window.loaded").json_value()
    return {
        "megabytes": round(len(text.encode()) / 1e6, 2),
        **done,
        "longest_task_ms": max(page.evaluate("longTasks") or [0]),
    }


WATCH_LOAD = """
() => {
  const sp = document.querySelector('#sp');
  const button = [...document.querySelectorAll('button')].find(b => b.textContent.trim() === 'Load');
  let clicked, arrived, first;
  button.addEventListener('click', () => { clicked = performance.now(); }, true);
  const timer = setInterval(() => {
    if (!clicked) return;
    const there = sp.querySelector('.title').textContent === 'big' && sp.querySelector('.tok.accepted');
    if (!first && there) first = performance.now();
    if (first && sp.querySelectorAll('.lane-speculative .round').length === window.wanted) {
      clearInterval(timer);
      const all = performance.now();
      window.loaded = { first_chips_ms: Math.round(first - clicked), all_built_ms: Math.round(all - clicked) };
    }
  }, 5);
}
"""


def streaming(page: Page) -> dict:
    page.evaluate(f"() => {{ {WATCH_TASKS} }}")
    start = time.perf_counter()
    page.get_by_role("button", name="Stream", exact=True).click()
    page.wait_for_function(
        "document.querySelector('#sp [role=status]').textContent.startsWith('Finished')", timeout=60000
    )
    tasks = page.evaluate("longTasks")
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "tasks_over_50_ms": len(tasks),
        "longest_task_ms": max(tasks or [0]),
    }


def stream(lines: list[str], every: float = 0.1):
    text = ""
    for k in range(0, len(lines), 8):
        text += "".join(lines[k : k + 8])
        yield text
        time.sleep(every)


def main() -> None:
    small, medium = traces.example(24), traces.example(2000)
    big = traces.example(4096)
    big.title = "big"
    big_lines, live = wire.lines(big, run_id="big"), wire.lines(traces.example(600), "live", "live")

    def extra(player: gr.HTML) -> None:
        gr.Button("Load").click(lambda: "".join(big_lines), None, player, show_progress="hidden")
        gr.Button("Medium").click(
            lambda: "".join(wire.lines(medium, run_id="medium")), None, player, show_progress="hidden"
        )
        gr.Button("Stream").click(lambda: (yield from stream(live)), None, player, show_progress="hidden")

    app = player_app("".join(wire.lines(small)), extra)
    with launched(app) as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_ARGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        page.wait_for_selector("#sp .plot .plotly")
        page.wait_for_timeout(1500)
        out = {"chromium": browser.version, "machine": platform.machine(), "load_average": os.getloadavg()[0]}
        page.evaluate("n => { window.wanted = n; }", len(big.rounds))
        page.evaluate(WATCH_LOAD)
        out["load 4,096 tokens"] = loading(page, "".join(big_lines))
        out["scrub 4,096 tokens"] = scrubbing(page)
        page.get_by_role("button", name="Medium", exact=True).click()
        page.wait_for_function("document.querySelector('#sp .title').textContent !== 'big'")
        page.wait_for_timeout(2000)
        out["scrub 2,000 tokens"] = scrubbing(page)
        out["stream 600 tokens"] = streaming(page)
        browser.close()
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
