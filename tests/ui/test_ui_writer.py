"""The wire of a trace: it can be put together again, and a live run ends as its replay."""

import json

from made import made_round, made_trace, race_trace

from specviz.analysis.figures import trace_figures
from specviz.trace.files import dumps, loads
from specviz.trace.schema import round_ids
from specviz.ui.writer import TraceWriter, replay_lines


def parsed(text):
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def rebuilt(lines):
    """The trace as a browser puts it together: head, pieces, rounds, tail."""
    head, end = lines[0], lines[-1]
    pieces = {i: p for line in lines if line["t"] == "pieces" for i, p in line["pieces"].items()}
    lanes = {}
    for key, part in (("speculative", head["trace"]), ("plain", head["baseline"])):
        rounds = [line["round"] for line in lines if line["t"] == "round" and line["lane"] == key]
        lanes[key] = part and {**part, **end["lanes"][key], "pieces": pieces, "rounds": rounds}
    trace = loads(json.dumps(lanes["speculative"] | ({"baseline": lanes["plain"]} if lanes["plain"] else {})))
    for lane in filter(None, (trace, trace.baseline)):
        used = set(lane.prompt.ids).union(*map(round_ids, lane.rounds))
        lane.pieces = {i: lane.pieces[i] for i in sorted(used)}
    return trace


def test_replay_holds_the_whole_trace():
    trace = race_trace()
    again = rebuilt(parsed(replay_lines(trace, "recorded")))
    assert again == loads(dumps(trace))


def test_lines_come_in_order():
    lines = parsed(replay_lines(race_trace(), "imported"))
    kinds = [line["t"] for line in lines]
    assert (kinds[0], kinds[-2], kinds[-1]) == ("run", "charts", "end")
    assert lines[0]["source"] == "imported"
    seen = set()
    for line in lines:
        if line["t"] == "pieces":
            seen |= {int(i) for i in line["pieces"]}
        if line["t"] == "round":
            assert {e["id"] for e in line["round"]["emitted"]} <= seen
    ends = [line["end"] for line in lines if line["t"] == "round"]
    assert ends == sorted(ends)


def test_figures_ride_on_speculative_rounds_and_the_last_equal_the_end():
    trace = made_trace([made_round(0, "yyn"), made_round(1, "yyy")])
    lines = parsed(replay_lines(trace, "recorded"))
    figures = [line["figures"] for line in lines if line["t"] == "round"]
    assert len(figures) == 2
    assert figures[-1] == lines[-1]["figures"] == trace_figures(trace)


def test_text_only_grows():
    trace = race_trace()
    writer = TraceWriter(trace, "live")
    before = writer.text
    for record in trace.rounds:
        writer.push("speculative", record)
        writer.write_rounds()
        assert writer.text.startswith(before)
        before = writer.text


def test_two_runs_of_the_same_trace_have_different_ids():
    first, second = (parsed(replay_lines(race_trace(), "recorded"))[0] for _ in range(2))
    assert first["id"] != second["id"]


def test_an_empty_run_is_told_without_numbers():
    end = parsed(replay_lines(made_trace([]), "recorded"))[-1]
    assert all(figure["value"] is None for figure in end["figures"].values())
