"""The accept rule on hand-computed cases."""

import pytest
import torch

from specviz import Settings
from specviz.decoding import acceptance
from specviz.decoding.acceptance import rejection, residual
from specviz.decoding.proposers.base import Proposal, one_hot
from specviz.decoding.sampling import sample, without


def rows(*values: list[float]) -> torch.Tensor:
    return torch.tensor(values)


def judged(p, q, ids, uniforms, draw, parents=None, **settings) -> acceptance.Judged:
    """A chain of `ids`, or a tree if `parents` are given."""
    parents = list(range(-1, len(ids) - 1)) if parents is None else parents
    proposal = Proposal(list(ids), list(q), [None] * len(ids), parents, [None] * len(ids))
    return acceptance.Judged(p, q, proposal, uniforms, draw, Settings(**settings))


def test_accepts_below_the_ratio_and_draws_the_bonus_from_the_last_row():
    p, q = rows([0.2, 0.8], [0.5, 0.5], [1.0, 0.0]), rows([0.8, 0.2], [0.5, 0.5])
    done = rejection(judged(p, q, [0, 1], [0.2499, 0.999], 0.7))
    assert (done.path, done.token, done.residuals) == ([0, 1], 0, {})
    assert done.tried == pytest.approx({0: 0.25, 1: 1.0})


def test_first_rejection_ends_the_round_and_draws_from_the_residual():
    p, q = rows([0.2, 0.5, 0.3], [1, 0, 0], [1, 0, 0]), rows([0.8, 0.1, 0.1], [1, 0, 0])
    done = rejection(judged(p, q, [0, 0], [0.26, 0.0], 0.9))
    assert (done.path, done.token) == ([], 2)
    assert done.residuals[0].tolist() == pytest.approx([0.0, 2 / 3, 1 / 3])


def test_a_deterministic_proposal_has_a_one_hot_q():
    """p = (.5, .5), always proposing token 0: it must come out half the time (a soft q gives 83.3 %)."""
    p, q = rows([0.5, 0.5], [0.5, 0.5]), rows([1.0, 0.0])
    random = torch.Generator().manual_seed(0)
    first = 0
    for _ in range(4000):
        u, draw = torch.rand(2, generator=random, dtype=torch.float64).tolist()
        done = rejection(judged(p, q, [0], [u], draw))
        first += done.path == [0] or done.token == 0
    assert abs(first / 4000 - 0.5) < 0.03  # 3.8 standard errors


def test_residual_without_mass_falls_back_to_p():
    certain = rows([0, 0, 0, 1.0], [1.0, 0, 0, 0])
    done = rejection(judged(certain, certain[:1], [3], [1.0], 0.5))  # 1 cannot occur; rounding might act so
    assert (done.path, done.token, done.fallback) == ([], 3, True)
    p = torch.tensor([0.25, 0.75])
    assert residual(p, p)[1]
    assert residual(p, torch.full((2,), torch.nan))[1]


def test_a_uniform_of_zero_does_not_accept_an_impossible_token():
    done = rejection(judged(rows([0.0, 1.0], [1.0, 0.0]), rows([1.0, 0.0]), [0], [0.0], 0.0))
    assert (done.path, done.token) == ([], 1)


def test_no_draft_gives_a_plain_draw():
    done = rejection(judged(rows([0.0, 0.25, 0.75]), torch.empty(0, 3), [], [], 0.5))
    assert (done.path, done.token, done.tried) == ([], 2, {})


@pytest.mark.parametrize(
    ("uniform", "expected"), [(0.0, 1), (0.2499, 1), (0.25, 3), (0.999, 3), (1.0, 3), (1 - 2**-53, 3)]
)
def test_sample_inverts_the_distribution_and_skips_zeros(uniform, expected):
    assert sample(torch.tensor([0.0, 0.25, 0.0, 0.75, 0.0]), uniform) == expected


def test_sample_frequencies():
    probs = torch.tensor([0.1, 0.2, 0.3, 0.4])
    grid = [(n + 0.5) / 1000 for n in range(1000)]
    counts = torch.bincount(torch.tensor([sample(probs, u) for u in grid]), minlength=4)
    assert counts.tolist() == [100, 200, 300, 400]


def test_siblings_are_tried_in_turn_with_what_the_earlier_ones_left():
    """p = (.5, .3, .2), children 1 and 2, both certain: the second is tried with .2/.7."""
    p = rows([0.5, 0.3, 0.2], [1.0, 0, 0], [0, 1.0, 0])
    q = torch.stack([one_hot(1, p[0]), one_hot(2, p[0])])
    done = rejection(judged(p, q, [1, 2], [0.31, 0.28], 0.99, parents=[-1, -1]))
    assert (done.path, done.token) == ([1], 1)
    assert done.tried == pytest.approx({0: 0.3, 1: 0.2 / 0.7})
    tree = judged(p, q, [1, 2], [0.31, 0.28], 0.99, parents=[-1, -1])
    assert [x for pair in acceptance.chances(tree) for x in pair] == pytest.approx([0.3, None, 0.2 / 0.7, 0.2 / 0.7])
    assert done.residuals[0].tolist() == pytest.approx([5 / 7, 0, 2 / 7])
    done = rejection(judged(p, q, [1, 2], [0.31, 0.29], 0.99, parents=[-1, -1]))
    assert (done.path, done.token) == ([], 0)


