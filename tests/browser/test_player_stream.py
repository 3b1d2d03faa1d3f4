"""The token stream: every token of the trace with its status and mark, in its place, and its true text on copy."""

from collections.abc import Callable
from itertools import pairwise

import pytest
import texts
import traces
from conftest import TRACES
from playwright.sync_api import Page

Show = Callable[..., Page]

CHIPS = """
() => [...document.querySelectorAll('#sp .lane-speculative .round')].map(round => {
  const chips = [...round.querySelectorAll('.tok')], seen = t => [t.className.split(' ')[1], t.textContent];
  const line = chips.filter(t => !t.closest('.over')), over = chips.filter(t => t.closest('.over'));
  return { line: line.map(seen), over: over.map(seen) };
})
"""
SLOTS = """
() => [...document.querySelectorAll('#sp .slot')].map(slot => {
  const upper = slot.querySelector('.over .tok'), lower = slot.querySelector('.under .tok');
  const a = upper.getBoundingClientRect(), b = lower.getBoundingClientRect();
  return [upper.classList.contains('rejected'), a.bottom <= b.top, Math.abs(a.left - b.left) < 2];
})
"""
PLACES = """
() => [...document.querySelectorAll('#sp .lane-speculative .tok')].map(t => {
  const box = t.getBoundingClientRect();
  return [t.textContent, box.left, box.top];
})
"""
COPY = """
([from, to]) => {
  const data = new DataTransfer();
  const first = from.firstChild.firstChild, last = to.firstChild.firstChild, how = { bubbles: true, cancelable: true };
  document.getSelection().setBaseAndExtent(first, 0, last, last.length);
  document.querySelector('#sp .strip').dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, ...how }));
  return data.getData('text/plain');
}
"""


def shown(text: str) -> str:
    return text.replace(" ", "·").replace("\n", "⏎").replace("\t", "→").replace("\u00a0", "⍽")


def copied(page: Page, lane: str) -> str:
    chips = page.locator(f"#sp .lane-{lane} .tok").element_handles()
    return page.evaluate(COPY, [chips[0], chips[-1]])


@pytest.mark.parametrize("name", ["example", "greedy", "slow"])
def test_statuses_and_places_equal_the_trace(show: Show, name: str) -> None:
    trace = TRACES[name]
    text = lambda token: shown(trace.pieces[token.id].text)  # noqa: E731
    expected = [
        {
            "line": [[e.origin, text(e)] for e in r.emitted],
            "over": [[d.verdict, text(d)] for d in r.drafted if d.verdict != "accepted"],
        }
        for r in trace.rounds
    ]
    assert show(name).evaluate(CHIPS) == expected
    assert {d.verdict for r in trace.rounds for d in r.drafted} == {"accepted", "rejected", "not_judged"}


def test_plain_lane_equals_the_trace(show: Show) -> None:
    chips = show("example").locator("#sp .lane-plain .tok.plain").all_text_contents()
    baseline = TRACES["example"].baseline
    assert chips == [shown(baseline.pieces[i].text) for i in baseline.output_ids]


def test_rejected_token_stands_above_its_replacement(show: Show) -> None:
    for width in (1280, 360):
        page = show("example", width)
        slots = page.evaluate(SLOTS)
        rejections = sum(d.verdict == "rejected" for r in TRACES["example"].rounds for d in r.drafted)
        assert slots == [[True, True, True]] * rejections


def test_white_space_and_invisible_characters_are_marked(show: Show) -> None:
    page = show("marks")
    assert page.locator("#sp .lane-speculative .tok").all_text_contents() == texts.MARKS_SHOWN
    tops = [top for _, _, top in page.evaluate(PLACES)]
    breaks = [b > a + 5 for a, b in pairwise(tops)]
    assert breaks == ["\n" in text for text in texts.MARKS[:-1]]


def test_split_characters_are_hex_pairs_and_come_together_on_copy(show: Show) -> None:
    page = show("split")
    assert page.locator("#sp .lane-speculative .tok").all_text_contents() == texts.SPLIT
    assert page.locator("#sp .lane-speculative .tok.bytes").all_text_contents() == ["F0 9F", "98 80"]
    assert copied(page, "speculative") == texts.SPLIT_TEXT


@pytest.mark.parametrize("name", ["example", "marks", "hostile", "rtl"])
def test_copy_gives_the_true_text(show: Show, name: str) -> None:
    assert copied(show(name), "speculative") == TRACES[name].output_text


def test_right_to_left_tokens_keep_their_order(show: Show) -> None:
    boxes = show("rtl").evaluate(PLACES)
    assert [text for text, _, _ in boxes] == [shown(text) for text in texts.RTL]
    assert [left for _, left, _ in boxes] == sorted(left for _, left, _ in boxes)


def test_control_tokens_are_marked(show: Show) -> None:
    page = show("control")
    assert page.locator("#sp .lane-speculative .tok.control").all_text_contents() == ["<|end|>"]
    assert page.locator("#sp .lane-speculative .tok").all_text_contents() == ["<|end|>", "<|end|>", "x"]
    assert page.locator("#sp .tok.control").first.evaluate("t => getComputedStyle(t).borderStyle") == "double"


def test_long_prompt_is_folded_and_opens(show: Show) -> None:
    page = show("long prompt")
    assert page.locator("#sp .lane-prompt .tok").count() == 32
    page.get_by_role("button", name="… 68 earlier prompt tokens").click()
    chips = page.locator("#sp .lane-prompt .tok.prompt").all_text_contents()
    assert chips == [shown(traces.TEXTS[i]) for i in TRACES["long prompt"].prompt.ids]


def test_hiding_drafts_leaves_the_output(show: Show) -> None:
    page = show("example")
    page.get_by_role("button", name="Hide rejected drafts").click()
    assert page.locator("#sp .over:visible").count() == 0
    assert page.locator("#sp .lane-speculative .tok:visible").count() == len(TRACES["example"].output_ids)


def test_damaged_lines_leave_the_rest(show: Show, problems: list[str]) -> None:
    page = show("damaged")
    assert (
        page.locator("#sp .notice-text").text_content() == "2 lines of this run could not be read; the rest is shown."
    )
    assert page.locator("#sp .lane-speculative .round").count() == len(TRACES["example"].rounds)
