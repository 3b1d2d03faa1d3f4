"""Live runs with a fake engine: order, stop, failure, turns, and what is let go."""

import gc
import json
import logging
import threading
import weakref
from contextlib import nullcontext
from itertools import pairwise
from time import monotonic, sleep

import pytest
from fakes import FakeEngine

from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Settings
from specviz.ui import live as live_module
from specviz.ui.desk import MOST_WAITING, Desk
from specviz.ui.live import Order, live_run
from specviz.ui.stops import Stops
from specviz.ui.writer import replay_lines

ORDER = Order("near", "def f():", Settings())


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def run(fake, stop=None, desk=None, order=ORDER):
    engine = fake.engine()
    return live_run(engine, desk or Desk(engine.load), order, stop or threading.Event())


def body(lines):
    """Lines that must not depend on when the page was updated."""
    return [line for line in lines if line["t"] in ("round", "end")]


def test_a_run_ends_as_its_own_replay(monkeypatch):
    monkeypatch.setattr(live_module, "FRAME", 0.0)
    fake = FakeEngine(rounds=9)
    updates = list(run(fake))
    texts = [u.text for u in updates if u.text is not None]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert len(texts) > 9
    replayed = replay_lines(fake.races[0].trace, "recorded")
    assert body(lines_of(texts[-1])) == body(lines_of(replayed))
    assert updates[-1].status == "Finished."
    assert fake.races[0].closed


def test_updates_are_paced():
    fake = FakeEngine(rounds=40, pause=0.02)
    begun = monotonic()
    updates = list(run(fake))
    assert len(updates) <= (monotonic() - begun) / live_module.FRAME + 5


def test_stop_ends_after_the_round_with_figures_and_a_complete_trace():
    fake, stop = FakeEngine(rounds=500, pause=0.01), threading.Event()
    threading.Timer(0.3, stop.set).start()
    updates = list(run(fake, stop))
    end = lines_of(updates[-1].text)[-1]
    assert (end["t"], end["finish"]) == ("end", "stopped")
    assert end["sentence"].startswith("Stopped, after")
    assert end["figures"]["acceptance"]["value"]
    assert fake.races[0].closed
    assert fake.races[0].steps < 60
    rounds = [line for line in lines_of(updates[-1].text) if line["t"] == "round" and line["lane"] == "plain"]
    assert len(rounds) == len(fake.races[0].trace.baseline.rounds)


def test_closing_the_generator_frees_race_and_turn_twenty_times():
    fake = FakeEngine(rounds=500, pause=0.001)
    desk = Desk(fake.engine().load)
    for _ in range(20):
        updates = run(fake, desk=desk)
        while next(updates).text is None:
            pass
        next(updates)
        updates.close()
        assert fake.races[-1].closed
        with desk.take_ticket() as ticket:
            assert ticket.ahead == 0
    assert fake.loads == ["near"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SpecvizError("The target gave no number at step 3."), "The target gave no number at step 3."),
        (ValueError("secret /home/somebody"), "did not foresee"),
    ],
)
def test_failure_keeps_what_was_shown_and_says_one_sentence(error, told, caplog):
    caplog.set_level(logging.CRITICAL)
    updates = list(run(FakeEngine(rounds=8, error=error)))
    lines = lines_of(updates[-1].text)
    assert sum(line["t"] == "round" for line in lines) == 8
    assert (lines[-1]["t"], lines[-1]["finish"]) == ("end", "failed")
    assert told in lines[-1]["sentence"]
    assert told in updates[-1].status
    assert "secret" not in updates[-1].text
    assert "Traceback" not in updates[-1].text


def test_a_refused_run_leaves_the_player_and_names_the_control():
    updates = list(run(FakeEngine(refuse=SpecvizError("The prompt is too long.", field="prompt"))))
    assert all(u.text is None for u in updates)
    assert updates[-1].problems == {"prompt": "The prompt is too long."}


