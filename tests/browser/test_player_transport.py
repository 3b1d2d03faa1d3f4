"""Steps, keys, playing and the clock that both lanes share; none of it asks the server."""

from bisect import bisect_right
from collections.abc import Callable

import pytest
import wire
from conftest import TRACES
from playwright.sync_api import Page, expect

Show = Callable[..., Page]
EXAMPLE = TRACES["example"]
ROUNDS = len(EXAMPLE.rounds)
ENDS, PLAIN_ENDS = wire.clock(EXAMPLE), wire.clock(EXAMPLE.baseline)

CURSOR = """
clock => {
  const chart = document.querySelector('#sp .chart'), cursor = chart.querySelector('.cursor');
  const axis = chart.querySelector('.plot')._fullLayout.xaxis, at = new DOMMatrix(getComputedStyle(cursor).transform).e;
  return { expected: axis.range[0] <= clock ? axis._offset + axis.l2p(clock) : null, hidden: cursor.hidden, at };
}
"""
PLACE = """
() => ({
  text: document.querySelector('#sp .step-text').textContent,
  speculative: [...document.querySelectorAll('#sp .lane-speculative .round')].filter(r => !r.closest('.future')).length,
  plain: [...document.querySelectorAll('#sp .lane-plain .tok')].filter(r => !r.closest('.future')).length,
})
"""


def at(step: int) -> dict:
    """What the player has to show at this step, worked out from the trace."""
    if step > ROUNDS:
        return {"text": "plain lane finished", "speculative": ROUNDS, "plain": len(PLAIN_ENDS)}
    clock = ENDS[step - 1] if step else 0.0
    text = f"round {step} of {ROUNDS}" if step else "prompt only"
    return {"text": text, "speculative": step, "plain": bisect_right(PLAIN_ENDS, clock)}


def scrub(page: Page, step: int) -> None:
    page.evaluate(
        "s => { const i = document.querySelector('#sp .scrubber'); i.value = s; i.dispatchEvent(new Event('input')); }",
        step,
    )


def test_opens_at_the_last_step(show: Show) -> None:
    assert PLAIN_ENDS[-1] > ENDS[-1]
    assert show("example").evaluate(PLACE) == at(ROUNDS + 1)


def test_every_step_shows_both_lanes_at_one_clock(show: Show) -> None:
    page = show("example")
    for step in [*range(ROUNDS + 2), 3, ROUNDS, 0]:
        scrub(page, step)
        assert page.evaluate(PLACE) == at(step)


def test_buttons_step_and_jump(show: Show) -> None:
    page = show("example")
    seen = []
    for name in ["To the prompt", "One round on", "One round on", "One round back", "To the end"]:
        page.get_by_role("button", name=name, exact=True).click()
        seen.append(page.evaluate(PLACE)["text"])
    assert seen == [at(step)["text"] for step in (0, 1, 2, 1, ROUNDS + 1)]
    assert page.get_by_role("button", name="One round on", exact=True).is_disabled()


def test_keys_step_jump_play_and_set_the_speed(show: Show) -> None:
    page = show("example")
    page.evaluate("document.activeElement.blur()")
    for key, step in [("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", ROUNDS + 1)]:
        page.keyboard.press(key)
        assert page.evaluate(PLACE) == at(step)
    for key, speed in [("3", "3"), ("4", "4"), ("1", "1")]:
        page.keyboard.press(key)
        assert page.locator("#sp .speed").input_value() == speed
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_keys_in_a_field_belong_to_the_field(show: Show) -> None:
    page = show("example")
    page.evaluate(
        "() => { const f = document.createElement('input'); f.id = 'field'; document.body.append(f); f.focus(); }"
    )
    page.keyboard.press("Home")
    assert page.evaluate(PLACE) == at(ROUNDS + 1)


def test_play_runs_to_the_end_on_the_measured_clock(show: Show) -> None:
    page = show("example")
    page.get_by_role("button", name="To the prompt").click()
    page.locator("#sp .speed").select_option("0.5")
    start = page.evaluate("performance.now()")
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(
        "document.querySelector('#sp .step-text').textContent === 'plain lane finished'", timeout=20000
    )
    assert page.evaluate("performance.now()") - start >= 1000 * PLAIN_ENDS[-1] / 0.5
    assert page.evaluate(PLACE) == at(ROUNDS + 1)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_stepping_and_playing_ask_nothing_of_the_server(show: Show) -> None:
    page, asked = show("example"), []
    page.wait_for_timeout(500)
    page.on("request", lambda request: asked.append(request.url))
    for step in range(ROUNDS + 2):
        scrub(page, step)
    page.locator("#sp .speed").select_option("10")
    scrub(page, 0)
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("document.querySelector('#sp .step-text').textContent === 'plain lane finished'")
    assert [url for url in asked if "heartbeat" not in url] == []


def test_a_click_on_a_chip_goes_to_its_round(show: Show) -> None:
    page = show("example")
    page.locator("#sp .round[data-round='3'] .over .tok").first.click()
    assert page.evaluate(PLACE) == at(4)
    assert page.locator("#sp .inspector tr.chosen.rejected").count() == 1


def test_a_live_run_is_followed_until_the_reader_scrubs_back(show: Show) -> None:
    page = show("example")
    page.get_by_role("button", name="Stream").click()
    expect(page.locator("#sp .source")).to_have_text("live")
    page.wait_for_function("+document.querySelector('#sp .scrubber').max > 4")
    assert page.locator("#sp .lane-prompt .tok").all_text_contents()[:3] == ["def", "·is", "_pal"]
    assert page.locator("#sp .scrubber").evaluate("scrubber => scrubber.value === scrubber.max")
    scrub(page, 2)
    high = int(page.locator("#sp .scrubber").get_attribute("max"))
    page.wait_for_function("high => +document.querySelector('#sp .scrubber').max > high + 1", arg=high)
    assert page.locator("#sp .scrubber").input_value() == "2"
    page.get_by_role("button", name="Follow the newest round").click()
    expect(page.locator("#sp [role=status]")).to_contain_text("Finished: 30 tokens")
    expect(page.get_by_role("button", name="Follow the newest round")).to_be_hidden()


@pytest.mark.parametrize("step", [0, 1, 5])
def test_chart_cursor_stands_at_the_step(show: Show, step: int) -> None:
    page = show("example")
    scrub(page, step)
    clock = ENDS[step - 1] if step else 0
    place = page.evaluate(CURSOR, clock)
    assert place["hidden"] if place["expected"] is None else abs(place["at"] - place["expected"]) < 1
