"""Two ranks do what one does: equal weights on both, and the same run up to rounding."""

import torch
from training import ranked

from specviz.training import blocks
from specviz.training.parallel import run_in_ranks


def load(path):
    return torch.load(path, weights_only=True)


def test_two_ranks_agree_with_each_other_and_with_one(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "COMPUTE", blocks.COMPUTE)  # the run sets it; this puts it back
    alone, pair = tmp_path / "alone", tmp_path / "pair"
    alone.mkdir()
    pair.mkdir()
    ranked.short_run(alone, steps=3)
    run_in_ranks(2, tmp_path, ranked.short_run, pair, 3)
    single, first, second = load(alone / "weights-0.pt"), load(pair / "weights-0.pt"), load(pair / "weights-1.pt")
    start = ranked.fresh_model().state_dict()
    for name in single:
        assert torch.equal(first[name], second[name]), name
        if single[name].ndim == 2:
            # Muon rounds to bfloat16, so a single weight may part; the way that a matrix has moved may not.
            moved = (single[name] - start[name]).norm()
            assert (first[name] - single[name]).norm() < 0.15 * moved, name
