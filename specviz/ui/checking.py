"""A check of losslessness as it runs: waits for its turn, loads the pair, draws or decodes, and yields what to show."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from specviz.analysis.lossless import lossless_report
from specviz.analysis.tables import Report
from specviz.analysis.words import count
from specviz.charts.lossless import lossless_charts
from specviz.trace.checked import Compared, Fault, Tally
from specviz.trace.choices import Rule
from specviz.trace.measured import PromptText
from specviz.trace.schema import Settings
from specviz.ui.board_writer import BoardWriter
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine
from specviz.ui.turns import Update, in_turn, told

_TALLIES, _FEWEST = 40, 250  # of each rule at most, for its curve; draws between two of them at least
_FOLDED = {"lossless", "growth"}  # below the charts that are drawn from them


@dataclass(frozen=True, slots=True)
class Draws:
    """Draw what follows a prompt, so many times under each of the rules."""

    pair: str
    prompt: str
    rules: tuple[Rule | Fault, ...]
    draws: int
    settings: Settings
    tokens: int


@dataclass(frozen=True, slots=True)
class Texts:
    """Decode prompts greedily, by the pair's own way to draft, and compare with plain decoding."""

    pair: str
    prompts: list[PromptText]
    settings: Settings


def check(engine: Engine, desk: Desk, order: Draws | Texts, stop: threading.Event) -> Iterator[Update]:
    """Updates of the page from the first wait to the end. Closing the generator releases everything at once;
    setting `stop` ends the check soon, and what was counted until then is shown. Never raises.
    """
    run = _drawn if isinstance(order, Draws) else _compared
    return in_turn(desk, order.pair, stop, lambda pair: run(engine, pair, order, stop))


def _drawn(engine: Engine, pair: Any, order: Draws, stop: threading.Event) -> Iterator[Update]:
    tallies: list[Tally] = []
    every = max(_FEWEST, order.draws // _TALLIES)
    with engine.sample_place(
        pair, order.prompt, order.rules, order.draws, order.settings, order.tokens, every
    ) as sampling:
        growing = _Growing("Drawn and exact", lambda: lossless_report(sampling.place if tallies else None, tallies))
        yield Update("Drawing.", growing.text, opens=True)
        yield from growing.follow(_draw(sampling, tallies, order), stop)


def _draw(sampling: Any, tallies: list[Tally], order: Draws) -> Iterator[tuple[int, int, str]]:
    """How far the draws are, after each tally, and while the next one is made."""
    latest: dict[str, int] = {}
    draws = 0
    for tally in sampling:
        if tally is not None:
            tallies.append(tally)
            latest[tally.rule] = draws = tally.draws
        done, of = sum(latest.values()), order.draws * len(order.rules)
        yield done, of, f"{draws:,} of {count(order.draws, 'draw')} under each rule"


def _compared(engine: Engine, pair: Any, order: Texts, stop: threading.Event) -> Iterator[Update]:
    compared: list[Compared] = []
    settings = replace(order.settings, method=pair.default_method)
    with closing(engine.compare_greedy(pair, order.prompts, settings)) as running:
        growing = _Growing("Greedy text against plain decoding", lambda: lossless_report(None, [], compared))
        yield Update("Decoding.", growing.text, opens=True)
        yield from growing.follow(_decode(running, compared, order), stop)


def _decode(running: Any, compared: list[Compared], order: Texts) -> Iterator[tuple[int, int, str]]:
    """How far the prompts are, after each round."""
    of = len(order.prompts)
    for found in running:
        if found is not None:
            compared.append(found)
        yield len(compared), of, f"{len(compared)} of {count(of, 'prompt')}"


class _Growing:
    """The board of one check. report: what can be said so far."""

    def __init__(self, title: str, report: Callable[[], Report]) -> None:
        self._report, self._writer = report, BoardWriter(title)

    @property
    def text(self) -> str:
        """The board's lines so far."""
        return self._writer.text

    def follow(self, steps: Iterator[tuple[int, int, str]], stop: threading.Event) -> Iterator[Update]:
        """Updates paced for the page, until the steps (done, of, text) end or are stopped; then the whole report."""
        failure = None
        try:
            for step in steps:
                if stop.is_set():
                    break
                if self._writer.frame_due():
                    self._writer.progress(*step)
                    if self._writer.due():
                        self._show()
                    yield Update("Running.", self.text)
        except Exception as error:
            failure = f"Failed: {told(error)}"
        yield self._ended(failure or ("Stopped; what was counted is kept." if stop.is_set() else "Finished."))

    def _ended(self, status: str) -> Update:
        why = self._writer.end_with(status, self._show)
        return Update(" ".join(filter(None, [status, why])), self.text)

    def _show(self) -> Report:
        report = self._report()
        self._writer.report(report, folded=_FOLDED)
        self._writer.charts(lossless_charts(report))
        return report
