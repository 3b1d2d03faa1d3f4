"""The tab Tune: recommendation, curve, kinds of text and command lines; Stop, what is wrong, phone width, axe."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.pages import BoardScreen, record, served
from made import race_trace
from playwright.sync_api import expect
from tuned import HAZARDS, KnownEngine

from specviz.ui.engine import local_engine
from specviz.ui.tune_controls import PRESETS

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
WITHOUT_KIND = """
() => [...document.querySelectorAll('#sv-tune-board th.number[scope=col]')]
  .filter(head => !head.querySelector('.kind')).length
"""
TABLES = ["sweep", "kinds", "acceptance", "costs", "waterfall", "policies", "flags"]


class TuneScreen(BoardScreen):
    """The page with the tab Tune in front."""

    TAB = "Tune"

    def tune(self):
        self.press("Tune")
        expect(self.said).to_have_text("Finished.", timeout=120_000)

    def gammas(self):
        return self.page.locator("#sv-tune-gammas").get_by_role("checkbox")

    def chosen(self):
        return [int(box.locator("..").inner_text()) for box in self.gammas().all() if box.is_checked()]

    def choose(self, wanted):
        for box in self.gammas().all():
            box.set_checked(int(box.locator("..").inner_text()) in wanted)


@pytest.fixture(scope="module")
def known():
    return KnownEngine()


@pytest.fixture(scope="module")
def url(known, tmp_path_factory):
    with served(known.engine(), record(tmp_path_factory.mktemp("traces"), first=race_trace(6))) as address:
        yield address


@pytest.fixture(autouse=True)
def _first_settings(known):
    known.draft, known.endless = 0.001, False


@pytest.fixture
def screen(page, url):
    return TuneScreen(page, url)


def test_a_calibration_ends_with_advice_charts_and_tables(screen, page):
    screen.tune()
    expect(screen.board.locator(".sentences p").first).to_contain_text("Use gamma ")
    kinds = screen.board.locator(".sentences p").nth(1)
    expect(kinds).to_contain_text("By prediction better than with gamma 4: edit with gamma 7")
    expect(screen.board.locator(".chart .js-plotly-plot")).to_have_count(3 + len(HAZARDS))
    expect(screen.board.locator(".chart.small")).to_have_count(len(HAZARDS))
    shown = page.evaluate("[...document.querySelectorAll('#sv-tune-board .board-table')].map(t => t.dataset.table)")
    assert shown == TABLES
    flags = screen.board.locator("[data-table=flags]")
    flags.locator("> summary").click()
    for program in ("transformers", "vLLM", "SGLang", "llama.cpp"):
        expect(flags.get_by_role("rowheader", name=program, exact=True)).to_be_visible()
    assert page.evaluate(WITHOUT_KIND) == 0
    with page.expect_download() as download:
        screen.board.get_by_role("button", name="report.json").click()
    report = json.loads(download.value.path().read_text())
    assert [table["key"] for table in report["tables"]] == TABLES


def test_a_slow_draft_is_advised_against(screen, known):
    known.draft = 0.05
    screen.tune()
    expect(screen.board.locator(".sentences p").first).to_contain_text("Do not speculate here: ")


def test_stop_keeps_what_is_whole(screen, known):
    known.endless = True
    screen.press("Tune")
    expect(screen.board.locator(".progress .progress-text")).to_contain_text("left (an estimate)")
    screen.press("Stop")
    expect(screen.said).to_have_text("Stopped; what was whole is kept.")
    expect(screen.board.locator("[data-table=sweep]")).to_contain_text("Predicted from 2 prompts at gamma 4.")
    assert known.measurements[-1].closed


def test_what_is_wrong_is_told_beside_its_control(screen, page):
    screen.choose([])
    screen.press("Tune")
    expect(screen.said).to_contain_text("Nothing was run.")
    expect(screen.problems).to_have_count(1)
    expect(screen.problems).to_contain_text("Choose at least one gamma")
    screen.choose([4])
    screen.tune()
    expect(screen.problems).to_have_count(0)


def test_a_preset_fills_in_the_amounts(screen, page):
    for name, preset in reversed(PRESETS.items()):
        page.locator("#sv-tune-preset").get_by_role("radio", name=name).check()
        expect(page.locator("#sv-tune-max-new-tokens input")).to_have_value(str(preset.tokens))
        expect(page.locator("#sv-tune-repeats input[type=number]")).to_have_value(str(preset.repeats))
        assert screen.chosen() == list(preset.gammas)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, url, scheme):
    page.emulate_media(color_scheme=scheme)
    screen = TuneScreen(page, url)
    screen.tune()
    expect(screen.board.locator(".chart .js-plotly-plot")).to_have_count(3 + len(HAZARDS))
    for summary in screen.board.locator("details.board-table > summary").all():
        summary.click()
    found = Axe().run(page, context="#sv-tune", options=RULES)
    assert found.violations_count == 0, found.generate_report()


def test_a_phone_shows_all_of_it_in_one_column(page, url):
    page.set_viewport_size({"width": 360, "height": 800})
    screen = TuneScreen(page, url)
    screen.tune()
    expect(screen.board.locator(".chart .js-plotly-plot")).to_have_count(3 + len(HAZARDS))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert screen.board.bounding_box()["y"] < page.locator("#sv-tune-gammas").bounding_box()["y"]


def test_the_embedded_pair_is_measured(page, tmp_path_factory):
    with served(local_engine(), tmp_path_factory.mktemp("none")) as address:
        page.goto(address)
        page.get_by_role("tab", name="Tune").click()
        page.locator("#sv-tune-max-new-tokens input").fill("8")
        page.locator("#sv-tune-prompts input[type=number]").fill("1")
        for kind in ("Prose", "Edit", "Question"):
            page.get_by_role("checkbox", name=kind).uncheck()
        page.get_by_role("button", name="Tune", exact=True).click()
        expect(page.locator("#sv-tune-status")).to_contain_text("Finished.", timeout=240_000)
        sweep = page.locator("#sv-tune-board [data-table=sweep] tbody tr")
        expect(sweep).to_have_count(9)
        expect(page.locator("#sv-tune-board .sources li")).to_have_count(1)
        expect(page.locator("#sv-tune-board .sources")).to_contain_text("tiny-code/target")
