"""The page in a browser, on an engine without models: run, stop, settings, recorded runs, visitors."""

import json
from dataclasses import replace
from time import monotonic, sleep

import pytest
from browser.pages import Screen, record, served
from fakes import FakeEngine
from gradio_client import Client
from made import race_trace
from playwright.sync_api import expect

from specviz.trace.errors import SpecvizError
from specviz.trace.files import loads
from specviz.ui.examples import example_prompts

BOTH = """
() => [...document.querySelectorAll(".sv-examples button")]
    .filter(button => ["Class", "Chat"].includes(button.textContent.trim())).forEach(button => button.click())
"""


@pytest.fixture(scope="module")
def fake():
    return FakeEngine()


@pytest.fixture(scope="module")
def url(fake, tmp_path_factory):
    folder = record(tmp_path_factory.mktemp("traces"), first=race_trace(6), second=race_trace(12))
    with served(fake.engine(), folder) as address:
        yield address


@pytest.fixture
def screen(page, url, fake):
    fake.rounds, fake.pause, fake.error, fake.refuse = 6, 0.0, None, None
    return Screen(page, url)


def wait_until(true, seconds=5.0):
    deadline = monotonic() + seconds
    while not true():
        assert monotonic() < deadline
        sleep(0.01)


def test_opens_on_the_first_recorded_run(screen):
    expect(screen.player).to_contain_text("6 target passes")
    expect(screen.page.get_by_role("radio", name="first")).to_be_checked()


def test_run_shows_the_rounds_and_says_that_it_finished(screen, fake):
    fake.rounds = 9
    screen.press("Run")
    expect(screen.status).to_have_text("Finished.")
    expect(screen.player).to_contain_text("round 9 of 9")
    expect(screen.player).to_contain_text("Finished: the token budget is used up")
    expect(screen.page.get_by_role("radio", name="first")).not_to_be_checked()


def test_stop_and_run_again_twenty_times(screen, fake):
    fake.rounds, fake.pause = 4096, 0.02
    for _ in range(20):
        screen.press("Run")
        expect(screen.status).to_contain_text("Decoding.")
        screen.press("Stop")
        expect(screen.status).to_have_text("Stopped.")
        assert fake.races[-1].closed
    expect(screen.player).to_contain_text("Stopped, after")
    fake.rounds = 5
    screen.press("Run")
    expect(screen.player).to_contain_text("round 5 of 5")


def test_stop_without_a_run(screen):
    screen.press("Stop")
    expect(screen.status).to_have_text("Nothing is running.")


def test_bad_settings_are_told_beside_their_controls_and_nothing_is_lost(screen, fake):
    before = len(fake.races)
    screen.fill("prompt", "keep me")
    screen.fill("temperature", "-1")
    screen.fill("max_new_tokens", "9999")
    screen.fill("top_p", "")
    screen.press("Run")
    expect(screen.problems).to_have_count(3)
    field = screen.page.locator(".sv-field", has=screen.page.locator("#sv-max-new-tokens"))
    sentence = "The number of tokens must be a whole number from 1 to 512 on this page."
    expect(field.get_by_role("alert")).to_have_text(sentence)
    expect(screen.status).to_contain_text("Nothing was run. See the sentences at: max new tokens, temperature, top p.")
    expect(screen.player).to_contain_text("6 target passes")
    expect(screen.page.locator("#sv-prompt textarea")).to_have_value("keep me")
    assert len(fake.races) == before
    screen.fill("temperature", "0.5")
    screen.fill("max_new_tokens", "20")
    screen.fill("top_p", "1")
    screen.press("Run")
    expect(screen.status).to_have_text("Finished.")
    expect(screen.problems).to_have_count(0)


def test_a_bad_setting_in_the_folded_part_unfolds_it(screen):
    screen.page.get_by_text("More settings").click()
    screen.fill("min_p", "7")
    screen.page.get_by_text("More settings").click()
    expect(screen.page.locator("#sv-min-p")).to_be_hidden()
    screen.press("Run")
    expect(screen.problems).to_be_visible()


def test_what_the_engine_refuses_is_told_at_the_control(screen, fake):
    fake.refuse = SpecvizError("The prompt has <b>no</b> tokens.", field="prompt")
    screen.press("Run")
    expect(screen.problems).to_have_text("The prompt has <b>no</b> tokens.")
    expect(screen.player).to_contain_text("6 target passes")


