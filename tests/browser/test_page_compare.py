"""The tab Compare: four lanes of the embedded pair to the end, with the figures of `bench --json`; Stop; reasons."""

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.pages import BoardScreen, record, served, with_methods
from fakes import FakeEngine
from made import race_trace
from playwright.sync_api import expect

from specviz.analysis.lanes import lane_report
from specviz.analysis.tables import cell_text
from specviz.trace.decodes import load_decodes
from specviz.trace.errors import SpecvizError
from specviz.ui.examples import TRACES

ROOT = Path(__file__).resolve().parents[2]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
KINDS = {"measured", "exact", "fitted", "quoted"}
FIGURE_KINDS = """
() => [...document.querySelectorAll('#sv-player .figure:not(.missing)')].map(
  figure => [...figure.querySelectorAll('.kind')].map(kind => kind.textContent).join())
"""
HEAD_KINDS = """
() => [...document.querySelectorAll('#sv-compare-board thead th')].filter(
  head => [...head.closest('table').tBodies[0].rows].some(row => row.cells[head.cellIndex].matches('.number'))).map(
  head => [...head.querySelectorAll('.kind')].map(kind => kind.textContent).join())
"""
PLOTS = """
() => [...document.querySelectorAll('#sv-compare-board .main-svg:first-child')].map(
  drawn => [drawn.closest('.chart-host').offsetHeight, drawn.clientHeight, drawn.clientWidth])
"""
FIELDS = """
number => [...document.querySelectorAll('.sv-field')].filter(field => field.offsetParent)
  .map(field => field.querySelector('[id]').id).filter(id => id.startsWith(`sv-lane${number}-`)).map(id => id.slice(9))
"""


class CompareScreen(BoardScreen):
    """The page with the tab Compare in front."""

    TAB = "Compare"

    def lane(self, number):
        return self.page.locator(".sv-lane").nth(number - 1)

    def lanes(self, number):
        self.page.locator("#sv-lanes").get_by_role("radio", name=str(number)).check()
        expect(self.page.locator(".sv-lane:visible")).to_have_count(number)

    def fill_in(self, field, value):
        box = self.page.locator(f"#sv-compare-{field} input[type=number]").first
        box.fill(value)
        box.blur()


@pytest.fixture(scope="module")
def fake():
    return FakeEngine()


@pytest.fixture(scope="module")
def url(fake, tmp_path_factory):
    folder = record(tmp_path_factory.mktemp("traces"), first=race_trace(6), second=race_trace(12))
    with served(with_methods(fake.engine()), folder) as address:
        yield address


@pytest.fixture
def screen(page, url, fake):
    fake.rounds, fake.pause, fake.error, fake.refuse = 6, 0.0, None, None
    return CompareScreen(page, url)


def downloaded(page, press, path):
    with page.expect_download() as download:
        press()
    download.value.save_as(path)
    return path


def test_four_lanes_of_the_embedded_pair_end_with_the_figures_of_bench_on_the_same_traces(page, tmp_path):
    with served(None, TRACES) as address:
        screen = CompareScreen(page, address)
        figures = page.evaluate(FIGURE_KINDS)
        assert len(figures) >= 4
        assert set(figures) <= KINDS
        screen.lanes(4)
        screen.fill_in("prompt-count", "1")
        screen.fill_in("tokens", "9")
        screen.press("Compare")
        expect(screen.said).to_have_text("Finished.", timeout=120_000)
        expect(screen.board.locator(".stream-lanes li")).to_have_count(5)
        shown = screen.board.locator("[data-table=lanes] tbody tr")
        cells = [row.locator("th, td").all_text_contents() for row in shown.all()]
        heads = screen.board.locator("[data-table=lanes] thead th")
        kinds = [head.locator(".kind").all_text_contents() for head in heads.all()]
        numbers = page.evaluate(HEAD_KINDS)
        report = downloaded(page, lambda: screen.press("report.json"), tmp_path / "report.json")
        packed = downloaded(page, lambda: screen.press("Traces of this comparison"), tmp_path / "traces.zip")
    with ZipFile(packed) as files:
        files.extractall(tmp_path)
    folder = tmp_path / "specviz-comparison"
    table = lane_report(*load_decodes([folder])).table("lanes")
    assert [row["lane"][2:] for row in table.rows] == [
        "Draft model, γ 4", "Prompt lookup, γ 4", "Early exit, γ 4", "Medusa heads, γ 4"]  # fmt: skip
    assert cells == [[cell_text(column, row) for column in table.columns] for row in table.rows]
    assert len(numbers) > 20
    assert set(numbers) <= KINDS
    assert kinds == [[column.kind] if column.kind else [] for column in table.columns]
    command = [sys.executable, "-m", "specviz", "bench", "--from", str(folder), "--json"]
    bench = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert json.loads(bench) == json.loads(report.read_text())


