"""How sure a speedup is: its interval, and the warning where the clock was disturbed."""

import pytest
from made import made_round, made_trace

from specviz.analysis.figures import trace_figures
from specviz.analysis.speed import speedup_interval, unsteadiness
from specviz.analysis.summary import end_sentence


def steps(*seconds):
    return [made_round(k, "", times=(0.0, s, 0.0, 0.0)) for k, s in enumerate(seconds)]


def test_equal_rounds_leave_no_doubt():
    fast = [made_round(k, "y", times=(0.2, 0.8, 0.0, 0.0)) for k in range(10)]  # two tokens a second
    assert speedup_interval(fast, steps(*[1.0] * 12)) == pytest.approx((2.0, 2.0))


def test_the_interval_holds_the_speedup_and_narrows_with_rounds():
    def width(n):
        fast = [made_round(k, "y" if k % 2 else "n", times=(0.2, 0.8, 0.0, 0.0)) for k in range(n)]
        low, high = speedup_interval(fast, steps(*[0.9, 1.1] * (n // 2)))
        assert low < 1.5 < high
        return high - low

    assert width(400) < 0.5 * width(40)


def test_too_few_tokens_have_no_interval():
    assert speedup_interval([made_round(0, "y")], steps(1.0)) is None


def test_a_disturbed_clock_is_said():
    calm = made_trace([made_round(k, "y") for k in range(8)], steps(*[1.0] * 10))
    busy = made_trace([made_round(k, "y") for k in range(8)], steps(*[1.0] * 8, 2.0, 4.0))
    assert unsteadiness(busy.baseline.rounds) == pytest.approx(1.4)
    assert "plain steps took 1.40 times their median" in end_sentence(busy)
    assert "busy" not in end_sentence(calm)
    assert trace_figures(busy)["speedup"]["detail"].startswith("95% interval over rounds ")