def _frequencies(judge, p, children, runs=20_000) -> list[float]:
    """How often each token comes out at one place with certain children (CASES 49)."""
    random = torch.Generator().manual_seed(1)
    counts = [0] * p.shape[-1]
    full = torch.cat([p, p.expand(len(children), -1)])
    q = torch.stack([one_hot(c, p[0]) for c in children])
    for _ in range(runs):
        *uniforms, draw = torch.rand(len(children) + 1, generator=random, dtype=torch.float64).tolist()
        done = judge(judged(full, q, children, uniforms, draw, parents=[-1] * len(children)))
        counts[children[done.path[0]] if done.path else done.token] += 1
    return [c / runs for c in counts]


@pytest.mark.parametrize("judge", [acceptance.rejection, acceptance.match])
def test_certain_children_leave_the_target_distribution(judge):
    p = rows([0.5, 0.3, 0.2])
    assert _frequencies(judge, p, [1, 2]) == pytest.approx([0.5, 0.3, 0.2], abs=0.012)  # 3.4 standard errors


def test_a_rejected_sibling_that_is_kept_is_found(monkeypatch):
    monkeypatch.setattr(acceptance, "residual", lambda p, q: (p, False))
    wrong = _frequencies(acceptance.rejection, rows([0.5, 0.3, 0.2]), [1, 2])
    assert wrong[0] < 0.45


@pytest.mark.parametrize(("rule", "expected"), [("rejection", 0.90), ("match", 0.49)])
def test_acceptance_of_a_sampled_draft(rule, expected):
    """p = (.7, .2, .1), q = (.6, .3, .1): .90 by rejection, .49 by matching (CASES 19)."""
    p, q = rows([0.7, 0.2, 0.1], [1.0, 0, 0]), rows([0.6, 0.3, 0.1])
    random = torch.Generator().manual_seed(2)
    accepted, runs = 0, 8000
    for _ in range(runs):
        draft, u, draw = torch.rand(3, generator=random, dtype=torch.float64).tolist()
        done = acceptance.JUDGES[rule](judged(p, q, [sample(q[0], draft)], [u], draw))
        accepted += bool(done.path)
    assert accepted / runs == pytest.approx(expected, abs=0.02)


def test_block_verification_by_hand():
    """Sun et al. 2024: p = (1/3, 2/3) and q = (2/3, 1/3) at both places; block 11/9 tokens, token by token 10/9."""
    p, q = rows(*[[1 / 3, 2 / 3]] * 3), rows(*[[2 / 3, 1 / 3]] * 2)
    expected = {"block": 0.0, "rejection": 0.0}
    for ids in ([0, 0], [0, 1], [1, 0], [1, 1]):
        chance = float(q[0, ids[0]] * q[1, ids[1]])
        passes, _ = acceptance.block_probabilities(judged(p, q, ids, [0, 0], 0))
        expected["block"] += chance * ((1 - (1 - passes[0]) * (1 - passes[1])) + passes[1])
        first, second = (min(1.0, float(p[0, x] / q[0, x])) for x in ids)
        expected["rejection"] += chance * (first + first * second)
    assert expected == pytest.approx({"block": 11 / 9, "rejection": 10 / 9})


def test_typical_acceptance_by_hand():
    """Uniform over 20: entropy log 20, so the threshold is min(.09, .3 / 20) = .015 and a token of .05 passes."""
    p = torch.full((3, 20), 0.05)
    done = acceptance.typical(judged(p, torch.full((2, 20), 0.05), [3, 4], [0.99, 0.99], 0.5))
    assert (done.path, done.tried) == ([0, 1], {0: 1.0, 1: 1.0})
    strict = judged(p, torch.full((2, 20), 0.05), [3, 4], [0.0, 0.0], 0.5, typical_delta=2.0)
    assert acceptance.typical(strict).tried == {0: 0.0}  # .05 is not above min(.09, .1)


def test_typical_acceptance_takes_the_deepest_path():
    p = rows([0.5, 0.5, 0.0], [1.0, 0, 0], [0.5, 0.5, 0.0], [1.0, 0, 0], [1.0, 0, 0])
    tree = judged(p, torch.full((4, 3), 1 / 3), [0, 1, 2, 1], [0.9] * 4, 0.2, parents=[-1, -1, 0, 1])
    done = acceptance.typical(tree)
    assert (done.path, done.token) == ([1, 3], 0)


def test_greedy_typical_acceptance_is_the_arg_max():
    p = rows([0.0, 1.0, 0.0], [1.0, 0, 0])
    assert acceptance.typical(judged(p, rows([0.0, 1.0, 0.0]), [1], [0.9], 0.5)).path == [0]
    assert acceptance.typical(judged(p, rows([1.0, 0.0, 0.0]), [0], [0.0], 0.5)).token == 1


def test_without_removes_and_renormalises():
    assert without(torch.tensor([0.5, 0.3, 0.2]), 0).tolist() == pytest.approx([0, 0.6, 0.4])
    assert without(torch.tensor([1.0, 0.0]), 0) is None
