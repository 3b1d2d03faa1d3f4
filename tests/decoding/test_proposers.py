"""What the loop makes of proposers that cannot draft, find nothing, or fail when the run is over."""

import pytest
from tiny import TableModel, table_model

import specviz
from specviz import Settings, SpecvizError
from specviz.decoding import clock
from specviz.decoding.proposers import registry
from specviz.decoding.proposers.base import Proposer


class Maskless(TableModel):
    """A model that does not know the mask of a tree."""

    def forward(self, input_ids, cache, use_cache=True):
        return super().forward(input_ids, cache)


def test_a_draft_that_cannot_draft_trees_is_refused_before_the_run_and_drafts_chains():
    draft = Maskless(table_model(7, 1).table)
    pair = specviz.Pair(table_model(7, 0), draft)
    with pytest.raises(SpecvizError, match=r"This draft cannot draft trees: .*\. Leave the tree empty\.") as caught:
        specviz.speculate(pair, [1, 2], Settings(tree=(2, 2)))
    assert caught.value.field == "tree"
    assert len(specviz.speculate(pair, [1, 2], Settings(2, 9)).finish().output_ids) == 9
    other_way = specviz.Pair(draft, table_model(7, 0))
    with pytest.raises(SpecvizError, match="This target cannot judge trees: ") as caught:
        specviz.speculate(other_way, [1, 2], Settings(tree=(2, 2)))
    assert caught.value.field == "tree"


class Stub(Proposer):
    """Finds nothing to draft, and takes a second for it; can fail when the run is over."""

    now, fails = 0.0, False

    def propose(self, sequence, draft):
        Stub.now += 1.0

    def conclude(self, trace):
        if self.fails:
            raise RuntimeError("no lens today")


@pytest.fixture
def stub(monkeypatch):
    """A pair whose target takes ten seconds a pass, on a clock of the test's own, with `Stub` for its draft model."""
    monkeypatch.setitem(registry.PROPOSERS, "draft-model", Stub)
    monkeypatch.setattr(clock, "perf_counter", lambda: Stub.now)
    target = table_model(7, 0)
    pair = specviz.Pair(target, table_model(7, 1))

    def take_time(_ids):
        Stub.now += 10.0

    target.hook = take_time
    return pair


def test_a_run_that_has_ended_stays_so_when_what_follows_it_fails(stub, monkeypatch):
    monkeypatch.setattr(Stub, "fails", True)
    trace = specviz.speculate(stub, [1, 2], Settings(2, 5)).finish()
    assert (trace.finish, trace.failure, len(trace.output_ids)) == ("budget", None, 5)
    assert [note for note in trace.provenance.notes if "RuntimeError" in note]


def test_looking_for_a_draft_without_finding_one_is_not_verification(stub):
    trace = specviz.speculate(stub, [1, 2], Settings(2, 4)).finish()
    for record in trace.rounds[:-1]:
        timing = record.timing
        assert (timing.draft, timing.verify, timing.sampling, timing.other) == ([], 10.0, 0.0, 1.0)
    assert (trace.rounds[-1].timing.verify, trace.rounds[-1].timing.other) == (10.0, 0.0)
