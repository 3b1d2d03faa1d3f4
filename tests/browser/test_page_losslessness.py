"""The tab Losslessness on the engine's own rules and a pair that is a table."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.pages import served
from fakes import FakeEngine
from playwright.sync_api import expect
from tiny import table_model, tokenizer

import specviz

HOSTILE = "<img/src=x/onerror=alert(1)>"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}

# How far each legend reaches below the upper edge of its curves, once every plot is as wide as its place.
LEGENDS = """
() => {
  const box = node => node.getBoundingClientRect(), plots = [...document.querySelectorAll('#sv-check-board .plot')];
  const fits = plot => Math.abs(box(plot.querySelector('.main-svg')).width - box(plot).width) < 1;
  if (!plots.every(fits)) return null;
  return plots.map(plot => box(plot.querySelector('.legend .bg')).bottom - box(plot.querySelector('.nsewdrag')).top);
}
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    words = ["w0", "w1", HOSTILE, "w3", "w4"]
    pair = specviz.Pair(table_model(5, 1, scale=0.9), table_model(5, 2), tokenizer(words))
    engine = replace(FakeEngine().engine(), load=lambda key: pair)
    with served(engine, tmp_path_factory.mktemp("traces")) as address:
        yield address


@pytest.fixture
def tab(page, url, problems):
    page.set_default_timeout(90_000)  # draws take longer than most of what tests wait for
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(url)
    page.get_by_role("tab", name="Losslessness").click()
    page.locator("#sv-check-prompt textarea").fill("w1 w3")
    yield page
    assert problems == []


def press(page, name):
    page.locator("#sv-check").get_by_role("button", name=name, exact=True).click()


def status(page):
    return page.locator("#sv-check-status [role=status]")


def test_draws_of_right_and_wrong_rules_are_told_apart(tab):
    tab.locator("#sv-check-draws input[type=number]").fill("500")
    tab.locator("#sv-check-top-k input").fill("3")
    press(tab, "Draw")
    expect(status(tab)).to_have_text("Finished.", timeout=90_000)
    board = tab.locator("#sv-check-board")
    expect(board.locator(".sentences")).to_contain_text("Rejection sampling: nothing tells its tokens")
    expect(board.locator(".sentences")).to_contain_text("No residual writes another distribution")
    expect(board.locator(".plot .main-svg:first-child")).to_have_count(2 + 5, timeout=90_000)
    expect(board).to_contain_text("Rules under test")
    expect(board).to_contain_text(HOSTILE)
    assert tab.locator("#sv-check-board img").count() == 0
    found = Axe().run(tab, options=RULES, context={"include": [["#sv-check"]]})
    assert found.violations_count == 0, found.generate_report()


def test_legends_stay_off_the_curves_when_the_window_changes(tab):
    tab.locator("#sv-check-draws input[type=number]").fill("100")
    press(tab, "Draw")
    expect(status(tab)).to_have_text("Finished.", timeout=90_000)
    expect(tab.locator("#sv-check-board .plot .main-svg:first-child")).to_have_count(2 + 5, timeout=90_000)
    for width in (1280, 360, 1280):
        tab.set_viewport_size({"width": width, "height": 900})
        reach = tab.wait_for_function(LEGENDS).json_value()
        assert len(reach) == 2 + 5
        assert max(reach) <= 0, width


def test_texts_and_bad_values(tab):
    tab.locator("#sv-check-temperature input").fill("-1")
    tab.locator("#sv-check-temperature input").blur()
    press(tab, "Draw")
    expect(tab.locator("#sv-check .sv-problem:visible")).to_contain_text("The temperature must be")
    tab.get_by_role("button", name="Compare greedy texts").click()
    tab.locator("#sv-check").get_by_role("radio", name="My own text").check()
    tab.locator("#sv-check-own textarea").fill("w1 w4 w3")
    press(tab, "Compare texts")
    expect(status(tab)).to_have_text("Finished.", timeout=90_000)
    expect(tab.locator("#sv-check-board")).to_contain_text("the same tokens")


def test_stop(tab):
    tab.locator("#sv-check-draws input[type=number]").fill("100000")
    tab.locator("#sv-check-top-k input").fill("3")
    press(tab, "Draw")
    expect(tab.locator("#sv-check-board span.progress-text")).to_contain_text("under each rule", timeout=90_000)
    press(tab, "Stop")
    expect(status(tab)).to_contain_text("Stopped", timeout=90_000)
    expect(tab.locator("#sv-check-board .status")).to_contain_text("Stopped")
