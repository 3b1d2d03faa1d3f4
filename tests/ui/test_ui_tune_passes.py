"""Single passes of a calibration: it goes on without them; a stop takes effect between them, and in the warm-up."""

import threading
from dataclasses import replace

import pytest
from tuned import KnownEngine, KnownMeasurement

from specviz import Settings, SpecvizError
from specviz.trace.measured import PromptText
from specviz.ui import board_writer
from specviz.ui.desk import Desk
from specviz.ui.tuning import Tuning, tune

ORDER = Tuning("near", Settings(max_new_tokens=20), (1, 2), [PromptText(f"p{n}", "code", f"{n}") for n in range(3)], 1)


@pytest.fixture(autouse=True)
def _every_update(monkeypatch):
    monkeypatch.setattr(board_writer, "FRAME", 0.0)


def run(known, stop=None, **changes):
    engine = replace(known.engine(), **changes)
    return tune(engine, Desk(engine.load), ORDER, stop or threading.Event())


@pytest.mark.parametrize("error", [SpecvizError("no room"), RuntimeError("out of memory")])
def test_passes_that_fail_do_not_end_the_calibration(error):
    known, asked = KnownEngine(), []

    def failing(*arguments):
        asked.append(arguments)
        raise error

    last = list(run(known, step_times=failing))[-1]
    assert last.status == "Finished."
    assert len(asked) == 1, "they are not tried again after every step"
    assert len(known.measurements[0].decoded) == 2 * 3


def test_a_stop_ends_the_passes():
    stop, ticks = threading.Event(), []

    def passes(pair, settings, widths, context, repeats, tick):
        tick()
        stop.set()
        ticks.append(1)
        tick()
        ticks.append(2)

    last = list(run(KnownEngine(), stop, step_times=passes))[-1]
    assert ticks == [1]
    assert last.status.startswith("Stopped; what was whole is kept.")


def test_a_stop_takes_effect_while_it_warms_up(monkeypatch):
    stop, known, taken = threading.Event(), KnownEngine(), []

    def warming(self, lanes, prompts, repeats, known):
        for n in range(100):
            taken.append(n)
            yield None

    monkeypatch.setattr(KnownMeasurement, "_measure", warming)
    shown = []
    for update in run(known, stop):
        shown.append(update.status)
        if len(taken) == 3:
            stop.set()
    assert len(taken) <= 4
    assert shown[-1].startswith("Stopped")
