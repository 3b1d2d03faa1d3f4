"""Methods and rules in the Playground: controls come and go, reasons are told, values reach the engine."""

import pytest
import ways
from axe_playwright_python.sync_playwright import Axe
from browser.pages import Screen, record, served, with_methods
from fakes import FakeEngine
from made import race_trace
from playwright.sync_api import expect

ALWAYS = {"prompt", "pair", "method", "rule", "temperature", "max-new-tokens", "top-k", "top-p", "seed", "chat"}
FIELDS = """
() => [...document.querySelectorAll('.sv-field')].filter(field => field.offsetParent)
  .map(field => field.querySelector('[id]').id.slice(3))
"""
CHOOSE = """
async names => { for (const name of names) {
  [...document.querySelectorAll('label:has(input[type=radio])')]
    .find(label => label.offsetParent && label.textContent.includes(name)).querySelector('input').click();
  await new Promise(done => setTimeout(done));
} }
"""
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


@pytest.fixture(scope="module")
def fake():
    return FakeEngine()


@pytest.fixture(scope="module")
def url(fake, tmp_path_factory):
    runs = {f"{n} A recorded run with a title": race_trace(6) for n in range(7)}
    folder = record(tmp_path_factory.mktemp("traces"), **runs, tree=ways.tree(), copy=ways.copied())
    with served(with_methods(fake.engine()), folder) as address:
        yield address


@pytest.fixture
def screen(page, url):
    return Screen(page, url)


def choose(screen, name):
    screen.page.get_by_role("radio", name=name, exact=True).check()


def choose_at_once(screen, *names):
    screen.page.evaluate(CHOOSE, names)


def expect_fields(screen, *optional):
    screen.page.wait_for_function(
        f"want => ({FIELDS})().sort().join() === want", arg=",".join(sorted(ALWAYS | {*optional}))
    )


def test_only_the_controls_that_are_used_are_there(screen):
    expect_fields(screen, "gamma", "draft-length", "tree")
    choose(screen, "stop when unsure")
    expect_fields(screen, "gamma", "draft-length", "confidence", "tree")
    choose(screen, "Prompt lookup")
    expect_fields(screen, "gamma", "draft-length", "ngram-max", "ngram-min", "ngram-tie")
    expect(screen.page.get_by_role("radio", name="always gamma")).to_be_checked()
    choose(screen, "Early exit")
    expect_fields(screen, "gamma", "draft-length", "exit-layer")
    choose(screen, "Typical acceptance (changes the output)")
    expect_fields(screen, "gamma", "draft-length", "exit-layer", "typical-epsilon", "typical-delta")
    choose(screen, "Draft model")
    expect_fields(screen, "gamma", "draft-length", "tree", "typical-epsilon", "typical-delta")
    choose(screen, "Block verification")
    expect_fields(screen, "gamma", "draft-length")


def test_a_tree_takes_the_place_of_gamma_and_values_come_back(screen, fake):
    screen.fill("gamma", "7")
    screen.fill("tree", "3 2 1")
    expect_fields(screen, "tree")
    choose(screen, "Prompt lookup")
    expect_fields(screen, "gamma", "draft-length", "ngram-max", "ngram-min", "ngram-tie")
    choose(screen, "Draft model")
    expect_fields(screen, "tree")
    screen.fill("tree", "")
    expect_fields(screen, "gamma", "draft-length", "tree")
    expect(screen.page.locator("#sv-gamma input[type=number]")).to_have_value("7")


def test_a_bad_value_is_told_at_its_control_and_forgotten_with_it(screen, fake):
    screen.fill("tree", "9 9 9")
    screen.press("Run")
    expect(screen.problems).to_contain_text("64")
    choose(screen, "Early exit")
    expect_fields(screen, "gamma", "draft-length", "exit-layer")  # by then the first press is answered to its end
    screen.press("Run")
    expect(screen.status).to_have_text("Finished.")
    expect(screen.problems).to_have_count(0)


def test_methods_that_a_pair_cannot_use_say_why(screen):
    screen.page.locator("#sv-settings").get_by_text("Not available here: 1").click()
    expect(screen.page.locator("#sv-settings")).to_contain_text(
        "Medusa heads: Near pair has no <b>heads</b>; choose another pair."
    )
    expect(screen.page.get_by_role("radio", name="Medusa heads")).to_have_count(0)
    screen.page.get_by_role("radio", name="Lone pair").check()
    expect(screen.page.get_by_role("radio", name="Prompt lookup")).to_be_checked()
    expect(screen.page.get_by_role("radio", name="Draft model", exact=True)).to_have_count(0)
    expect_fields(screen, "gamma", "draft-length", "ngram-max", "ngram-min", "ngram-tie")


def test_switching_the_recorded_run_redraws_everything(screen):
    choose(screen, "tree")
    expect(screen.player.locator(".tree-view")).to_be_visible()
    expect(screen.player.locator(".chart h4").first).to_have_text("Acceptance by depth")
    choose(screen, "copy")
    expect(screen.player.locator(".tree-view")).to_be_hidden()
    expect(screen.player.locator(".models")).to_contain_text("Prompt lookup")
    expect(screen.player.locator(".arrow")).to_be_visible()
    expect(screen.player.locator(".chart h4").first).to_have_text("Acceptance by position")


def test_of_choices_made_at_once_the_last_one_is_answered(screen):
    choose_at_once(screen, "Prompt lookup", "Early exit")
    expect_fields(screen, "gamma", "draft-length", "exit-layer")
    choose_at_once(screen, "tree", "copy")
    expect(screen.player.locator(".models")).to_contain_text("Prompt lookup")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_with_all_controls(page, url, scheme):
    page.emulate_media(color_scheme=scheme)
    screen = Screen(page, url)
    choose(screen, "Lookup, else draft model")
    choose(screen, "Typical acceptance (changes the output)")
    expect_fields(
        screen, "gamma", "draft-length", "ngram-max", "ngram-min", "ngram-tie", "typical-epsilon", "typical-delta"
    )
    choose(screen, "tree")
    expect(screen.player.locator(".tree-view")).to_be_visible()
    expect(screen.player.locator(".js-plotly-plot")).to_have_count(4)
    found = Axe().run(page, options=RULES)
    assert found.violations_count == 0, found.generate_report()


def test_many_recorded_runs_leave_the_player_on_a_phones_first_screen(page, url):
    page.set_viewport_size({"width": 360, "height": 800})
    screen = Screen(page, url)
    expect(screen.player).to_contain_text("6 target passes")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert screen.player.bounding_box()["y"] < 800


@pytest.mark.parametrize("width", [360, 1280])
def test_many_recorded_runs_are_a_list_whose_last_can_be_seen_and_chosen(page, url, width):
    page.set_viewport_size({"width": width, "height": 800})
    screen = Screen(page, url)
    rows = page.locator("#sv-recorded label")
    ends = "e => [e.getBoundingClientRect().top, e.getBoundingClientRect().bottom]"
    top, bottom = page.locator("#sv-recorded").evaluate(ends)
    whole = sum(row[1] <= bottom for row in (rows.nth(k).evaluate(ends) for k in range(rows.count())))
    assert whole >= 6
    rows.last.click()
    assert top <= rows.last.evaluate(ends)[0] < rows.last.evaluate(ends)[1] <= bottom
    expect(screen.player.locator(".tree-view")).to_be_visible()
    assert page.get_by_role("button", name="Run", exact=True).evaluate(ends)[1] <= 800
