"""A draft with another tokenizer proposes the tokens that both vocabularies spell alike (token-level intersection).

Timor et al. 2025 (arXiv 2502.05202), algorithm 4: q is the draft's distribution restricted to the shared tokens and
renormalised. It is the distribution that the token is drawn from, so the ordinary rule stays exact.
"""

import sys
from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.decoding.proposers.base import Context, Draft, Proposer
from specviz.models.foreign import Cut
from specviz.models.forward import Stepper
from specviz.trace.schema import Trace

_NO_TEXT = "there is no text yet that the draft could go on from"
_NOTHING_SHARED = "the draft gives no chance to any token that both vocabularies share"


class CrossTokenizer(Proposer):
    """Drafts with `pair.foreign`, which reads the text in tokens of its own.

    Each round the new text is cut by the draft's tokenizer; the draft's cache is rolled back to where that cut departs
    from the one before, and takes in the rest. Within a round it goes on with its own id of each drafted token, which
    has the same bytes. So its positions and its cache know nothing of the target's tokens.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._foreign, self._cut = context.pair.foreign, Cut(context.pair.foreign)
        self._limit = self._foreign.info.context or sys.maxsize
        self._temperature = 1.0 if context.settings.greedy else context.settings.temperature
        self._read = 0  # target tokens whose text is cut
        self._stepper, self._places = Stepper(self._foreign.model, 0), 0
        self._fed: list[int] = []  # the draft's ids in its cache

    @property
    def bytes(self) -> int:
        return self._stepper.bytes

    def prefill(self, ids: Sequence[int]) -> None:
        known = self._know(ids)
        if known and len(known) <= self._limit:
            self._make_places(len(known) + 2 * (self.context.capacity - len(ids)))
            self._stepper.absorb(known)
            self._fed = known

    def propose(self, sequence: Sequence[int], draft: Draft) -> None:
        known = self._know(sequence)
        room = self._limit - len(known) + 1  # the last draft is proposed, never fed
        draft.limit(room, f"the draft model's context of {self._limit} tokens is full")
        if problem := self._cut.note or (None if known else _NO_TEXT):
            draft.limit(0, problem)
        if not draft.budget:
            return
        unseen = self._go_back(known, draft.budget)
        while draft.open:
            logits, kept = self._foreign.map(self._feed(unseen), self._temperature)
            if logits.amax() == -torch.inf:
                draft.limit(len(draft.proposal.ids), _NOTHING_SHARED)
                return
            unseen = [self._foreign.from_target[draft.choose(logits, kept)]]

    def conclude(self, trace: Trace) -> None:
        self._know([*trace.prompt.ids, *trace.output_ids])
        trace.draft_cut = self._cut.texts()

    def _know(self, sequence: Sequence[int]) -> list[int]:
        """The draft's ids of the text of `sequence`, which only grows."""
        if new := sequence[self._read :]:
            self._cut.extend(b"".join(map(self.context.pair.text.to_bytes, new)))
            self._read = len(sequence)
        begin = self._foreign.begin
        return self._cut.ids[:] if begin is None else [begin, *self._cut.ids]

    def _go_back(self, known: list[int], budget: int) -> list[int]:
        """Keep in the cache what agrees with `known`; returns the rest of it, at least one id."""
        self._make_places(len(known) + budget - 1)
        kept = 0
        while kept < min(len(self._fed), len(known) - 1) and self._fed[kept] == known[kept]:
            kept += 1
        self._stepper.rollback(len(self._fed) - kept)
        del self._fed[kept:]
        return known[kept:]

    def _make_places(self, needed: int) -> None:
        """Room for `needed` tokens. How many a text takes cannot be known before; a larger cache begins empty."""
        if needed > self._places:
            self._places = min(self._limit, needed + self._places)
            self._stepper, self._fed = Stepper(self._foreign.model, self._places), []

    def _feed(self, ids: list[int]) -> Tensor:
        """Logits [1, draft width] after `ids`."""
        logits = self._stepper.feed(ids)
        self._fed += ids
        return logits
