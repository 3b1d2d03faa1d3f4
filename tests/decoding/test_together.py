"""Several methods on one pair: in threads, in turn, and after runs that ended in the middle of something."""

import threading

import pytest
from tiny import IDS

import specviz
from specviz import Settings, SpecvizError
from specviz.models.forward import Stepper


def everything(trace):
    """What of a trace does not depend on the clock."""
    rounds = [(r.start, r.drafted, r.emitted, r.note, r.copied, r.by) for r in trace.rounds]
    return trace.output_ids, rounds, trace.lens, trace.draft_cut


WAYS = [
    {"tree": (3, 2)},
    {"method": "medusa", "tree": (2, 2)},
    {"method": "early-exit", "rule": "block"},
    {"method": "composite", "rule": "match"},
    {"method": "cross-tokenizer"},
    {"method": "medusa", "rule": "greedy-draft"},
]


def test_all_methods_at_once_on_one_pair_equal_their_solo_runs(equipped):
    jobs = [(IDS[n % 3 :], Settings(3, 30, 1.0, seed=n, **way)) for n, way in enumerate(WAYS)]
    solo = [everything(specviz.speculate(equipped, *job).finish()) for job in jobs]
    together = {}
    start = threading.Barrier(len(jobs))

    def decode(n):
        start.wait()
        together[n] = everything(specviz.speculate(equipped, *jobs[n]).finish())

    threads = [threading.Thread(target=decode, args=(n,)) for n in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[n] for n in range(len(jobs))] == solo


def test_rounds_of_several_methods_in_turn_equal_their_solo_runs(equipped):
    jobs = [(IDS, Settings(3, 20, 1.0, seed=n, **way)) for n, way in enumerate(WAYS)]
    solo = [everything(specviz.speculate(equipped, *job).finish()) for job in jobs]
    runs = [specviz.speculate(equipped, *job) for job in jobs]
    for _ in range(20):  # a round emits at least one token
        for run in runs:
            next(run, None)
    assert [everything(run.trace) for run in runs] == solo


@pytest.mark.parametrize("method", ["draft-model", "medusa"])
def test_a_run_closed_between_the_rounds_of_trees_leaves_the_next_run_right(equipped, method):
    settings = Settings(max_new_tokens=20, temperature=1.0, tree=(2, 2), method=method)
    expected = everything(specviz.speculate(equipped, IDS, settings).finish())
    run = specviz.speculate(equipped, IDS, settings)
    next(run), next(run)
    run.close()
    assert run.trace.finish == "stopped"
    assert everything(specviz.speculate(equipped, IDS, settings).finish()) == expected


@pytest.mark.parametrize("place", [1, 2, 3])
def test_an_error_in_the_middle_of_a_tree_leaves_the_next_run_right(equipped, monkeypatch, place):
    """At the trunk of the draft's tree, at its second depth, and at the target's pass."""
    settings = Settings(max_new_tokens=20, temperature=1.0, tree=(2, 2))
    expected = everything(specviz.speculate(equipped, IDS, settings).finish())
    feed_tree, calls = Stepper.feed_tree, []

    def failing(self, ids, parents):
        calls.append(self)
        logits = feed_tree(self, ids, parents)
        if len(calls) == 3 + place:  # in the second round
            raise RuntimeError("in the middle")
        return logits

    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "feed_tree", failing)
        run = specviz.speculate(equipped, IDS, settings)
        with pytest.raises(SpecvizError, match="in the middle"):
            run.finish()
    assert len(run.trace.rounds) == 1
    assert everything(specviz.speculate(equipped, IDS, settings).finish()) == expected
