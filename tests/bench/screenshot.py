"""Make assets/screenshot.png, the picture in the README: python tests/bench/screenshot.py

Opens the page in a headless browser on its first recorded run, at a round with a rejection.
"""

import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


from playwright.sync_api import sync_playwright

import specviz
from specviz.ui.app import build, launch_options

ROOT = Path(__file__).resolve().parents[2]
SIZE = {"width": 1280, "height": 1130}


def round_with_a_rejection() -> int:
    """Number (from 1) of a round past the middle of the first recorded run that rejected a draft."""
    trace = specviz.load_trace(min((ROOT / "assets" / "traces").glob("*.json.gz")))
    found = [r.index + 1 for r in trace.rounds if any(d.verdict == "rejected" for d in r.drafted)]
    return next((n for n in found if n > len(trace.rounds) // 2), found[-1])


def main() -> None:
    """Serve, open, scrub, shoot."""
    _, url, _ = build(warm=False).launch(prevent_thread_lock=True, quiet=True, **launch_options())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = browser.new_page(viewport=SIZE)
        page.goto(f"{url}?__theme=light")
        scrubber = page.locator("#sv-player input[type=range]").first
        scrubber.wait_for(timeout=60_000)
        scrubber.evaluate(
            "(bar, step) => { bar.value = step; bar.dispatchEvent(new Event('input', {bubbles: true})); }",
            round_with_a_rejection(),
        )
        page.wait_for_timeout(3000)  # the charts below the fold draw last; fonts settle
        page.screenshot(path=str(ROOT / "assets" / "screenshot.png"))
        browser.close()


if __name__ == "__main__":
    main()