def test_a_failure_keeps_the_rounds(screen, fake):
    fake.rounds, fake.error = 10, SpecvizError("The target gave no number at step 3.")
    screen.press("Run")
    expect(screen.status).to_have_text("Failed: The target gave no number at step 3.")
    expect(screen.player).to_contain_text("round 5 of 5")
    expect(screen.player).to_contain_text("The run failed, after")


def test_a_recorded_run_takes_the_place_of_a_live_one(screen, fake):
    fake.rounds, fake.pause = 4096, 0.02
    screen.press("Run")
    expect(screen.status).to_contain_text("Decoding.")
    screen.page.get_by_role("radio", name="second").check()
    wait_until(lambda: fake.races[-1].closed)
    expect(screen.player).to_contain_text("12 target passes")
    sleep(0.5)
    expect(screen.player).to_contain_text("12 target passes")


def test_example_prompts(screen):
    prompt, chat = screen.page.locator("#sv-prompt textarea"), screen.page.locator("#sv-chat input")
    for example in reversed(example_prompts()):  # the page opens with the first one filled in
        screen.press(example.title)
        expect(prompt).to_have_value(example.prompt)
        expect(chat).to_be_checked(checked=example.chat)


def test_of_two_examples_chosen_at_once_the_last_one_stands(screen):
    chat = screen.page.locator("#sv-chat input")
    for _ in range(10):
        screen.press("Class")
        expect(chat).not_to_be_checked()
        screen.page.evaluate(BOTH)
        screen.page.wait_for_timeout(200)  # the first one's answer, were there any
        assert chat.is_checked()


def test_a_pair_that_cannot_be_chosen_says_why(screen):
    screen.page.get_by_text("Not available here: 1").click()
    expect(screen.page.get_by_text("Far pair: a <b>model</b> is missing.")).to_be_visible()


def test_import_of_an_export(screen, tmp_path):
    with screen.page.expect_download() as download:
        screen.press("Export trace")
    path = tmp_path / "out.json"
    download.value.save_as(path)
    assert loads(path.read_text()) == replace(race_trace(6), title="first")
    screen.page.get_by_role("radio", name="second").check()
    expect(screen.player).to_contain_text("12 target passes")
    with screen.page.expect_file_chooser() as chooser:
        screen.press("Import a trace")
    chooser.value.set_files(path)
    expect(screen.status).to_have_text("Imported.")
    expect(screen.player).to_contain_text("6 target passes")


def test_import_of_something_else_is_told_and_nothing_is_lost(screen, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"a": "<img src=x onerror=alert(1)>"}))
    with screen.page.expect_file_chooser() as chooser:
        screen.press("Import a trace")
    chooser.value.set_files(path)
    expect(screen.page.get_by_text("not a specviz trace").first).to_be_visible()
    expect(screen.player).to_contain_text("6 target passes")


def test_closing_the_tab_ends_the_run(screen, fake, url):
    fake.rounds, fake.pause = 4096, 0.02
    screen.press("Run")
    expect(screen.status).to_contain_text("Decoding.")
    context = screen.page.context
    screen.page.close()
    wait_until(lambda: fake.races[-1].closed)
    fake.rounds = 4
    again = Screen(context.new_page(), url)
    again.press("Run")
    expect(again.status).to_have_text("Finished.")


def test_a_second_visitor_waits_his_turn(screen, fake, url):
    fake.rounds, fake.pause = 4096, 0.02
    screen.press("Run")
    expect(screen.status).to_contain_text("Decoding.")
    other = Screen(screen.page.context.new_page(), url)
    other.press("Run")
    expect(other.status).to_contain_text("Busy: waiting for 1 other run to end.")
    screen.page.bring_to_front()
    screen.press("Stop")
    expect(other.status).to_contain_text("Decoding.")
    other.page.bring_to_front()
    other.press("Stop")
    expect(other.status).to_have_text("Stopped.")
    assert fake.most_at_once == 1


def test_run_trace_for_programs(url, fake):
    fake.rounds, fake.pause = 6, 0.0
    client = Client(url, verbose=False)
    answer = client.predict(prompt="x", gamma=3, max_new_tokens=8, temperature=0, seed=0, api_name="/run_trace")
    trace = loads(json.dumps(answer))
    assert len(trace.rounds) == 6
    assert trace.baseline
    with pytest.raises(Exception, match="Gamma must be"):
        client.predict(prompt="x", gamma=99, max_new_tokens=8, temperature=0, seed=0, api_name="/run_trace")
