"""Draft length policies, and that gamma is exact and forgotten between runs."""

import pytest
from tiny import IDS, build, noised, table_model

import specviz
from specviz import Settings


def drafted(pair, settings: Settings) -> list[tuple[int, int]]:
    trace = specviz.speculate(pair, IDS, settings).finish()
    return [(len(r.drafted), r.accepted) for r in trace.rounds]


def test_gamma_is_exact_and_run_local():
    target = build()
    pair = specviz.Pair(target, noised(target))
    first = drafted(pair, Settings(3, 40))
    drafted(pair, Settings(12, 40, draft_length="heuristic"))
    second = drafted(pair, Settings(3, 40))
    assert first == second
    left = 40
    for count, accepted in first:
        assert count == min(3, left - 1)
        left -= accepted + 1


def test_the_heuristic_adds_two_and_takes_one():
    target = build()
    pair = specviz.Pair(target, noised(target, 0.2))
    rounds = drafted(pair, Settings(2, 60, draft_length="heuristic"))
    gamma, left, moves = 2, 60, set()
    for count, accepted in rounds:
        assert count == min(gamma, left - 1)
        left -= accepted + 1
        if count:
            full = accepted == count
            moves.add(full)
            gamma = gamma + 2 if full else max(1, gamma - 1)
    assert moves == {True, False}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_confidence_stops_after_the_first_unsure_token(temperature):
    pair = specviz.Pair(table_model(20, seed=1), table_model(20, seed=2))
    settings = Settings(6, 60, temperature, draft_length="confidence", confidence=0.3, top_n=20, seed=2)
    trace = specviz.speculate(pair, [1, 2, 3], settings).finish()
    table, sequence, lengths = pair.draft.table.softmax(-1), [1, 2, 3], set()
    for record in trace.rounds[:-2]:
        path = sequence[-2:] + [d.id for d in record.drafted]
        sure = [float(table[path[i], path[i + 1], path[i + 2]]) for i in range(len(record.drafted))]
        assert all(s >= 0.3 for s in sure[:-1])
        assert len(sure) == 6 or sure[-1] < 0.3
        lengths.add(len(sure))
        sequence += [e.id for e in record.emitted]
    assert len(lengths) > 1


def test_a_proposer_that_is_never_sure_drafts_one_token():
    pair = specviz.Pair(table_model(20, seed=1), table_model(20, seed=2))
    trace = specviz.speculate(pair, [1], Settings(4, 12, draft_length="confidence", confidence=1.0)).finish()
    assert {len(r.drafted) for r in trace.rounds[:-1]} == {1}


def test_settings_that_a_method_does_not_use_go_back_to_their_defaults():
    pair = specviz.Pair(build())
    settings = Settings(3, 4, method="prompt-lookup", tree=(2, 2), draft_length="confidence")
    used = specviz.speculate(pair, IDS, settings).trace.settings
    assert (used.tree, used.draft_length, used.gamma) == ((), "constant", 3)
