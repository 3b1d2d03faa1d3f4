"""What every run of the page shares: it waits for its turn, and its failures become one sentence."""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import sleep
from traceback import format_exception
from typing import Any

from specviz.analysis.words import count
from specviz.trace.errors import SpecvizError
from specviz.ui.desk import Desk, Ticket

logger = logging.getLogger(__name__)
FRAME = 0.125  # seconds between updates of the page
POLL = 0.25  # seconds between looks at the line of waiting runs
_UNFORESEEN = "The run failed for a reason that specviz did not foresee; its log has the details."


@dataclass(frozen=True, slots=True)
class Update:
    """What changes on the page. text: the lines of the player or the board so far, or None to leave it as it is.

    opens: the first update with lines of this run. problems: field name -> sentence beside its control.
    """

    status: str
    text: str | None = None
    opens: bool = False
    problems: dict[str, str] = field(default_factory=dict)


def in_turn(desk: Desk, key: str, stop: threading.Event, work: Callable[[Any], Iterator[Update]]) -> Iterator[Update]:
    """Updates of one run from the first wait to the end of `work`, which is given the loaded pair. Never raises.

    Closing the generator releases everything at once.
    """
    try:
        with desk.take_ticket() as ticket:
            yield from map(Update, wait_for_turn(ticket, stop))
            if stop.is_set():
                yield Update("Stopped before it began.")
                return
            yield Update(f"Loading {key} … (Stop takes effect once it is loaded.)")
            yield from work(ticket.pair(key))
            return
    except Exception as error:
        sentence = told(error)
        failed = Update(str(sentence), problems={sentence.field: str(sentence)} if sentence.field else {})
    yield failed


def wait_for_turn(ticket: Ticket, stop: threading.Event) -> Iterator[str]:
    """What to say while other runs have the models; a closed tab ends it at the next sentence."""
    while (ahead := ticket.ahead) and not stop.is_set():
        yield f"Busy: waiting for {count(ahead, 'other run')} to end."
        sleep(POLL)


def told(error: Exception) -> SpecvizError:
    """An error as a sentence, with the field it is about if it names one; what nobody foresaw goes to the log."""
    if isinstance(error, SpecvizError):
        return SpecvizError(str(error), field=error.field)  # a fresh one: the old one's frames hold models
    logger.error("a run failed\n%s", "".join(format_exception(error)))  # as text: frames hold models
    return SpecvizError(_UNFORESEEN)
