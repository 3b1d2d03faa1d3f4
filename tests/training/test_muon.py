"""The batched Muon against torch's own."""

import torch

from specviz.training.muon import Muon, orthogonalise


def test_updates_are_those_of_torch_muon():
    torch.manual_seed(0)
    shapes = [(24, 24), (24, 24), (64, 24), (24, 64)]
    ours = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    theirs = [torch.nn.Parameter(p.detach().clone()) for p in ours]
    muon, reference = Muon(ours, weight_decay=0.1), torch.optim.Muon(theirs, lr=0.02, weight_decay=0.1)
    for _ in range(4):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn(mine.shape)
            other.grad = mine.grad.clone()
        muon.step(0.02)
        reference.step()
    for mine, other in zip(ours, theirs, strict=True):
        # Both iterate in bfloat16; transposing changes the order of rounding.
        torch.testing.assert_close(mine, other, atol=2e-3, rtol=0)


def test_orthogonalise_brings_singular_values_near_one():
    x = torch.randn(3, 16, 40, generator=torch.Generator().manual_seed(1))
    values = torch.linalg.svdvals(orthogonalise(x).float())
    assert float(values.min()) > 0.6
    assert float(values.max()) < 1.3


def test_a_parameter_without_gradient_goes_on_with_its_momentum_only():
    parameter = torch.nn.Parameter(torch.randn(8, 8))
    muon = Muon([parameter], weight_decay=0.0)
    before = parameter.detach().clone()
    muon.step(0.02)
    assert torch.equal(parameter, before)
