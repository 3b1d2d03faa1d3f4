"""What every run of the page shares: it waits for its turn, and its failures become one sentence."""

import logging
import threading
from collections.abc import Iterator
from time import sleep
from traceback import format_exception

from specviz.analysis.words import count
from specviz.trace.errors import SpecvizError
from specviz.ui.desk import Ticket

logger = logging.getLogger(__name__)
POLL = 0.25  # seconds between looks at the line of waiting runs
_UNFORESEEN = "The run failed for a reason that specviz did not foresee; its log has the details."


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
