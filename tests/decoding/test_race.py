"""Both lanes in one thread on one clock."""

import pytest
from tiny import IDS, build, noised, table_model
from watch import Watch

import specviz
from specviz import Settings, SpecvizError
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


def seconds_per_token(trace):
    return sum(r.timing.total for r in trace.rounds) / len(trace.output_ids)


def test_reported_times_equal_arithmetic(monkeypatch):
    """Target 10 ms, perfect draft 1 ms, gamma 4: 50 / 14 (a missing draft token joins the next first step)."""
    watch = Watch(monkeypatch)
    running = race(specviz.Pair(watch.model(0.010), watch.model(0.001)), [1, 2, 3], Settings(4, 50))
    list(running)
    trace = running.trace
    assert seconds_per_token(trace.baseline) / seconds_per_token(trace) == pytest.approx(50 / 14)
    assert trace.prefill == pytest.approx(0.011)
    for record in trace.rounds:
        assert record.timing.draft == pytest.approx([0.001] * 4)
        assert record.timing.verify == pytest.approx(0.010)
        assert record.timing.sampling == record.timing.other == record.timing.recording == 0


def test_a_slow_draft_is_below_one(monkeypatch):
    watch = Watch(monkeypatch)
    running = race(specviz.Pair(watch.model(0.010), watch.model(0.008, seed=1)), [1, 2, 3], Settings(3, 40, 1.0))
    list(running)
    assert seconds_per_token(running.trace.baseline) / seconds_per_token(running.trace) < 1


@pytest.mark.parametrize("gamma", [4, 16])
def test_the_warm_up_is_a_few_rounds(gamma):
    target, draft = table_model(7, 0), table_model(7, 1)
    running = race(specviz.Pair(target, draft), [1, 2], Settings(gamma, 400))
    target.calls = draft.calls = 0
    next(running)
    assert target.calls <= 2 * (2 + 1) + 2  # two rounds and a prefill in each lane, then the first round
    assert draft.calls <= 3 * gamma + 2


def test_a_failing_warm_up_marks_both_lanes():
    target, draft = table_model(7, 0), table_model(7, 1)
    running = race(specviz.Pair(target, draft), [1, 2], Settings(3, 9))
    draft.table = draft.table * float("nan")
    with pytest.raises(SpecvizError, match="the draft returned numbers that are not finite"), running:
        next(running)
    assert running.trace.finish == running.trace.baseline.finish == "failed"


def test_without_the_plain_lane():
    running = race(pair(), IDS, Settings(3, 20), plain=False)
    assert {lane for lane, _ in running} == {"speculative"}
    assert running.trace.baseline is None
