"""The accept rules, one function each, over chains and trees; the tree is judged sibling by sibling.

Rows: p [n+1, W], row 0 follows the sequence, row j+1 follows node j, so node j is judged by row parents[j]+1.
q [n, W], row j is the distribution node j was drawn from. Both sum to 1. uniforms: one number in [0, 1) per node.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from specviz.decoding.proposers.base import Proposal
from specviz.decoding.sampling import sample, without
from specviz.trace.choices import Rule, Settings


@dataclass
class Judged:
    """What a rule looks at. draw: the uniform in [0, 1) of the token that follows the accepted nodes."""

    p: Tensor
    q: Tensor
    proposal: Proposal
    uniforms: Sequence[float]
    draw: float
    settings: Settings

    def children(self, node: int) -> list[int]:
        """Nodes that follow `node` (-1: the sequence), in the order of their tries."""
        return [j for j, parent in enumerate(self.proposal.parents) if parent == node]

    @cached_property
    def own(self) -> tuple[list[float], list[float]]:
        """p(x) and q(x) of every node's token under the rows as they are; in one transfer."""
        nodes = torch.arange(len(self.proposal.ids), device=self.p.device)
        tokens = torch.tensor(self.proposal.ids, dtype=torch.long, device=self.p.device)
        rows = torch.tensor(self.proposal.parents, dtype=torch.long, device=self.p.device) + 1
        p, q = torch.stack([self.p[rows, tokens], self.q[nodes, tokens]]).double().tolist()
        return p, q

    @cached_property
    def blocks(self) -> tuple[list[float], list[Tensor]]:
        """`block_probabilities` of this chain."""
        return block_probabilities(self)

    def ratio(self, node: int, p: float | None = None) -> float:
        """min(1, p(x)/q(x)) of a node's token, for `p` in place of its own p(x) if given."""
        own_p, q = self.own
        return min(1.0, (own_p[node] if p is None else p) / q[node])


@dataclass(slots=True)
class Outcome:
    """What a rule made of one proposal.

    path: accepted nodes, root first. token: the id that follows them. tried: node -> acceptance probability of
    each judged node, in order. residuals: rejected node -> what is left of p [W], normalised. fallback: the last
    residual had no mass, so p took its place.
    """

    path: list[int]
    token: int
    tried: dict[int, float]
    residuals: dict[int, Tensor] = field(default_factory=dict)
    fallback: bool = False


@torch.inference_mode()
def rejection(judged: Judged) -> Outcome:
    """Accept node j if uniforms[j] < min(1, p(x)/q(x)); after a rejection p becomes max(0, p - q), normalised.

    Chains: Leviathan et al. 2023 (arXiv 2211.17192, algorithm 1), Chen et al. 2023 (2302.01318). Trees: the same for
    each sibling in turn with what the earlier ones left of p (SpecInfer, Miao et al. 2024, 2305.09781, multi-step
    speculative sampling; without replacement: Jeon et al. 2024, 2402.14160). The output is distributed as p
    whatever q is, if each id was drawn from its row of q (one-hot if it was certain).
    """
    outcome = Outcome([], 0, {})
    node: int | None = -1
    while node is not None:
        p = judged.p[node + 1]
        node = _try_children(judged, node, p, outcome)
    return outcome


def _try_children(judged: Judged, node: int, p: Tensor, outcome: Outcome) -> int | None:
    """The child of `node` that is accepted; None, with the token drawn from what is left of p, if none is."""
    outcome.fallback = False
    for turn, child in enumerate(judged.children(node)):
        left = float(p[judged.proposal.ids[child]]) if turn else None
        outcome.tried[child] = judged.ratio(child, left)
        if judged.uniforms[child] < outcome.tried[child]:  # strict: p = 0 is never accepted, not even by 0
            outcome.path.append(child)
            return child
        p, outcome.fallback = residual(p, judged.q[child])
        outcome.residuals[child] = p
    outcome.token = sample(p, judged.draw)
    return None


@torch.inference_mode()
def match(judged: Judged) -> Outcome:
    """The target draws a token of its own at each place; a child that is the same stands, else the draw is emitted.

    Exact, as every emitted token is a draw from p (mlx-lm, llama.cpp). A draft is accepted with probability p(x), for
    a sampled draft less often than by rejection. The draw is the inverse CDF at the first child's uniform.
    """
    outcome = Outcome([], 0, {})
    node: int | None = -1
    while node is not None:
        p, children = judged.p[node + 1], judged.children(node)
        outcome.token = sample(p, judged.uniforms[children[0]] if children else judged.draw)
        node = _matching(judged, children, p, outcome)
    return outcome


def _matching(judged: Judged, children: Sequence[int], p: Tensor, outcome: Outcome) -> int | None:
    """The child that is the target's own draw `outcome.token`, if one is."""
    for child in children:
        token = judged.proposal.ids[child]
        outcome.tried[child] = float(p[token])
        if token == outcome.token:
            outcome.path.append(child)
            return child
        outcome.residuals[child] = p = _others(p, token)  # where the next sibling's chance is, as this one differs
    return None


