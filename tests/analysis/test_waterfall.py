"""The waterfall adds up: to the arithmetic of stub times, and to the measured speedup whatever the times are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import made_round, made_trace
from measured import synthetic

from specviz.analysis.pace import speed_of
from specviz.analysis.waterfall import waterfall_table
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded

seconds = st.floats(1e-5, 10.0)


def parts(decodes) -> dict[str, dict]:
    return {row["part"]: row for row in waterfall_table(decodes).rows}


def test_stub_times_of_a_perfect_draft():
    """Case 54: target 10 ms, draft 1 ms, gamma 4: 50 / 14."""
    rows = parts(synthetic([1.0], 4, draft=0.001, target=0.01, fixed=0.0))
    assert rows["ideal"]["after"] == pytest.approx(5)
    assert rows["draft cost"]["change"] == pytest.approx(50 / 14 - 5)
    assert rows["draft cost"]["seconds"] == pytest.approx(0.004)
    assert rows["wider verification"]["change"] == pytest.approx(0)
    assert rows["measured"]["after"] == pytest.approx(50 / 14)


def test_every_cost_is_charged_to_its_own_part():
    rows = parts(synthetic([1.0], 4, draft=0.001, target=0.01, wider=0.0005, fixed=0.002))
    assert rows["wider verification"]["seconds"] == pytest.approx(0.002)
    assert rows["sampling"]["seconds"] == pytest.approx(0)  # a plain token samples as long
    assert rows["measured"]["seconds"] == pytest.approx(0.004 + 0.012 + 0.002)
    assert rows["measured"]["after"] == pytest.approx(5 * 0.012 / 0.018)


def test_a_slow_draft_ends_below_1():
    """Case 56: target 10 ms, draft 8 ms, half accepted."""
    rows = parts(synthetic([0.5], 4, draft=0.008, target=0.01))
    assert rows["measured"]["after"] < 1
    assert min(rows, key=lambda name: rows[name]["change"] or 0) == "draft cost"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[seconds] * 7), min_size=1, max_size=4))
def test_the_parts_add_up_to_the_measured_speedup(repeats):
    """For any times, and for any number of repeats: the figure is the one of the lane table."""
    decodes = []
    for repeat, (draft, *lane, verify, sampling, other) in enumerate(repeats):
        rounds = [made_round(i, marks, (draft, *lane)) for i, marks in enumerate(["yyn", "yyy", "n..", "yn"])]
        plain = [made_round(i, "", (0.0, verify, sampling, other)) for i in range(12)]
        decodes.append(Decoded("lane", made_trace(rounds, plain, gamma=3), "p", repeat=repeat))
    rows = parts(decodes)
    total = sum(row["change"] for row in rows.values() if row["change"] is not None)
    assert total == pytest.approx(rows["measured"]["after"], rel=1e-9, abs=1e-12)
    assert rows["measured"]["after"] == pytest.approx(speed_of(decodes).value, rel=1e-9)


def test_without_a_plain_lane_it_says_so():
    with pytest.raises(SpecvizError, match="no plain lane"):
        waterfall_table([Decoded("lane", made_trace([made_round(0, "yn")]), "p")])
