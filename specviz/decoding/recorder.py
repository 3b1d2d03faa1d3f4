"""Device tensors to trace rows, in one transfer a round. Runs after the round's clock has stopped."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.decoding.acceptance import Outcome
from specviz.decoding.proposers.base import Proposal
from specviz.trace.schema import Drafted, Emitted, Settings, Top, Verdict

_DIGITS = 7  # of a recorded top entry; p(x), q(x), the ratio and the uniform are kept in full


@dataclass(slots=True)
class Facts:
    """One round as tensors. p, scores: [k+1, W]; q: [k, W]; k drafts in `proposal`; uniforms: one per draft."""

    p: Tensor
    q: Tensor
    scores: Tensor
    proposal: Proposal
    uniforms: Sequence[float]
    outcome: Outcome


class _Transfer:
    """Collects tensors and brings all of them to Python at once, as float64 (exact for ids too)."""

    def __init__(self) -> None:
        self._columns: dict[str, Tensor] = {}

    def add(self, name: str, values: Tensor) -> None:
        self._columns[name] = values

    def fetch(self) -> dict[str, list]:
        flat = torch.cat([t.double().flatten() for t in self._columns.values()]).cpu()
        sizes = [t.numel() for t in self._columns.values()]
        parts = zip(self._columns.items(), flat.split(sizes), strict=True)
        return {name: part.view(t.shape).tolist() for (name, t), part in parts}


@torch.inference_mode()
def record(facts: Facts, standing: int, settings: Settings) -> tuple[list[Drafted], list[Emitted]]:
    """Trace rows of a round of which the first `standing` tokens entered the output."""
    rows = _measure(facts, settings)
    drafted = [_drafted(i, rows, facts, standing, settings) for i in range(len(facts.proposal.ids))]
    emitted = [_emitted(i, rows, facts, drafted, settings) for i in range(standing)]
    return drafted, emitted


def _measure(facts: Facts, settings: Settings) -> dict[str, list]:
    """Everything the rows need, by name; the tops as pairs of `..._probs` and `..._ids`."""
    p, ids, n = facts.p, facts.proposal.ids, min(settings.top_n, facts.p.shape[-1])
    k, token = len(ids), facts.outcome.token
    out = _Transfer()
    best = facts.scores.topk(min(2, facts.scores.shape[-1]), dim=-1).values
    out.add("gap", best[:, 0] - best[:, -1])
    out.add("p_token", p[facts.outcome.accepted, token][None])
    if settings.greedy:
        out.add("p_argmax", p.argmax(-1))
        _add_own_top(out, "target", facts.scores, n)
    else:
        out.add("entropy_p", torch.special.entr(p).sum(-1))
        _add_top(out, "p", p, n)
    if k:
        places, tokens = torch.arange(k, device=p.device), torch.tensor(ids, device=p.device)
        q = facts.q
        out.add("p_x", p[places, tokens])
        out.add("q_x", q[places, tokens])
        out.add("accept_prob", facts.outcome.accept_probs)
        if settings.greedy:
            _add_own_top(out, "draft", torch.stack(facts.proposal.scores), n)
        else:
            out.add("beta", torch.minimum(p[:k], q).sum(-1))
            out.add("entropy_q", torch.special.entr(q).sum(-1))
            _add_top(out, "q", q, n)
    if facts.outcome.residual is not None and not settings.greedy:
        _add_top(out, "residual", facts.outcome.residual[None], n)
    return out.fetch()


def _add_top(out: _Transfer, name: str, probs: Tensor, n: int) -> None:
    top = probs.topk(n, dim=-1)
    out.add(f"{name}_probs", top.values)
    out.add(f"{name}_ids", top.indices)


def _add_own_top(out: _Transfer, name: str, scores: Tensor, n: int) -> None:
    """Top entries of softmax(scores): the model's own view, where p itself is one-hot."""
    top = scores.topk(n, dim=-1)
    out.add(f"{name}_probs", (top.values - scores.logsumexp(-1, keepdim=True)).exp())
    out.add(f"{name}_ids", top.indices)


def _top(rows: dict[str, list], name: str, i: int) -> Top:
    pairs = [(int(t), round(v, _DIGITS)) for v, t in zip(rows[f"{name}_probs"][i], rows[f"{name}_ids"][i], strict=True)]
    pairs = sorted(((t, v) for t, v in pairs if v > 0), key=lambda pair: (-pair[1], pair[0]))
    rest = round(max(0.0, 1.0 - sum(v for _, v in pairs)), _DIGITS)
    return Top([t for t, _ in pairs], [min(1.0, v) for _, v in pairs], rest)


def _one_hot(token: int) -> Top:
    return Top([int(token)], [1.0], 0.0)


def _drafted(i: int, rows: dict[str, list], facts: Facts, standing: int, settings: Settings) -> Drafted:
    verdict = _verdict(i, facts.outcome.accepted, standing)
    token, judged = facts.proposal.ids[i], verdict in ("accepted", "rejected")
    row = Drafted(
        id=token,
        p=min(1.0, rows["p_x"][i]),
        q=min(1.0, rows["q_x"][i]),
        accept_prob=rows["accept_prob"][i],
        verdict=verdict,
        beta=rows["p_x"][i],
        entropy_p=0.0,
        entropy_q=0.0,
        p_top=_one_hot(rows["p_argmax"][i]) if settings.greedy else _top(rows, "p", i),
        q_top=_one_hot(token) if settings.greedy else _top(rows, "q", i),
        uniform=facts.uniforms[i] if judged else None,
    )
    if settings.greedy:
        row.target_top, row.draft_top = _top(rows, "target", i), _top(rows, "draft", i)
    else:
        row.beta = min(1.0, rows["beta"][i])
        row.entropy_p, row.entropy_q = max(0.0, rows["entropy_p"][i]), max(0.0, rows["entropy_q"][i])
    if verdict == "rejected":
        row.residual_top = _one_hot(facts.outcome.token) if settings.greedy else _top(rows, "residual", 0)
    return row


def _verdict(i: int, accepted: int, standing: int) -> Verdict:
    """What became of draft i: the first `accepted` passed the rule, the first `standing` tokens are in the output."""
    if i < accepted:
        return "accepted" if i < standing else "cut"
    return "rejected" if i == accepted and i < standing else "not_judged"


def _emitted(i: int, rows: dict[str, list], facts: Facts, drafted: list[Drafted], settings: Settings) -> Emitted:
    accepted, k = facts.outcome.accepted, len(drafted)
    gap = rows["gap"][i]
    gap = gap if gap < float("inf") else None
    if i < accepted:
        return Emitted(drafted[i].id, "accepted", drafted[i].p, gap)
    token, p = facts.outcome.token, min(1.0, rows["p_token"][0])
    if accepted < k:
        return Emitted(token, "resampled", p, gap, fallback=facts.outcome.fallback)
    row = Emitted(token, "bonus" if k else "plain", p, gap)
    if settings.greedy:
        row.p_top, row.entropy_p, row.target_top = _one_hot(token), 0.0, _top(rows, "target", i)
    else:
        row.p_top, row.entropy_p = _top(rows, "p", i), max(0.0, rows["entropy_p"][i])
    return row
