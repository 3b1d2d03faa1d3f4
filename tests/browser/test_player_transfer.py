"""Export, import, and the run that a tab keeps over a reload."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import texts
from conftest import LINES, TRACES
from playwright.sync_api import Page, expect

from specviz.trace import files

Show = Callable[..., Page]


def exported(page: Page, button: str = "Export trace") -> tuple[str, str]:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_text("utf-8")


@pytest.mark.parametrize("name", ["example", "greedy", "plain", "hostile", "marks", "split", "long"])
def test_export_equals_the_file_that_the_command_line_writes(show: Show, name: str) -> None:
    _, text = exported(show(name))
    assert json.loads(text) == json.loads(files.dumps(TRACES[name]))
    assert files.loads(text) == TRACES[name]


def test_export_has_a_name_from_title_and_date(show: Show) -> None:
    assert exported(show("example"))[0] == "is-it-a-palindrome-2026-01-02-03-04-05.json"
    assert exported(show("hostile"))[0] == "img-src-x-onerror-window-ran-1-2026-01-02-03-04-05.json"


def test_export_keeps_seeds_larger_than_a_double(show: Show) -> None:
    _, text = exported(show("large seed"))
    assert json.loads(text)["settings"]["seed"] == 2**63 + 1


def test_export_text_is_the_output(show: Show) -> None:
    assert exported(show("split"), "Export text") == ("specviz-recorded-2026-01-02-03-04-05.txt", texts.SPLIT_TEXT)


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_import_round_trip(show: Show, tmp_path: Path, ending: str) -> None:
    page, trace = show("plain"), TRACES["example"]
    path = files.save_trace(trace, tmp_path / f"run{ending}")
    page.locator("#sp .import-file").set_input_files(path)
    expect(page.locator("#sp .source")).to_have_text("imported")
    expect(page.locator("#sp [role=status]")).to_contain_text("Finished: 40 tokens")
    assert json.loads(exported(page)[1]) == json.loads(files.dumps(trace))


def test_a_file_that_is_no_trace_leaves_the_run(show: Show, tmp_path: Path) -> None:
    page = show("example")
    (tmp_path / "other.json").write_text("{}")
    page.locator("#sp .import-file").set_input_files(tmp_path / "other.json")
    expect(page.locator(".toast-body")).to_contain_text("not a specviz trace")
    assert page.locator("#sp .title").text_content() == TRACES["example"].title
    (tmp_path / "broken.json.gz").write_bytes(gzip.compress(b"x" * 5000)[:20])
    page.locator("#sp .import-file").set_input_files(tmp_path / "broken.json.gz")
    expect(page.locator("#sp .notice-text")).to_contain_text("could not be unpacked")


def test_a_file_that_grows_past_the_limit_is_not_read(show: Show, tmp_path: Path) -> None:
    page = show("example")
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(bytes(40 * 1024 * 1024)))
    page.locator("#sp .import-file").set_input_files(tmp_path / "bomb.json.gz")
    expect(page.locator("#sp .notice-text")).to_have_text("This file is larger than 32 MB, so it was not read.")


def test_first_open_and_reload_of_a_recorded_run_show_it(show: Show) -> None:
    page = show("example")
    page.reload()
    expect(page.locator("#sp .source")).to_have_text("recorded")
    assert page.locator("#sp .notice").is_hidden()


STORED = """
() => new Promise(done => {
  const opening = indexedDB.open('specviz-runs');
  opening.onsuccess = () => {
    const all = opening.result.transaction('runs').objectStore('runs').getAll();
    all.onsuccess = () => { done(all.result.map(value => value.text).join('')); opening.result.close(); };
  };
})
"""


def wait_until_kept(page: Page, part: str) -> None:
    """Waits until the browser's store holds a run with this in it."""
    for _ in range(100):
        if part in page.evaluate(STORED):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"The browser's store never held {part}.")


def test_a_finished_live_run_comes_back_after_a_reload(show: Show) -> None:
    page = show("example")
    page.get_by_role("button", name="Stream").click()
    expect(page.locator("#sp [role=status]")).to_contain_text("Finished: 30 tokens")
    wait_until_kept(page, '"t":"end"')
    page.reload()
    expect(page.locator("#sp .notice-text")).to_have_text(
        "Restored the run that this tab held before the page was reloaded."
    )
    expect(page.locator("#sp [role=status]")).to_contain_text("Finished: 30 tokens")
    assert page.locator("#sp .source").text_content() == "live"
    page.wait_for_timeout(500)  # the page's own recorded run arrives meanwhile and must not take the place
    assert page.locator("#sp .source").text_content() == "live"
    page.get_by_role("button", name="Show the recorded run").click()
    expect(page.locator("#sp .source")).to_have_text("recorded")
    page.reload()
    expect(page.locator("#sp .source")).to_have_text("recorded")


def test_an_unfinished_run_comes_back_as_interrupted(show: Show) -> None:
    page = show("example")
    page.get_by_role("button", name="Stall").click()
    expect(page.locator("#sp .source")).to_have_text("live")
    wait_until_kept(page, '"t":"round"')
    page.reload()
    expect(page.locator("#sp .source")).to_have_text("live · interrupted")
    rounds = sum('"lane":"speculative"' in line for line in LINES["live"][:20])
    expect(page.locator("#sp [role=status]")).to_contain_text(f"This run was interrupted after {rounds} rounds.")
    assert json.loads(exported(page)[1])["finish"] == "running"


def test_a_late_update_of_a_run_that_was_left_changes_nothing(show: Show) -> None:
    page, source = show("example"), "#sp .source"
    page.get_by_role("button", name="Stall").click()
    expect(page.locator(source)).to_have_text("live")
    page.get_by_role("button", name="Another").click()
    expect(page.locator(source)).to_have_text("recorded")
    page.get_by_role("button", name="Stall").click()  # the same run once more, as a cancelled one that still sends
    page.wait_for_timeout(500)
    assert page.locator(source).text_content() == "recorded"


def test_a_new_tab_opens_with_the_recorded_run(show: Show, player_url: str) -> None:
    page = show("example")
    page.get_by_role("button", name="Stall").click()
    expect(page.locator("#sp .source")).to_have_text("live")
    wait_until_kept(page, '"t":"round"')
    other = page.context.new_page()
    other.goto(f"{player_url}/?trace=example")
    expect(other.locator("#sp .source")).to_have_text("recorded")
