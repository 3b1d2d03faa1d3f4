"""The page on the real engine with tiny random models: hostile prompts, and stopping, twenty times out of twenty."""

from time import monotonic, sleep

import pytest
from browser.pages import Screen, served
from playwright.sync_api import expect
from tiny import build, byte_tokenizer, noised

from specviz.models.catalog import CatalogEntry
from specviz.models.pair import Pair
from specviz.ui.engine import Engine, local_engine

HOSTILE = (
    '<img src=x onerror="window.hit=1"><style>*{display:none}</style>" onmouseover="window.hit=2" </span></div>'
    "${window.hit=3}{{window.hit=4}}`\n👩‍👩‍👧 שלום (123) مرحبا\u00a0\u200b\t<|im_end|>"
)


@pytest.fixture(scope="module")
def calls():
    """When the target worked, on the monotonic clock."""
    return []


@pytest.fixture(scope="module")
def url(calls, tmp_path_factory):
    tokenizer = byte_tokenizer()
    target = build("llama", vocab_size=len(tokenizer), max_position_embeddings=2048)

    def work(*_):
        calls.append(monotonic())
        sleep(0.01)  # slow enough that a run of 512 tokens cannot end before a busy browser presses Stop

    target.register_forward_hook(work)
    pair = Pair(target, noised(target), tokenizer, name="tiny")
    entry = CatalogEntry("tiny", "Tiny", "random weights", "a", "b", embedded=True)
    engine = Engine(lambda: [entry], lambda key: pair, local_engine().race)
    with served(engine, tmp_path_factory.mktemp("none"), warm=True) as address:
        yield address


def test_a_hostile_prompt_is_shown_literally(page, url):
    screen = Screen(page, url)
    screen.fill("prompt", HOSTILE)
    screen.fill("max_new_tokens", "8")
    screen.press("Run")
    expect(screen.status).to_have_text("Finished.")
    assert page.evaluate("window.hit") is None
    expect(screen.player.locator("img[src=x], style:text('display:none')")).to_have_count(0)
    expect(screen.page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    expect(page.locator("#sv-prompt textarea")).to_have_value(HOSTILE)


def test_an_empty_prompt_is_told_beside_it(page, url):
    screen = Screen(page, url)
    screen.fill("prompt", "")
    screen.press("Run")
    expect(screen.problems).to_have_count(1)
    expect(screen.status).to_contain_text("prompt")


def test_stop_ends_the_run_and_the_next_one_works_twenty_times(page, url, calls):
    screen = Screen(page, url)
    screen.fill("prompt", "def f(x):")
    screen.fill("max_new_tokens", "512")
    for _ in range(20):
        screen.press("Run")
        expect(screen.status).to_contain_text("Decoding.")
        screen.press("Stop")
        expect(screen.status).to_have_text("Stopped.")
        stopped = monotonic()
        sleep(0.1)
        assert calls[-1] < stopped
    screen.fill("max_new_tokens", "16")
    screen.press("Run")
    expect(screen.status).to_have_text("Finished.")
    expect(screen.player).to_contain_text("16 tokens /")


def test_closing_the_tab_ends_the_run(page, url, calls):
    screen = Screen(page, url)
    screen.fill("max_new_tokens", "512")
    screen.press("Run")
    expect(screen.status).to_contain_text("Decoding.")
    context = page.context
    page.close()
    sleep(0.5)
    before = len(calls)
    sleep(0.3)
    assert len(calls) == before
    again = Screen(context.new_page(), url)
    again.fill("max_new_tokens", "16")
    again.press("Run")
    expect(again.status).to_have_text("Finished.")
