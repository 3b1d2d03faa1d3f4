"""The accept rules. Leviathan et al. 2023 (arXiv 2211.17192, algorithm 1); Chen et al. 2023 (2302.01318)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.decoding.sampling import sample


@dataclass(slots=True)
class Outcome:
    """What a rule made of one proposal.

    accepted: drafts accepted before the first rejection (k: all). token: the id that follows them, drawn from
    the residual, or from the bonus row of p. accept_probs: [k] fp64. residual: [W] fp32, normalised, at a
    rejection; fallback: it had no mass, so the token was drawn from p.
    """

    accepted: int
    token: int
    accept_probs: Tensor
    residual: Tensor | None = None
    fallback: bool = False


@torch.inference_mode()
def rejection(p: Tensor, q: Tensor, ids: Sequence[int], uniforms: Sequence[float], draw: float) -> Outcome:
    """Accept draft i if uniforms[i] < min(1, p_i(x)/q_i(x)); at the first miss draw from max(0, p - q).

    p: [k+1, W], q: [k, W], rows that sum to 1; ids: k drafted tokens; uniforms, draw: in [0, 1). The output is
    distributed as p whatever q is, if each id was drawn from its row of q (one-hot if deterministic).
    """
    k = len(ids)
    places = torch.arange(k, device=p.device)
    tokens = torch.tensor(list(ids), dtype=torch.long, device=p.device)
    ratios = (p[places, tokens].double() / q[places, tokens].double()).clamp(max=1.0)
    for i, ratio in enumerate(ratios.tolist()):
        if not uniforms[i] < ratio:  # strict: p = 0 is never accepted, not even by a uniform of 0
            rest, fallback = residual(p[i], q[i])
            return Outcome(i, sample(rest, draw), ratios, rest, fallback)
    return Outcome(k, sample(p[k], draw), ratios)


def residual(p: Tensor, q: Tensor) -> tuple[Tensor, bool]:
    """max(0, p - q) normalised, [W]; (p, True) where it has no finite positive mass (p = q up to rounding)."""
    rest = (p - q).clamp(min=0.0)
    mass = rest.sum()
    if not (mass > 0 and mass.isfinite()):
        return p, True
    return rest / mass, False