@torch.inference_mode()
def block(judged: Judged) -> Outcome:
    """The longest prefix that passes stands (Sun et al. 2024, arXiv 2403.10444, algorithm 2). Chains only.

    With m_i = min(1, m_(i-1) p(x_i)/q(x_i)) and m_0 = 1, prefix i passes with probability
    h_i = s_i / (s_i + 1 - m_i), where s_i is the mass of max(0, m_i p_(i+1) - q_(i+1)), and h_k = m_k. The next token
    is drawn from that excess, normalised, or from p after the whole block. The output is distributed as p, and the
    expected accepted length is never below that of `rejection`.
    """
    count = len(judged.proposal.ids)
    passes, excesses = judged.blocks
    accepted = max((i + 1 for i in range(count) if judged.uniforms[i] < passes[i]), default=0)
    outcome = Outcome(list(range(accepted)), 0, dict(enumerate(passes)))
    if accepted == count:
        outcome.token = sample(judged.p[count], judged.draw)
        return outcome
    rest, outcome.fallback = _normalised(excesses[accepted], judged.p[accepted])
    outcome.residuals[accepted], outcome.token = rest, sample(rest, judged.draw)
    return outcome


def block_probabilities(judged: Judged) -> tuple[list[float], list[Tensor]]:
    """h_1..h_k of `block`, and for each i = 0..k-1 the excess max(0, m_i p_(i+1) - q_(i+1)) [W] fp64."""
    ids, mass, passes, excesses = judged.proposal.ids, 1.0, [], []
    for i, token in enumerate(ids):
        p, q = judged.p[i].double(), judged.q[i].double()
        excess = (mass * p - q).clamp(min=0.0)
        if i:
            over = float(excess.sum())
            passes.append(over / (over + 1 - mass) if over + 1 - mass > 0 else 0.0)
        excesses.append(excess)
        mass = min(1.0, mass * float(p[token] / q[token]))
    return [*passes, mass][: len(ids)], excesses


@torch.inference_mode()
def typical(judged: Judged) -> Outcome:
    """A node stands if p(x) > min(epsilon, delta exp(-H(p))), H in nats; of a tree the deepest such path.

    Medusa (Cai et al. 2024, arXiv 2401.10774, section 2.3.1). NOT exact: the output is no longer distributed as p.
    The next token is drawn from p. At T = 0 p is one-hot, so a node stands exactly if it is the arg max.
    """
    passed, best, ends = set(), -1, [-1]
    while ends:  # breadth first, so the first path of a length wins
        node = ends.pop(0)
        if len(judged.proposal.path(node)) > len(judged.proposal.path(best)):
            best = node
        least = _least_typical(judged, node + 1)
        here = [child for child in judged.children(node) if judged.own[0][child] > least]
        passed.update(here)
        ends += here
    path = judged.proposal.path(best)
    near = [child for node in (-1, *path) for child in judged.children(node)]
    failed = [child for child in near if child not in passed]
    tried = dict.fromkeys(path, 1.0) | dict.fromkeys(failed, 0.0)
    own = {child: judged.p[judged.proposal.parents[child] + 1] for child in failed}  # p where it would have stood
    return Outcome(path, sample(judged.p[best + 1], judged.draw), tried, own)


def _least_typical(judged: Judged, row: int) -> float:
    """What p(x) must exceed in a row of p."""
    return judged.settings.typical_threshold(float(torch.special.entr(judged.p[row].double()).sum()))


def residual(p: Tensor, q: Tensor) -> tuple[Tensor, bool]:
    """max(0, p - q) normalised, [W]; (p, True) where it has no finite positive mass (p = q up to rounding)."""
    return _normalised((p - q).clamp(min=0.0), p)


def _normalised(rest: Tensor, p: Tensor) -> tuple[Tensor, bool]:
    """`rest` [W] scaled to sum 1; (p, True) where it has no finite positive mass."""
    mass = rest.sum()
    if not (mass > 0 and mass.isfinite()):
        return p, True
    return rest / mass, False


@torch.inference_mode()
def chances(judged: Judged) -> list[tuple[float, float | None]]:
    """For every node, judged or not: the rule's acceptance probability once it is its turn, and what stands in for
    p(x) then if earlier siblings were rejected (None for a first child). With these any other outcome can be redrawn.
    """
    rule = judged.settings.rule
    if rule == "block":
        return [(chance, None) for chance in judged.blocks[0]]
    if rule == "typical":
        rows = [_least_typical(judged, parent + 1) for parent in judged.proposal.parents]
        return [(float(p > least), None) for p, least in zip(judged.own[0], rows, strict=True)]
    found: dict[int, tuple[float, float | None]] = {}
    for node in range(-1, len(judged.proposal.ids)):
        p = judged.p[node + 1]
        for turn, child in enumerate(judged.children(node)):
            token = judged.proposal.ids[child]
            left = float(p[token]) if turn else None
            if rule == "match":
                found[child], p = (float(p[token]), left), _others(p, token)
            else:
                found[child], p = (judged.ratio(child, left), left), residual(p, judged.q[child])[0]
    return [found[node] for node in range(len(found))]


def _others(p: Tensor, token: int) -> Tensor:
    """p [W] given that it is another token; p itself if there is none."""
    rest = without(p, token)
    return p if rest is None else rest


JUDGES: dict[Rule, Callable[[Judged], Outcome]] = {
    "rejection": rejection,
    "greedy-draft": rejection,  # the proposer drafts its arg max, so q is one-hot
    "match": match,
    "block": block,
    "typical": typical,
}

# rules that accept where the recorded uniform is below the acceptance probability (match draws, typical does not)
COMPARES_UNIFORMS = frozenset({"rejection", "greedy-draft", "block"})
