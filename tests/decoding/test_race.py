"""Both lanes in one thread on one clock."""

from tiny import IDS, build, noised

import specviz
from specviz import Settings
from specviz.decoding.race import race


def pair():
    target = build()
    return specviz.Pair(target, noised(target))


def test_the_lane_behind_moves_next_and_both_end():
    running = race(pair(), IDS, Settings(3, 30))
    clocks, done = {"speculative": 0.0, "plain": 0.0}, {"speculative": 0, "plain": 0}
    for lane, record in running:
        other = "plain" if lane == "speculative" else "speculative"
        assert clocks[lane] <= clocks[other] or done[other] == 30
        clocks[lane] += record.timing.total
        done[lane] += len(record.emitted)
    assert done == {"speculative": 30, "plain": 30}
    assert running.trace.output_ids == running.trace.baseline.output_ids
    assert running.trace.baseline.provenance.method == "plain"


def test_a_race_equals_lone_runs_and_its_warm_up_leaves_no_trace():
    shared, settings = pair(), Settings(3, 20, temperature=1.0, seed=6)
    running = race(shared, IDS, settings)
    list(running)
    assert running.trace.output_ids == specviz.speculate(shared, IDS, settings).finish().output_ids
    assert running.trace.baseline.output_ids == specviz.decode_plain(shared, IDS, settings).finish().output_ids


def test_closing_stops_both_lanes():
    with race(pair(), IDS, Settings(3, 200)) as running:
        for _ in range(5):
            next(running)
    assert running.trace.finish == running.trace.baseline.finish == "stopped"
    assert next(running, None) is None


def test_without_the_plain_lane():
    running = race(pair(), IDS, Settings(3, 20), plain=False)
    assert {lane for lane, _ in running} == {"speculative"}
    assert running.trace.baseline is None
