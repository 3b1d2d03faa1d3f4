"""What a proposer is: something that drafts, and is then told what became of its draft."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from specviz.decoding.clock import Clock
from specviz.decoding.sampling import Processor, largest, sample, without
from specviz.models.forward import Stepper
from specviz.models.pair import Pair
from specviz.trace.methods import RULES
from specviz.trace.schema import Copied, Settings, Trace


@dataclass(slots=True)
class Proposal:
    """Drafted ids and the distribution each was drawn from: a chain, or a tree.

    q: one row [W] fp32 per id, as processed (one-hot if the id was not drawn by chance); for a later sibling, what
    was left when the earlier ones had been drawn. scores: the penalised logits row per id, None for a copied one;
    for the record only. parents: index of the node before each node, -1 for the sequence; parents stand before
    their children and siblings in the order of their tries. kept: see `schema.Drafted`.
    note: why fewer than asked were drafted, if a limit was the cause.
    """

    ids: list[int] = field(default_factory=list)
    q: list[Tensor] = field(default_factory=list)
    scores: list[Tensor | None] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    kept: list[float | None] = field(default_factory=list)
    tree: bool = False
    note: str | None = None
    copied: Copied | None = None
    by: str | None = None

    def q_rows(self, p: Tensor) -> Tensor:
        """q as one tensor [n, W], like p [n+1, W]."""
        return torch.stack(self.q) if self.q else p[:0]

    def path(self, node: int) -> list[int]:
        """Node indices from the root to `node`, itself included; empty for -1."""
        nodes = []
        while node >= 0:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    def path_ids(self, node: int) -> list[int]:
        """Token ids from the root to `node`."""
        return [self.ids[n] for n in self.path(node)]

    def add(self, token: int, q: Tensor, scores: Tensor | None, parent: int, kept: float | None = None) -> int:
        """Append a node; returns its index."""
        self.ids.append(token)
        self.q.append(q)
        self.scores.append(scores)
        self.parents.append(parent)
        self.kept.append(kept)
        return len(self.ids) - 1


@dataclass(frozen=True, slots=True)
class Context:
    """What a proposer is given for one run. target: the target's place in this run's sequence, shared with the loop.

    capacity: tokens the sequence can grow to.
    """

    pair: Pair
    settings: Settings
    target: Stepper
    capacity: int


class Draft:
    """One round's draft in the making: draws tokens, keeps their q, says when to stop.

    budget: how many tokens deep it may get. uniforms: one number in [0, 1) per token that may be drawn.
    widths: children per node at each depth, no deeper than the budget; empty for a chain.
    """

    def __init__(
        self,
        settings: Settings,
        processor: Processor,
        clock: Clock,
        ends: frozenset[int],
        budget: int,
        uniforms: Sequence[float],
    ) -> None:
        self.proposal = Proposal()
        self.budget = budget
        self.widths = settings.tree[:budget]
        self.clock = clock
        self._settings, self._processor, self._ends = settings, processor, ends
        self._uniforms = iter(uniforms)
        self._argmax = RULES[settings.rule].argmax
        self._sure = True  # whether the last token passed the confidence cut

    @property
    def open(self) -> bool:
        """Whether a chain may grow: there is budget, no end of sequence was drafted, the proposer is sure enough."""
        ids = self.proposal.ids
        return len(ids) < self.budget and self._sure and not (ids and ids[-1] in self._ends)

    def limit(self, room: int, note: str) -> None:
        """At most `room` tokens, for the reason `note`."""
        if room < self.budget:
            self.budget = max(0, room)
            self.widths = self.widths[: self.budget]
            self.proposal.note = note

    @torch.inference_mode()
    def choose(self, logits: Tensor, kept: float | None = None) -> int:
        """Draw the next token of a chain from logits [1, V] that follow the last one; one `clock.step()`."""
        proposal = self.proposal
        scores = self._processor.scores(logits, [proposal.ids], who="draft")
        q = self._processor.probabilities(scores)[0]
        token = int(q.argmax()) if self._argmax else sample(q, next(self._uniforms))
        if self._settings.draft_length == "confidence":
            # the proposer's own view: q itself says nothing where it is one-hot
            self._sure = float(scores[0].softmax(-1)[token]) >= self._settings.confidence
        q = one_hot(token, q) if self._argmax else q
        proposal.add(token, q, scores[0], len(proposal.ids) - 1, kept)
        self.clock.step()
        return token

    def copy(self, tokens: Sequence[int]) -> None:
        """Append tokens that no model drew to the chain: q is one-hot. One `clock.step()` for all of them."""
        blank = self._processor.blank()
        for token in tokens:
            if self.open:
                self.proposal.add(token, one_hot(token, blank), None, len(self.proposal.ids) - 1)
        self.clock.step()

    @torch.inference_mode()
    def branch(self, logits: Tensor, parent: int, width: int, by_rank: bool = False) -> list[int]:
        """Give node `parent` (-1: the sequence) at most `width` children from logits [1, V] that follow it.

        by_rank: the largest entries in order, each one-hot (a deterministic choice); else drawn without replacement,
        each with the distribution that was left. At T = 0 both are the `width` largest scores. Returns the indices
        of the children that may have children of their own.
        """
        proposal = self.proposal
        proposal.tree = True
        if parent >= 0 and proposal.ids[parent] in self._ends:
            return []
        scores = self._processor.scores(logits, [proposal.path_ids(parent)], who="draft")
        ranked = by_rank or self._argmax or self._settings.greedy
        rows = self._ranked(scores, width) if ranked else self._drawn(scores, width)
        nodes = [proposal.add(token, q, scores[0], parent) for token, q in rows]
        return [n for n in nodes if proposal.ids[n] not in self._ends]

    def _ranked(self, scores: Tensor, width: int) -> list[tuple[int, Tensor]]:
        return [(token, one_hot(token, scores[0])) for token in largest(scores, width)]

    def _drawn(self, scores: Tensor, width: int) -> list[tuple[int, Tensor]]:
        q, rows = self._processor.probabilities(scores)[0], []
        for _ in range(width):
            token = sample(q, next(self._uniforms))
            rows.append((token, q))
            left = without(q, token)
            if left is None:
                break
            q = left
        return rows


def one_hot(token: int, like: Tensor) -> Tensor:
    """The distribution of a token that was certain to be drafted, [W] fp32, on the device of `like` [W]."""
    row = torch.zeros_like(like, dtype=torch.float32)
    row[token] = 1.0
    return row


class Proposer:
    """One object per run, made from a `Context`. Adding a method is adding a file here and a line in `registry`."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @classmethod
    def check(cls, pair: Pair, settings: Settings) -> None:
        """Raise SpecvizError if these settings do not fit this pair; before anything is computed."""

    @property
    def bytes(self) -> int:
        """Of key-value buffers of its own."""
        return 0

    def prefill(self, ids: Sequence[int]) -> None:
        """Take in the prompt, except its last token. The target has taken it in already."""

    def propose(self, sequence: Sequence[int], draft: Draft) -> None:
        """Fill `draft` with tokens that may follow `sequence`."""
        raise NotImplementedError

    def verify(self, ids: Sequence[int], parents: Sequence[int] | None) -> Tensor:
        """The target's logits after each of `ids`, [len(ids), V]: the last token of the sequence, then the draft.

        parents: for a tree, index in `ids` of the token before each one, -1 for the first. The target's cache holds
        all of `ids` afterwards.
        """
        target = self.context.target
        return target.feed(ids, keep=len(ids)) if parents is None else target.feed_tree(ids, parents)

    def settle(self, length: int, path: Sequence[int]) -> None:
        """The round is over: the sequence without its last token has `length` tokens; of the draft, the nodes
        `path` (indices, root first) are among them. The target's cache is the loop's business."""

    def conclude(self, trace: Trace) -> None:
        """The run is over, off the clock: add what can be said of it as a whole."""
