"""The page around the player: nothing leaves the machine, no error in the console, axe, phone width."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.pages import Screen, record, served
from fakes import FakeEngine
from made import race_trace
from playwright.sync_api import expect

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = record(tmp_path_factory.mktemp("traces"), first=race_trace(6), second=race_trace(12))
    with served(FakeEngine().engine(), folder) as address:
        yield address


def test_no_request_leaves_the_machine_and_nothing_goes_wrong(page, url):
    addresses, wrong = [], []
    page.on("request", lambda request: addresses.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    screen = Screen(page, url)
    screen.press("Run")
    expect(screen.status).to_have_text("Finished.")
    expect(screen.player.locator(".js-plotly-plot")).to_have_count(4)
    assert [a for a in addresses if not a.startswith((url, "data:", "blob:"))] == []
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, url, scheme):
    page.emulate_media(color_scheme=scheme)
    screen = Screen(page, url)
    screen.fill("temperature", "-1")
    screen.page.get_by_text("More settings").click()
    screen.press("Run")
    expect(screen.problems).to_have_count(1)
    expect(screen.player.locator(".js-plotly-plot")).to_have_count(4)
    found = Axe().run(page, options=RULES)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(page, url, width):
    page.set_viewport_size({"width": width, "height": 800})
    screen = Screen(page, url)
    expect(screen.player).to_contain_text("6 target passes")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 360:  # one column: the player before the settings, its top on the first screen
        top = screen.player.bounding_box()["y"]
        assert top < page.locator("#sv-gamma").bounding_box()["y"]
        assert top < 800


def test_light_and_dark_by_button(page, url):
    page.emulate_media(color_scheme="light")
    screen = Screen(page, url)
    screen.press("Light / dark")
    expect(page.locator("body.dark")).to_have_count(1)
    screen.press("Light / dark")
    expect(page.locator("body.dark")).to_have_count(0)


def test_one_heading_of_the_first_level(page, url):
    Screen(page, url)
    expect(page.locator("h1")).to_have_count(1)