def test_stop_keeps_what_is_whole_and_the_next_comparison_works(screen, fake):
    fake.rounds, fake.pause = 2000, 0.01
    screen.press("Compare")
    expect(screen.said).to_have_text("Decoding.")
    screen.press("Stop")
    expect(screen.said).to_have_text("Stopped; what was whole is kept.")
    assert fake.measurements[-1].closed
    fake.rounds, fake.pause = 4, 0.0
    screen.press("Compare")
    expect(screen.said).to_have_text("Finished.")
    expect(screen.board.locator("[data-table=lanes] tbody tr")).to_have_count(2)


def test_only_the_controls_that_a_lane_uses_are_there_and_its_title_says_what_it_is(screen, page):
    always = {"source", "pair", "dtype", "method", "rule"}
    assert set(page.evaluate(FIELDS, 1)) == always | {"gamma", "draft-length", "tree"}
    screen.lane(1).get_by_role("radio", name="Prompt lookup", exact=True).check()
    expect(screen.lane(1)).to_contain_text("Lane 1: Prompt lookup, γ 4")
    ngrams = {"gamma", "draft-length", "ngram-max", "ngram-min", "ngram-tie"}
    page.wait_for_function(f"want => ({FIELDS})(1).sort().join() === want", arg=",".join(sorted(always | ngrams)))
    screen.lane(1).get_by_role("radio", name="A recorded run", exact=True).check()
    page.wait_for_function(f"({FIELDS})(1).sort().join() === 'recorded,source'")
    screen.lane(1).get_by_role("radio", name="second", exact=True).check()
    expect(screen.lane(1)).to_contain_text("Lane 1: recorded: second")


def test_a_lane_that_cannot_run_says_why_in_its_place_and_nothing_is_run(screen, page, fake):
    before = len(fake.measurements)
    box = page.locator("#sv-lane1-tree").locator("textarea, input").first
    box.fill("9 9 9")
    box.blur()
    expect(screen.lane(1).get_by_role("alert")).to_contain_text("This tree has 819 nodes")
    screen.press("Compare")
    expect(screen.said).to_have_text("Nothing was run. See the sentences in the lanes.")
    box.fill("")
    box.blur()
    expect(screen.lane(1).get_by_role("alert")).to_have_count(0)
    assert len(fake.measurements) == before
    fake.refuse = SpecvizError("2 Prompt lookup, γ 4: The prompt is too long for <b>it</b>.")
    screen.press("Compare")
    expect(screen.lane(2).get_by_role("alert")).to_have_text("The prompt is too long for <b>it</b>.")


def test_the_doctor_of_a_lane_says_what_it_finds_and_is_silent_for_another_pair(screen):
    screen.lane(1).get_by_role("button", name="Check this pair").click()
    expect(screen.lane(1)).to_contain_text("near takes <much> in None. Watch the memory.")
    screen.lane(1).get_by_role("radio", name="Lone pair · no draft").check()
    expect(screen.lane(1)).not_to_contain_text("Watch the memory.")


def test_recorded_runs_are_compared_without_a_model(screen, fake):
    before = len(fake.measurements)
    for number, name in ((1, "first"), (2, "second")):
        if number == 2:
            screen.lane(2).get_by_role("button", name="Lane 2").click()
        screen.lane(number).get_by_role("radio", name="A recorded run", exact=True).check()
        screen.lane(number).get_by_role("radio", name=name, exact=True).check()
    expect(screen.lane(2)).to_contain_text("recorded: second")
    screen.press("Compare")
    expect(screen.said).to_have_text("Finished.")
    rows = screen.board.locator("[data-table=lanes] tbody th")
    expect(rows).to_have_text(["1 recorded: first", "2 recorded: second"])
    assert len(fake.measurements) == before


def test_axe_finds_nothing_and_a_phone_scrolls_only_inside(screen, page):
    screen.press("Compare")
    expect(screen.said).to_have_text("Finished.")
    expect(screen.board.locator(".js-plotly-plot")).to_have_count(4)
    found = Axe().run(page, options=RULES)
    assert found.violations_count == 0, found.generate_report()
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function(f"({PLOTS})().every(drawn => drawn[2] > 300)")  # one below another
    assert all(room >= height > 100 for room, height, _ in page.evaluate(PLOTS))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
