"""The board in a browser: literal texts, kinds, aligned outputs, files, narrow screens, axe."""

import json
from collections.abc import Iterator
from copy import copy

import gradio as gr
import pytest
import texts
import traces
from axe_playwright_python.sync_playwright import Axe
from measured import synthetic
from playwright.sync_api import Page, expect
from serving import launched

from specviz.analysis.lanes import lane_report
from specviz.analysis.tables import cell_text
from specviz.charts.lanes import lane_charts
from specviz.ui.app import launch_options
from specviz.ui.board import Board
from specviz.ui.board_writer import BoardWriter, report_exports

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
HOSTILE = "<img src=x onerror='window.hit=1'>${window.hit=2}{{window.hit=3}}"
LANES = [
    *synthetic([0.9, 0.7, 0.5], 3, prompts=3, rounds=10, repeats=2, noise=0.1, lane="1 quick"),
    *synthetic([0.3], 2, prompts=3, rounds=10, draft=0.02, lane=f"2 {HOSTILE}"),
]
REPORT = lane_report(LANES)
ROWS = """
() => [...document.querySelectorAll('#bo .stream-box .block')].flatMap((block, b) =>
  [...block.querySelectorAll('.strip')].map((row, lane) => [...row.querySelectorAll('.tok')].map(t =>
    ({ lane, block: b, left: Math.round(t.getBoundingClientRect().left), text: t.textContent }))))
"""
KINDS = """
() => [...document.querySelectorAll('#bo .scroll table')].map(table => {
  const kinds = [...table.tHead.rows[0].cells].map(cell => cell.querySelector('.kind')?.textContent ?? null);
  const cells = [...table.tBodies[0].rows].map(row => [...row.cells]);
  return cells.flatMap(row => row.map((cell, k) => [kinds[k], cell.className, cell.textContent]));
})
"""


# Where every table's box and note ends, beside the board's own end, and whether the box scrolls what it cannot show.
ENDS = """
() => {
  const end = node => node.getBoundingClientRect().right, sides = node => node.scrollWidth - node.clientWidth;
  const seen = selector => [...document.querySelectorAll('#bo ' + selector)].filter(node => node.offsetWidth);
  return { board: end(document.querySelector('#bo .sv')), ends: seen('.scroll, .note, .meanings').map(end),
    scrolls: Object.fromEntries(seen('[data-table]').map(t => [t.dataset.table, sides(t.querySelector('.scroll'))])) };
}
"""
FITS = """
count => {
  const plots = [...document.querySelectorAll('#bo .plot')], width = node => node?.getBoundingClientRect().width;
  const fits = plot => width(plot) > 0 && Math.abs(width(plot.querySelector('.main-svg')) - width(plot)) < 1;
  return plots.length === count && plots.every(fits);
}
"""
DIFFERS = """
lane => [...document.querySelectorAll(`#bo .block .strip:nth-child(${lane}) .tok`)].map(t => t.matches('.differs'))
"""


def other_cut(trace):
    """The same text in other tokens: every piece of more than one character becomes two."""
    cut = copy(trace)
    cut.pieces, cut.rounds = dict(trace.pieces), []
    for record in trace.rounds:
        fresh = copy(record)
        fresh.emitted = []
        for token in record.emitted:
            text = trace.pieces[token.id].text
            for part, name in ((text[:1], 1), (text[1:], 2)):
                if part:
                    one = copy(token)
                    one.id = 1000 * name + token.id
                    cut.pieces[one.id] = type(trace.pieces[token.id])(part)
                    fresh.emitted.append(one)
        cut.rounds.append(fresh)
    return cut


def written() -> str:
    writer = BoardWriter(f"A board {HOSTILE}")
    trace = traces.example(40)
    writer.progress(1, 4, HOSTILE)
    writer.stream("p", HOSTILE, ["1 whole", f"2 {HOSTILE}", "3 hostile"])
    writer.tokens("p", {0: trace, 1: other_cut(trace), 2: texts.hostile()})
    writer.stream("q", "second", ["1 whole", "plain"])
    writer.tokens("q", {0: trace, 1: trace.baseline})
    writer.report(REPORT, folded={"terms", "costs", "waterfall"})
    writer.charts(lane_charts(REPORT))
    writer.end(f"Finished {HOSTILE}.", report_exports(REPORT))
    return writer.text


