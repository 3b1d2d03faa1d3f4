"""Device tensors to trace rows, in one transfer a round. Runs after the round's clock has stopped."""

from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.decoding.acceptance import COMPARES_UNIFORMS, Judged, Outcome, chances
from specviz.decoding.proposers.base import Proposal
from specviz.trace.schema import Drafted, Emitted, Settings, Top, Verdict

_DIGITS = 7  # of a recorded top entry; p(x), q(x), the ratio and the uniform are kept in full


@dataclass(slots=True)
class Facts:
    """One round as tensors. scores: the penalised logits that p [n+1, W] came from; n drafts in `judged`."""

    judged: Judged
    scores: Tensor
    outcome: Outcome

    @property
    def proposal(self) -> Proposal:
        return self.judged.proposal

    def row(self, place: int) -> int:
        """Row of p that decides the emitted token at `place`: the one after the accepted node before it."""
        return self.outcome.path[place - 1] + 1 if place else 0

    def verdict(self, node: int, standing: int) -> Verdict:
        """What became of a node; the first `standing` tokens are in the output, the rest was cut off."""
        path = self.outcome.path
        if node in path:
            return "accepted" if path.index(node) < standing else "cut"
        parents = self.proposal.parents
        place = path.index(parents[node]) + 1 if parents[node] in path else 0  # where it would have stood
        return "rejected" if node in self.outcome.residuals and place < standing else "not_judged"


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
    for row, (chance, left) in zip(drafted, chances(facts.judged), strict=True):
        row.accept_prob, row.p_left = min(1.0, chance), None if left is None else min(1.0, left)
    if not facts.proposal.tree:
        for row, block in zip(drafted, facts.judged.blocks[0], strict=True):
            row.block = min(1.0, block)
    return drafted, [_emitted(i, rows, facts, settings) for i in range(standing)]


def _measure(facts: Facts, settings: Settings) -> dict[str, list]:
    """Everything the rows need, by name; the tops as pairs of `..._probs` and `..._ids`."""
    p, n = facts.judged.p, min(settings.top_n, facts.judged.p.shape[-1])
    out = _Transfer()
    best = facts.scores.topk(min(2, facts.scores.shape[-1]), dim=-1).values
    out.add("gap", best[:, 0] - best[:, -1])
    out.add("p_token", p[facts.row(len(facts.outcome.path)), facts.outcome.token][None])
    if settings.greedy:
        out.add("p_argmax", p.argmax(-1))
        _add_own_top(out, "target", facts.scores, n)
    else:
        out.add("entropy_p", torch.special.entr(p).sum(-1))
        _add_top(out, "p", p, n)
    if facts.proposal.ids:
        _measure_drafts(out, facts, settings, n)
    return out.fetch()


def _measure_drafts(out: _Transfer, facts: Facts, settings: Settings, n: int) -> None:
    proposal, q = facts.proposal, facts.judged.q
    p = facts.judged.p[torch.tensor(proposal.parents, device=q.device) + 1]  # [n, W] the row that judges each node
    best = q.argmax(-1, keepdim=True)
    out.add("best", p.gather(-1, best)[:, 0])
    if settings.greedy:
        if all(row is not None for row in proposal.scores):
            _add_own_top(out, "draft", torch.stack(proposal.scores), n)
        return
    out.add("beta", torch.minimum(p, q).sum(-1))
    out.add("match", (p * q).sum(-1))
    out.add("entropy_q", torch.special.entr(q).sum(-1))
    _add_top(out, "q", q, n)
    if facts.outcome.residuals:
        _add_top(out, "residual", torch.stack([r.float() for r in facts.outcome.residuals.values()]), n)


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
    proposal, outcome, verdict = facts.proposal, facts.outcome, facts.verdict(i, standing)
    token, (p_own, q_own) = proposal.ids[i], facts.judged.own
    place = proposal.parents[i] + 1
    row = Drafted(
        id=token,
        p=min(1.0, p_own[i]),
        q=min(1.0, q_own[i]),
        accept_prob=0.0,  # filled in by `record`, for the whole draft at once
        verdict=verdict,
        beta=min(1.0, p_own[i]),
        entropy_p=0.0,
        entropy_q=0.0,
        p_top=_one_hot(rows["p_argmax"][place]) if settings.greedy else _top(rows, "p", place),
        q_top=_one_hot(token) if settings.greedy else _top(rows, "q", i),
        best=min(1.0, rows["best"][i]),
        match=min(1.0, p_own[i]),
        kept=proposal.kept[i],
        parent=proposal.parents[i] if proposal.tree else None,
    )
    if settings.greedy:
        row.target_top = _top(rows, "target", place)
        row.draft_top = _top(rows, "draft", i) if "draft_ids" in rows else None
    else:
        row.beta, row.match = min(1.0, rows["beta"][i]), min(1.0, rows["match"][i])
        row.entropy_p, row.entropy_q = max(0.0, rows["entropy_p"][place]), max(0.0, rows["entropy_q"][i])
    if verdict in ("accepted", "rejected"):
        row.uniform = facts.judged.uniforms[i] if settings.rule in COMPARES_UNIFORMS else None
    if verdict == "rejected":
        left = list(outcome.residuals).index(i)
        greedy_left = int(outcome.residuals[i].argmax())
        row.residual_top = _one_hot(greedy_left) if settings.greedy else _top(rows, "residual", left)
    return row


def _emitted(i: int, rows: dict[str, list], facts: Facts, settings: Settings) -> Emitted:
    path, drafts = facts.outcome.path, len(facts.proposal.ids)
    row = facts.row(i)
    gap = rows["gap"][row]
    gap = gap if gap < float("inf") else None
    if i < len(path):
        return Emitted(facts.proposal.ids[path[i]], "accepted", min(1.0, facts.judged.own[0][path[i]]), gap)
    token, p = facts.outcome.token, min(1.0, rows["p_token"][0])
    if facts.judged.children(path[-1] if path else -1):
        return Emitted(token, "resampled", p, gap, fallback=facts.outcome.fallback)
    emitted = Emitted(token, "bonus" if drafts else "plain", p, gap)
    if settings.greedy:
        emitted.p_top, emitted.entropy_p, emitted.target_top = _one_hot(token), 0.0, _top(rows, "target", row)
    else:
        emitted.p_top, emitted.entropy_p = _top(rows, "p", row), max(0.0, rows["entropy_p"][row])
    return emitted
