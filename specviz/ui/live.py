"""A live run: waits for its turn, loads the pair, races both lanes, and yields what the page shows."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from specviz.trace.methods import METHODS
from specviz.trace.schema import Settings
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine, Race
from specviz.ui.turns import FRAME, Update, in_turn, told
from specviz.ui.writer import TraceWriter

CHARTS = 1.0  # seconds between updates of the charts, at least
CHARTS_SHARE = 0.1  # and this share of the run so far: the lines of old charts stay in the buffer


@dataclass(frozen=True, slots=True)
class Order:
    """What to run."""

    pair: str
    prompt: str
    settings: Settings


def live_run(engine: Engine, desk: Desk, order: Order, stop: threading.Event) -> Iterator[Update]:
    """Updates of the page from the first wait to the end. Closing the generator releases everything at once;
    setting `stop` ends the run after the current round, with its figures. Never raises.
    """
    return in_turn(desk, order.pair, stop, lambda pair: _decode(engine, pair, order, stop))


def _decode(engine: Engine, pair: Any, order: Order, stop: threading.Event) -> Iterator[Update]:
    problem = pair.draft_problem if METHODS[order.settings.method].needs == "draft" else None
    settings = order.settings if problem is None else replace(order.settings, gamma=0)
    failure = None
    with engine.race(pair, order.prompt, settings, problem is None) as race:
        writer = TraceWriter(race.trace, "live")
        status = " ".join(filter(None, ["Decoding.", problem, *race.trace.provenance.notes]))
        yield Update(status, writer.text, opens=True)
        try:
            yield from _rounds(race, writer, status, stop)
        except Exception as error:
            failure = str(told(error))
    trace = race.trace
    if failure and trace.finish != "failed":
        trace.finish, trace.failure = "failed", failure
    writer.write_end()
    ended = {"failed": f"Failed: {trace.failure}", "stopped": "Stopped."}.get(trace.finish, "Finished.")
    yield Update(" ".join(filter(None, [ended, problem])), writer.text)


def _rounds(race: Race, writer: TraceWriter, status: str, stop: threading.Event) -> Iterator[Update]:
    """The rounds of both lanes until the end or the stop, in updates paced for the page."""
    begun = frame = charts = monotonic()
    for lane, record in race:
        writer.push(lane, record)
        if stop.is_set():
            return
        now = monotonic()
        if now - frame < FRAME:
            continue
        writer.write_rounds()
        if now - charts > max(CHARTS, CHARTS_SHARE * (now - begun)):
            writer.write_charts()
            charts = now
        yield Update(status, writer.text)
        frame = monotonic()