def test_the_next_run_works_after_a_failure():
    fake = FakeEngine(error=RuntimeError("x"))
    desk = Desk(fake.engine().load)
    list(run(fake, desk=desk))
    fake.error = None
    assert list(run(fake, desk=desk))[-1].status == "Finished."


def test_a_pair_without_draft_says_so_and_shows_no_acceptance():
    """Case 64."""
    updates = list(run(FakeEngine(draft_problem="No draft is used: it could not be read.")))
    assert "No draft is used: it could not be read." in updates[-1].status
    assert lines_of(updates[-1].text)[0]["trace"]["settings"]["gamma"] == 0


def test_a_method_that_needs_no_draft_model_does_not_miss_it():
    order = Order("near", "def f():", Settings(method="prompt-lookup"))
    updates = list(run(FakeEngine(draft_problem="No draft is used: it could not be read."), order=order))
    assert updates[-1].status == "Finished."
    assert lines_of(updates[-1].text)[0]["trace"]["settings"]["gamma"] == 4


def test_runs_take_turns_and_say_so():
    """Case 70: one run at a time whatever the number of visitors."""
    fake = FakeEngine(rounds=10, pause=0.005)
    desk, seen = Desk(fake.engine().load), []
    workers = [threading.Thread(target=lambda: seen.append(list(run(fake, desk=desk)))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert fake.most_at_once == 1
    assert [updates[-1].status for updates in seen] == ["Finished."] * 4
    assert any(u.status.startswith("Busy: waiting for") for updates in seen for u in updates)


def test_a_waiting_run_can_be_stopped():
    fake, stop = FakeEngine(), threading.Event()
    desk = Desk(fake.engine().load)
    with desk.take_ticket():
        updates = run(fake, stop, desk)
        assert next(updates).status == "Busy: waiting for 1 other run to end."
        stop.set()
        assert list(updates)[-1].status == "Stopped before it began."
    assert fake.races == []


def test_a_line_too_long_is_told():
    desk = Desk(FakeEngine().engine().load)
    for _ in range(MOST_WAITING + 1):
        desk.take_ticket()
    assert next(run(FakeEngine(), desk=desk)).status.startswith("Busy: 8 runs are waiting already.")


class Weights:
    """Something whose end can be watched."""

    draft_problem, notices = None, ()


def test_only_the_current_pair_is_alive():
    """Case 59: five pairs in turn, one of which does not fit."""
    seen = {}

    def load(key):
        assert all(ref() is None for ref in seen.values())  # unloaded before the next is loaded
        weights = Weights()
        seen[key] = weakref.ref(weights)
        if key == "c":
            raise MemoryError
        return weights

    desk = Desk(load)
    for key in "abcdea":
        expected = pytest.raises(SpecvizError, match="not enough memory") if key == "c" else nullcontext()
        with desk.take_ticket() as ticket, expected:
            ticket.pair(key)
    gc.collect()
    assert [key for key, ref in seen.items() if ref() is not None] == ["a"]


def test_a_pair_in_memory_is_not_loaded_again():
    fake = FakeEngine()
    desk = Desk(fake.engine().load)
    for _ in range(3):
        with desk.take_ticket() as ticket:
            ticket.pair("near")
    assert fake.loads == ["near"]


def test_a_ticket_out_of_turn_gets_no_model():
    desk = Desk(FakeEngine().engine().load)
    with desk.take_ticket(), desk.take_ticket() as second, pytest.raises(RuntimeError):
        second.pair("near")


def test_stops_reach_only_the_visitor():
    stops = Stops()
    with stops.watch("a") as mine, stops.watch("b") as other:
        assert stops.stop("a")
        assert (mine.is_set(), other.is_set()) == (True, False)
    assert not stops.stop("a")


def test_no_thread_is_left_behind():
    before = threading.active_count()
    list(run(FakeEngine()))
    sleep(0.01)
    assert threading.active_count() <= before
