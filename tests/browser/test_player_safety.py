"""Hostile text stays text; the page is readable by everyone, in light and dark, wide and narrow."""

from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path

import axe_playwright_python
import pytest
import texts
from colours import contrast, luminance, seen_with
from conftest import TRACES
from playwright.sync_api import Page, expect
from test_player_transport import scrub

Show = Callable[..., Page]
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
VALUES = """
names => {
  const probe = document.querySelector('#sp .title');
  return Object.fromEntries(names.map(name => {
    probe.style.color = `var(--sv-${name})`;
    return [name, getComputedStyle(probe).color];
  }));
}
"""
SMALL = """
() => [...document.querySelectorAll('#sp button, #sp select, #sp summary, #sp input')].filter(node => {
  const box = node.getBoundingClientRect();
  return node.offsetParent && (box.width < 24 || box.height < 24);
}).map(node => node.outerHTML.slice(0, 80))
"""
HEADINGS = "() => [...document.querySelectorAll('h1, h2, h3, h4')].filter(h => h.offsetParent).map(h => +h.tagName[1])"
STATUSES = ["accepted", "rejected", "resampled", "bonus", "not_judged", "cut", "plain", "prompt"]
STYLES = """
() => Object.fromEntries([...document.querySelectorAll('#sp .legend .tok')].map(t => {
  const s = getComputedStyle(t);
  let node = t;
  while (getComputedStyle(node).backgroundColor === 'rgba(0, 0, 0, 0)' && node.parentElement) node = node.parentElement;
  const below = getComputedStyle(node).backgroundColor;
  const clear = s.borderTopColor === 'rgba(0, 0, 0, 0)' ? 'clear' : '';
  return [t.className.split(' ')[1], { text: s.color, below, line: s.textDecorationLine, radius: s.borderRadius,
    border: s.borderBottomStyle + s.borderTopWidth + '/' + s.borderBottomWidth + clear,
    before: getComputedStyle(t, '::before').content, after: getComputedStyle(t, '::after').content }];
}))
"""


def test_hostile_text_is_shown_and_never_run(show: Show) -> None:
    page = show("hostile")
    assert page.evaluate("window.ran") is None
    assert page.locator("#sp .lane-speculative .tok bdi").all_text_contents() == [
        text.replace(" ", "·") for text in texts.ATTACKS
    ]
    assert page.locator("#sp .title").text_content() == texts.HOSTILE
    assert page.locator("#sp .about").text_content() == texts.HOSTILE
    assert page.locator("#sp .models b").first.text_content() == texts.HOSTILE
    scrub(page, 1)
    assert page.locator("#sp .round-note").text_content() == f"No draft in this round: {texts.HOSTILE}."
    page.locator("#sp .provenance summary").click()
    page.locator("#sp .data-table summary").first.click()
    page.locator("#sp .lane-speculative .tok").first.hover()
    assert page.locator("#sp img, #sp script, #sp style").count() == 0
    assert page.evaluate("window.ran") is None


def test_markup_in_chart_labels_stays_text(show: Show) -> None:
    page = show("example")
    page.wait_for_selector("#sp .chart:nth-of-type(2) .bartext")
    assert page.locator("#sp .chart:nth-of-type(2) .bartext").first.text_content() == "<img src=x>"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("name", "step"), [("example", 3), ("greedy", 1), ("marks", 2)])
def test_axe_finds_no_violation(show: Show, name: str, step: int, theme: str) -> None:
    page = show(name, theme=theme)
    scrub(page, step)
    page.evaluate("document.querySelectorAll('#sp details').forEach(d => { d.open = true; })")
    page.wait_for_timeout(200)
    page.add_script_tag(path=AXE)
    result = page.evaluate("axe.run('#sp', { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })")
    found = [
        (v["id"], [n["target"] for n in v["nodes"]][:3], v["nodes"][0]["failureSummary"]) for v in result["violations"]
    ]
    assert found == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_of_every_status_has_contrast(show: Show, theme: str) -> None:
    page = show("example", theme=theme)
    page.locator("#sp .legend summary").click()
    styles = page.evaluate(STYLES)
    assert sorted(styles) == sorted(STATUSES)
    ratios = {name: contrast(style["text"], style["below"]) for name, style in styles.items()}
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_statuses_differ_without_colour(show: Show, theme: str) -> None:
    """Every two statuses differ in a mark that is no colour: border, line, sign or shape."""
    page = show("example", theme=theme)
    page.locator("#sp .legend summary").click()
    styles = page.evaluate(STYLES)
    marks = {name: {k: v for k, v in style.items() if k not in ("text", "below")} for name, style in styles.items()}
    assert [(a, b) for a, b in combinations(STATUSES, 2) if marks[a] == marks[b]] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", ["deuteranopia", "protanopia"])
def test_marks_are_seen_with_colour_vision_deficiency(show: Show, theme: str, vision: str) -> None:
    """The lines that carry a status keep 3:1 against the page (WCAG 1.4.11) when red and green look alike."""
    page = show("example", theme=theme)
    css = page.evaluate(VALUES, ["accepted", "rejected", "resampled", "bonus", "paper"])
    seen = {name: luminance(seen_with(vision, value)) for name, value in css.items()}
    paper = seen.pop("paper")
    weak = [name for name, light in seen.items() if (max(light, paper) + 0.05) / (min(light, paper) + 0.05) < 3]
    assert weak == []


@pytest.mark.parametrize("name", ["example", "greedy", "hostile", "marks", "long"])
def test_no_sideways_scroll_at_360_px(show: Show, name: str) -> None:
    page = show(name, 360)
    page.evaluate("document.querySelectorAll('#sp details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_targets_are_at_least_24_px(show: Show) -> None:
    assert show("example", 360).evaluate(SMALL) == []


def test_headings_stand_in_order(show: Show) -> None:
    levels = show("example").evaluate(HEADINGS)
    assert levels[:2] == [1, 2]
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_dark_switch_redraws_the_charts(show: Show) -> None:
    page = show("example")
    colour = "getComputedStyle(document.querySelector('#sp .plot .scatterlayer .js-line')).stroke"
    light = page.evaluate(colour)
    page.evaluate("document.body.classList.toggle('dark')")
    page.wait_for_function(f"{colour} !== '{light}'")
    assert (light, page.evaluate(colour)) == ("rgb(0, 158, 115)", "rgb(43, 191, 147)")


def test_data_table_holds_the_points_of_the_chart(show: Show) -> None:
    page, trace = show("example"), TRACES["example"]
    page.locator("#sp .data-table summary").first.click()
    rows = page.locator("#sp .data-table").first.locator("tbody tr")
    expect(rows).to_have_count(len(trace.rounds))
    assert rows.last.locator("td").all_text_contents()[-1] == str(len(trace.output_ids))
