"""Accept rules that are wrong on purpose: exhibits for the test of losslessness, used nowhere else.

Each has the signature of a rule. In `judged`, the proposal's scores are log-probabilities of the draft before
temperature and filters.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import torch

from specviz.decoding.acceptance import JUDGES, Judged, Outcome, rejection, residual
from specviz.decoding.sampling import sample
from specviz.trace.checked import FAULTS, Fault
from specviz.trace.choices import Rule
from specviz.trace.methods import RULES


@dataclass(frozen=True, slots=True)
class Way:
    """How a token comes about. argmax: the draft takes its arg max, else it draws from q. one_hot: q says so.

    raw: the judge asks for the proposal's scores.
    """

    judge: Callable[[Judged], Outcome]
    argmax: bool = False
    one_hot: bool = False
    raw: bool = False


@torch.inference_mode()
def no_residual(judged: Judged) -> Outcome:
    """Rejection sampling that draws from p after a rejection."""
    outcome = rejection(judged)
    if (place := len(outcome.path)) < len(judged.proposal.ids):
        outcome.token = sample(judged.p[place], judged.draw)
    return outcome


@torch.inference_mode()
def raw_q_residual(judged: Judged) -> Outcome:
    """Rejection sampling whose residual is max(0, p - q) with the unprocessed q."""
    outcome = rejection(judged)
    if (place := len(outcome.path)) < len(judged.proposal.ids):
        rest, outcome.fallback = residual(judged.p[place], judged.proposal.scores[place].exp())
        outcome.token = sample(rest, judged.draw)
    return outcome


def one_uniform(judged: Judged) -> Outcome:
    """Rejection sampling that compares every drafted token with the first one's uniform."""
    same = copy(judged)
    same.uniforms = [judged.uniforms[0]] * len(judged.uniforms)
    return rejection(same)


def way(rule: Rule | Fault) -> Way:
    """A rule as the engine runs it, or one with a fault."""
    if rule in FAULTS:
        return _WRONG[rule]
    argmax = RULES[rule].argmax
    return Way(JUDGES[rule], argmax, one_hot=argmax)


_WRONG: dict[Fault, Way] = {
    "no-residual": Way(no_residual),
    "raw-q-residual": Way(raw_q_residual, raw=True),
    "one-uniform": Way(one_uniform),
    "soft-q": Way(rejection, argmax=True),  # the fault is in the proposal: its q should be one-hot
}
