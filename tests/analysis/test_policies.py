"""Replayed policies against runs that really drafted that way."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from simulated import decode, stretches

from specviz.analysis.costs import CostModel
from specviz.analysis.policies import confidence, constant, heuristic, oracle, policy_table, tiers
from specviz.analysis.replay import Policy, recorded, replay

MODEL = CostModel(0.001, 0.0005, (0.01, 0.011, 0.012, 0.013, 0.014), 0.0105)
KNOWN = ([True] * 3 + [False] + [True] * 6 + [False, False, True, False]) * 5  # no full accept at gamma 7
GAMMA = 7


def acted(agrees: list[bool], length: Callable[[int], int], learn: Callable[[int, int], None]) -> tuple[int, int]:
    """(drafted, passes) of a run that decides as it goes, written apart from the replay."""
    place = drafted = passes = 0
    while place < len(agrees):
        asked = min(length(place), len(agrees) - place - 1)
        accepted = 0
        while accepted < asked and agrees[place + accepted]:
            accepted += 1
        drafted, passes, place = drafted + asked, passes + 1, place + accepted + 1
        if asked:
            learn(asked, accepted)
    return drafted, passes


def replayed(policy: Policy, sure: list[float] | None = None) -> tuple[float, float]:
    spent = replay(recorded([decode(KNOWN, GAMMA, sure=sure)])[0], policy)
    assert spent.unknown == 0
    return spent.drafts, spent.passes


@pytest.mark.parametrize("gamma", range(1, GAMMA + 1))
def test_constant_lengths(gamma):
    assert replayed(constant(gamma)) == acted(KNOWN, lambda place: gamma, lambda drafted, accepted: None)


def test_the_heuristic():
    state = {"length": GAMMA}

    def learn(drafted: int, accepted: int) -> None:
        step = 2 if drafted == accepted else -1
        state["length"] = max(1, min(GAMMA, state["length"] + step))

    assert replayed(heuristic(GAMMA)) == acted(KNOWN, lambda place: state["length"], learn)


def test_the_tiers():
    state = {"mean": 2.0}

    def length(place: int) -> int:
        return 1 if round(state["mean"]) < 1 else 3 if round(state["mean"]) < 3 else 7

    def learn(drafted: int, accepted: int) -> None:
        state["mean"] = round(0.8 * state["mean"] + 0.2 * accepted, 2)

    assert replayed(tiers(GAMMA)) == acted(KNOWN, length, learn)


@pytest.mark.parametrize("threshold", [0.3, 0.6])
def test_confidence_stops_after_the_unsure_token(threshold):
    sure = [0.1 + 0.8 * (i * 37 % 11) / 10 for i in range(len(KNOWN))]

    def length(place: int) -> int:
        unsure = [i for i in range(place, len(KNOWN)) if sure[i] < threshold]
        return min(GAMMA, unsure[0] - place + 1) if unsure else GAMMA

    # the run recorded its own view only of tokens after accepted ones: those that a shorter draft meets too
    assert replayed(confidence(GAMMA, threshold), sure) == acted(KNOWN, length, lambda drafted, accepted: None)


def test_the_oracle_drafts_nothing_in_vain():
    drafted, passes = replayed(oracle(GAMMA))
    assert passes == replayed(constant(GAMMA))[1]
    assert drafted == len(KNOWN) - passes


def test_by_hand():
    """y y n | y b at gamma 3: constant 1 takes rounds at places 0, 2, 3 and 5."""
    agrees = [True, True, False, True, False, True]
    rows = {r["policy"]: r for r in policy_table([decode(agrees, 3, prompt="p")], MODEL).rows}
    assert rows["constant 3"]["passes"] == 3
    assert rows["constant 3"]["drafts"] == 5
    assert rows["constant 1"]["passes"] == 4
    assert rows["constant 1"]["drafts"] == 3
    assert rows["constant 1"]["seconds"] == pytest.approx(3 * (0.0005 + 0.001 + 0.011) + 0.0105)
    assert rows["plain decoding"]["speedup"] == pytest.approx(1.0)
    assert rows["plain decoding"]["unknown"] is None
    assert {row["tokens"] for row in rows.values()} == {6}


def test_no_policy_drafts_longer_than_the_record():
    table = policy_table([decode(stretches(60, i), 3, prompt=f"p{i}") for i in range(4)], MODEL)
    names = table.values("policy")
    assert [n for n in names if n.startswith("constant")] == ["constant 1", "constant 2", "constant 3"]
    assert "tier 7 is cut to it" in table.note
    rows = {row["policy"]: row for row in table.rows}
    assert rows["constant 3"]["unknown"] == pytest.approx(0)
    assert rows["constant 2"]["unknown"] > 0
    longest = [row["drafts"] / row["passes"] for row in table.rows]
    assert max(longest) <= 3


def test_no_policy_drafts_longer_than_there_are_heads():
    lane = decode(stretches(60, 0), 3, method="medusa")
    lane.trace.settings = replace(lane.trace.settings, gamma=5)
    table = policy_table([lane], MODEL)
    assert [n for n in table.values("policy") if n.startswith("constant")] == ["constant 1", "constant 2", "constant 3"]
    assert "at gamma 5, where no round drafted more than 3 tokens" in table.note
    assert max(row["drafts"] / row["passes"] for row in table.rows) <= 3


def test_confidence_rows_need_recorded_probabilities():
    agrees = stretches(40, 1)
    without = policy_table([decode(agrees, 4)], MODEL).values("policy")
    with_them = policy_table([decode(agrees, 4, sure=[0.5] * 40)], MODEL).values("policy")
    assert not any(name.startswith("stop") for name in without)
    assert [name for name in with_them if name.startswith("stop")] == [
        "stop below 0.2",
        "stop below 0.4",
        "stop below 0.6",
        "stop below 0.8",
    ]


def test_the_oracle_needs_the_fewest_passes_and_drafts():
    table = policy_table([decode(stretches(64, i), 5, prompt=f"p{i}", sure=[0.5] * 64) for i in range(6)], MODEL)
    rows = {row["policy"]: row for row in table.rows}
    best = rows.pop("oracle")
    assert all(best["passes"] <= row["passes"] + 1e-9 for row in rows.values())
    assert best["drafts"] == pytest.approx(best["tokens"] - best["passes"])
    assert best["seconds"] <= rows["constant 5"]["seconds"]
