"""Hostile text stays text; the page is readable by everyone, in light and dark, wide and narrow."""

from collections.abc import Callable
from itertools import combinations
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
STATUSES = ["accepted", "rejected", "resampled", "bonus", "not_judged", "cut", "plain", "prompt"]
STYLES = """
() => Object.fromEntries([...document.querySelectorAll('#sp .legend .tok')].map(t => {
  const s = getComputedStyle(t);
  let node = t;
  while (getComputedStyle(node).backgroundColor === 'rgba(0, 0, 0, 0)' && node.parentElement) node = node.parentElement;
  const below = getComputedStyle(node).backgroundColor;
  return [t.className.split(' ')[1], { text: s.color, below, border: s.borderBottomStyle + s.borderTopWidth + '/' + s.borderBottomWidth + (s.borderTopColor === 'rgba(0, 0, 0, 0)' ? 'clear' : ''),
    line: s.textDecorationLine, before: getComputedStyle(t, '::before').content, after: getComputedStyle(t, '::after').content, radius: s.borderRadius }];
}))
"""


def test_hostile_text_is_shown_and_never_run(show: Show) -> None:
    page = show("hostile")
    assert page.evaluate("window.ran") is None
    assert page.locator("#sp .lane-speculative .tok bdi").all_text_contents() == [text.replace(" ", "·") for text in texts.ATTACKS]
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
    found = [(v["id"], [n["target"] for n in v["nodes"]][:3], v["nodes"][0]["failureSummary"]) for v in result["violations"]]
    assert found == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_of_every_status_has_contrast(show: Show, theme: str) -> None:
    page = show("example", theme=theme)
    page.locator("#sp .legend summary").click()
    styles = page.evaluate(STYLES)
    assert sorted(styles) == sorted(STATUSES)
    assert {name: round(contrast(s["text"], s["below"]), 2) for name, s in styles.items() if contrast(s["text"], s["below"]) < 4.5} == {}


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
    css = page.evaluate("names => { const s = getComputedStyle(document.querySelector('#sp .sv')); return Object.fromEntries(names.map(n => [n, s.getPropertyValue('--sv-' + n)])); }",
                        ["accepted", "rejected", "resampled", "bonus", "paper"])  # fmt: skip
    page_light = luminance(seen_with(vision, css["paper"]))
    for name in ("accepted", "rejected", "resampled", "bonus"):
        light = luminance(seen_with(vision, css[name]))
        assert (max(light, page_light) + 0.05) / (min(light, page_light) + 0.05) >= 3, name


@pytest.mark.parametrize("name", ["example", "greedy", "hostile", "marks", "long"])
def test_no_sideways_scroll_at_360_px(show: Show, name: str) -> None:
    page = show(name, 360)
    page.evaluate("document.querySelectorAll('#sp details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_targets_are_at_least_24_px(show: Show) -> None:
    page = show("example", 360)
    small = page.evaluate("""() => [...document.querySelectorAll('#sp button, #sp select, #sp summary, #sp input')].filter(n => n.offsetParent)
        .filter(n => n.getBoundingClientRect().width < 24 || n.getBoundingClientRect().height < 24).map(n => n.outerHTML.slice(0, 80))""")
    assert small == []


def test_headings_stand_in_order(show: Show) -> None:
    levels = show("example").evaluate("() => [...document.querySelectorAll('h1, h2, h3, h4, h5')].filter(h => h.offsetParent).map(h => +h.tagName[1])")
    assert levels[:2] == [1, 2]
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))


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