def app() -> gr.Blocks:
    def grow() -> Iterator[str]:
        lines = written().splitlines(keepends=True)  # each time a board of its own
        yield from ("".join(lines[:n]) for n in range(1, len(lines) + 1))

    with gr.Blocks(title="The board") as page:
        gr.Markdown("# The board")
        show, clear = gr.Button("Show"), gr.Button("Clear")
        board = Board(hint="Press <Show>.", elem_id="bo")
        show.click(grow, None, board, show_progress="hidden")
        clear.click(lambda: "", None, board, show_progress="hidden")
    return page


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with launched(app(), **{key: launch_options()[key] for key in ("theme", "css")}) as address:
        yield address


@pytest.fixture
def board(page: Page, url: str, problems: list[str]) -> Iterator[Page]:
    page.goto(url)
    expect(page.locator("#bo .nothing")).to_have_text("Press <Show>.")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#bo [role=status]")).to_contain_text("Finished")
    expect(page.locator("#bo .js-plotly-plot")).to_have_count(4)
    yield page
    assert problems == []


def test_texts_are_shown_literally_and_values_as_the_tables_write_them(board):
    assert board.evaluate("window.hit") is None
    expect(board.locator("#bo .title")).to_have_text(REPORT.title)
    expect(board.locator("#bo .stream-lanes li").nth(1)).to_have_text("P plain")
    table = REPORT.table("lanes")
    shown = board.locator("#bo [data-table=lanes] tbody tr")
    for place, row in enumerate(table.rows):
        cells = shown.nth(place).locator("th, td").all_text_contents()
        assert cells == [cell_text(column, row) for column in table.columns]
    assert any(HOSTILE in name for name in shown.locator("th").all_text_contents())


def test_every_number_stands_under_its_kind_and_definitions_can_be_opened(board):
    for table in board.evaluate(KINDS):
        for kind, name, text in table:
            assert (kind in ("measured", "exact", "fitted", "quoted")) == ("number" in name), text
    meanings = board.locator("#bo [data-table=lanes] .meanings")
    expect(meanings.locator("dl")).to_be_hidden()
    meanings.locator("summary").focus()
    board.keyboard.press("Enter")
    expect(meanings.locator("dd").first).to_be_visible()
    column = next(c for c in REPORT.table("lanes").columns if c.kind)
    head = board.locator("#bo [data-table=lanes] thead th", has_text=column.title).first
    assert head.get_attribute("title") == column.about
    assert head.get_attribute("scope") == "col"


def test_the_same_place_of_the_text_stands_in_the_same_column(board):
    board.locator("#bo .stream-choice select").select_option(label=HOSTILE)
    expect(board.locator("#bo .stream-lanes li")).to_have_count(3)
    rows = board.evaluate(ROWS)
    whole, cut = rows[0::3], rows[1::3]
    compared = 0
    for ours, theirs in zip(whole, cut, strict=True):
        lefts = {token["left"] for token in theirs}
        for token in ours:
            assert token["left"] in lefts
            compared += 1
    assert compared == 40
    assert sum(map(len, cut)) > 50


def test_what_differs_from_the_first_lane_is_marked(board):
    board.locator("#bo .stream-choice select").select_option(label=HOSTILE)
    expect(board.locator("#bo .stream-lanes li")).to_have_count(3)
    assert not any(board.evaluate(DIFFERS, 1))
    assert not any(board.evaluate(DIFFERS, 2))
    assert any(board.evaluate(DIFFERS, 3))


