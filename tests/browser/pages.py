"""A served page for browser tests, and the parts of it that tests touch."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from playwright.sync_api import Locator, Page

from specviz.models.catalog import CatalogEntry
from specviz.trace.files import save_trace
from specviz.trace.methods import METHODS
from specviz.trace.schema import Trace
from specviz.ui.app import build, launch_options
from specviz.ui.engine import Engine


@contextmanager
def served(engine: Engine | None, traces: Path, warm: bool = False) -> Iterator[str]:
    """The address of the page on this engine and this folder of recorded runs."""
    page = build(engine, warm=warm, traces=traces)
    _, url, _ = page.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True, **launch_options())
    try:
        yield url.rstrip("/")
    finally:
        page.close()


def record(folder: Path, **titled: Trace) -> Path:
    """Save traces as recorded runs, each under its title."""
    for name, trace in titled.items():
        trace.title = name
        save_trace(trace, folder / f"{name}.json.gz")
    return folder


class _Ready(CatalogEntry):
    """A pair that can be used with every method but those in `CLOSED`."""

    CLOSED: ClassVar[dict[str, str]] = {"medusa": "Near pair has no <b>heads</b>; choose another pair."}

    def methods(self) -> dict[str, str | None]:
        return {method: self.CLOSED.get(method) for method in METHODS}


def with_methods(engine: Engine) -> Engine:
    """The engine with a pair `near` for every method but one, and a pair `lone` for none that needs more models."""

    def entries() -> list[CatalogEntry]:
        near = _Ready("near", "Near pair", "made by hand", "a", "b", embedded=True)
        return [near, CatalogEntry("lone", "Lone pair", "no draft", "a")]

    return replace(engine, entries=entries)


class Screen:
    """The page as a visitor has it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        page.goto(url)
        self.player.get_by_role("button", name="Import").wait_for()

    @property
    def player(self) -> Locator:
        return self.page.locator("#sv-player")

    @property
    def status(self) -> Locator:
        return self.page.locator("#sv-status [role=status]")

    @property
    def problems(self) -> Locator:
        return self.page.locator(".sv-problem")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def fill(self, field: str, value: str) -> None:
        """Type into the control of a field; the value is sent when the focus leaves it."""
        box = self.page.locator(f"#sv-{field.replace('_', '-')}").locator("textarea, input").first
        for _ in range(20):  # a control that a fold has just brought onto the page may still set its own value
            box.fill(value)
            box.blur()
            if box.input_value() == value:
                return
        raise AssertionError(f"{field} does not keep {value!r}")


class BoardScreen(Screen):
    """The page with a tab that measures in front."""

    TAB: ClassVar[str]

    def __init__(self, page: Page, url: str) -> None:
        super().__init__(page, url)
        page.set_default_timeout(120_000)  # the machine may be busy with other tests
        page.get_by_role("tab", name=self.TAB).click()
        self.board.locator(".nothing").wait_for()

    @property
    def board(self) -> Locator:
        return self.page.locator(f"#sv-{self.TAB.lower()}-board")

    @property
    def said(self) -> Locator:
        return self.page.locator(f"#sv-{self.TAB.lower()}-status [role=status]")
