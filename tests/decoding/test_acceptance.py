"""The accept rule on hand-computed cases."""

import pytest
import torch

from specviz.decoding.acceptance import rejection, residual
from specviz.decoding.sampling import sample


def rows(*values: list[float]) -> torch.Tensor:
    return torch.tensor(values)


def test_accepts_below_the_ratio_and_draws_the_bonus_from_the_last_row():
    p, q = rows([0.2, 0.8], [0.5, 0.5], [1.0, 0.0]), rows([0.8, 0.2], [0.5, 0.5])
    done = rejection(p, q, [0, 1], [0.2499, 0.999], draw=0.7)
    assert (done.accepted, done.token, done.residual) == (2, 0, None)
    assert done.accept_probs.tolist() == pytest.approx([0.25, 1.0])


def test_first_rejection_ends_the_round_and_draws_from_the_residual():
    p, q = rows([0.2, 0.5, 0.3], [1, 0, 0], [1, 0, 0]), rows([0.8, 0.1, 0.1], [1, 0, 0])
    done = rejection(p, q, [0, 0], [0.26, 0.0], draw=0.9)
    assert (done.accepted, done.token) == (0, 2)
    assert done.residual.tolist() == pytest.approx([0.0, 2 / 3, 1 / 3])


def test_a_deterministic_proposal_has_a_one_hot_q():
    """p = (.5, .5), always proposing token 0: it must come out half the time (a soft q gives 83.3 %)."""
    p, q = rows([0.5, 0.5], [0.5, 0.5]), rows([1.0, 0.0])
    random = torch.Generator().manual_seed(0)
    first = 0
    for _ in range(4000):
        u, draw = torch.rand(2, generator=random, dtype=torch.float64).tolist()
        done = rejection(p, q, [0], [u], draw)
        first += done.accepted == 1 or done.token == 0
    assert abs(first / 4000 - 0.5) < 0.03  # 3.8 standard errors


def test_residual_without_mass_falls_back_to_p():
    one_hot = rows([0, 0, 0, 1.0], [1.0, 0, 0, 0])
    done = rejection(one_hot, one_hot[:1], [3], [1.0], draw=0.5)  # a uniform of 1 cannot occur; rounding might act so
    assert (done.accepted, done.token, done.fallback) == (0, 3, True)
    p = torch.tensor([0.25, 0.75])
    assert residual(p, p)[1]
    assert residual(p, torch.full((2,), torch.nan))[1]


def test_a_uniform_of_zero_does_not_accept_an_impossible_token():
    done = rejection(rows([0.0, 1.0], [1.0, 0.0]), rows([1.0, 0.0]), [0], [0.0], draw=0.0)
    assert (done.accepted, done.token) == (0, 1)


def test_no_draft_gives_a_plain_draw():
    done = rejection(rows([0.0, 0.25, 0.75]), torch.empty(0, 3), [], [], draw=0.5)
    assert (done.accepted, done.token, done.accept_probs.tolist()) == (0, 2, [])


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