def test_files_are_what_python_wrote(board, tmp_path):
    files = report_exports(REPORT)
    assert board.locator("#bo .export-files button").all_text_contents() == ["report.json", "report.md"]
    tables = board.locator("#bo .table-file button").all_text_contents()
    assert sorted(tables) == sorted(name for name in files if name.endswith(".csv"))
    for name in ("report.json", "report.md", "lanes.csv", "acceptance-2.csv"):
        with board.expect_download() as download:
            board.get_by_role("button", name=name, exact=True).click()
        path = tmp_path / name
        download.value.save_as(path)
        assert path.read_text() == files[name]
    assert json.loads((tmp_path / "report.json").read_text())["format"] == "specviz-report"


def test_a_new_value_takes_the_place_of_all_and_an_empty_one_clears(board):
    lanes = board.locator("#bo [data-table=lanes]")
    lanes.evaluate("table => { table.dataset.old = 1; }")
    board.get_by_role("button", name="Show", exact=True).click()
    expect(board.locator("#bo [data-table=lanes]:not([data-old])")).to_have_count(1)
    expect(board.locator("#bo .status")).to_contain_text("Finished")  # by then nothing more of it comes
    expect(board.locator("#bo .js-plotly-plot")).to_have_count(4)
    expect(lanes).to_have_count(1)
    board.get_by_role("button", name="Clear", exact=True).click()
    expect(board.locator("#bo .nothing")).to_be_visible()
    expect(board.locator("#bo table, #bo .tok:visible, #bo .export-files button:visible")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, url, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(url)
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#bo .js-plotly-plot")).to_have_count(4)
    page.locator("#bo details").evaluate_all("all => all.forEach(details => { details.open = true; })")
    found = Axe().run(page, context="#bo", options=RULES)
    assert found.violations_count == 0, found.generate_report()


def test_a_narrow_screen_scrolls_tables_in_their_box_only(page, url):
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(url)
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#bo .js-plotly-plot")).to_have_count(4)
    page.locator("#bo details").evaluate_all("all => all.forEach(details => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    wider = page.locator("#bo [data-table=lanes] .scroll").evaluate("box => box.scrollWidth > box.clientWidth")
    assert wider


def test_a_table_that_scrolls_says_at_which_side_there_is_more(board):
    board.set_viewport_size({"width": 360, "height": 800})
    box = board.locator("#bo [data-table=lanes] .scroll")
    style = box.evaluate("box => getComputedStyle(box).backgroundAttachment")
    assert style.startswith("local, scroll")  # the cover moves with the table, the shadow stays
    first = box.locator("tbody .first").first
    expect(first).to_have_css("box-shadow", "none")
    box.evaluate("box => { box.scrollLeft = 100; }")
    expect(first).not_to_have_css("box-shadow", "none")


def test_charts_follow_the_width_of_their_places(board):
    board.wait_for_function(FITS, arg=4)
    board.locator("#bo .charts-grid").evaluate("grid => { grid.style.gridTemplateColumns = '1fr'; }")
    board.wait_for_function(FITS, arg=4)
    assert board.locator("#bo .plot").first.evaluate("plot => plot.clientWidth") > 1000
    # as in a tab that is not shown: the window changes meanwhile
    board.locator("#bo").evaluate("node => { node.style.display = 'none'; }")
    board.set_viewport_size({"width": 600, "height": 800})
    board.locator("#bo").evaluate("node => { node.style.display = ''; }")
    board.wait_for_function(FITS, arg=4)
    assert board.locator("#bo .plot").first.evaluate("plot => plot.clientWidth") < 600


@pytest.mark.parametrize("width", [360, 1280])
def test_an_opened_table_scrolls_in_its_box_and_its_note_stays_on_the_board(board, width):
    board.set_viewport_size({"width": width, "height": 800})
    board.locator("#bo details").evaluate_all("all => all.forEach(details => { details.open = true; })")
    widen = "cells => cells.forEach(cell => { cell.style.minWidth = '300px'; })"  # wider than any board
    board.locator("#bo details.board-table th").evaluate_all(widen)
    found = board.evaluate(ENDS)
    assert len(found["ends"]) > 10
    assert max(found["ends"]) <= found["board"] + 0.5
    folded = board.locator("#bo details.board-table").evaluate_all("all => all.map(table => table.dataset.table)")
    assert len(folded) >= 3
    assert all(found["scrolls"][key] > 0 for key in folded)
