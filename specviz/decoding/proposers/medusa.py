"""Heads on the target's last hidden state each guess one of the next tokens (Cai et al. 2024, arXiv:2401.10774)."""

from collections.abc import Sequence

from torch import Tensor

from specviz.decoding.proposers.base import Context, Draft, Proposer
from specviz.models.medusa import tapped
from specviz.models.pair import Pair
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Settings


class Medusa(Proposer):
    """Drafts with `pair.medusa`, from the hidden state that gave the last token.

    At the start of a round the sequence is ids[0..n-1] and the target has seen all but the last of them. The hidden
    state of token n-2 decided token n-1; head 0, which looks one further, guesses token n, head 1 token n+1, and so
    on: head i drafts token i. A chain draws from each head, so the ordinary rule is exact; the heads do not see one
    another's tokens, which the rule does not mind. A tree takes the most likely tokens of head d at depth d.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._heads = context.pair.medusa
        # the Stepper belongs to this run alone, so it may run a private view of the shared model
        context.target.model, self._tap = tapped(context.target.model)
        self._hidden: Tensor | None = None  # [1, H]: of the last token in the target's cache
        self._rows: Tensor | None = None  # [n, H]: of the tokens verified last

    @classmethod
    def check(cls, pair: Pair, settings: Settings) -> None:
        tapped(pair.target)

    def propose(self, sequence: Sequence[int], draft: Draft) -> None:
        if self._hidden is None:
            draft.limit(0, "the heads wait for the first hidden state, which the first target pass gives")
            return
        count = self._heads.count
        draft.limit(count, f"there are {count} heads, and each guesses one token")
        if not draft.budget:
            return
        logits = self._heads.logits(self._hidden, self._tap.layer)  # [count, V]
        if draft.widths:
            self._grow(logits, draft)
            return
        for row in logits:
            if draft.open:
                draft.choose(row[None])

    def _grow(self, logits: Tensor, draft: Draft) -> None:
        level = [-1]
        for row, width in zip(logits, draft.widths, strict=False):
            level = [child for node in level for child in draft.branch(row[None], node, width, by_rank=True)]
            draft.clock.step()

    def verify(self, ids: Sequence[int], parents: Sequence[int] | None) -> Tensor:
        logits = super().verify(ids, parents)
        if self._tap.hidden is None:
            name = self.context.pair.target_info.name
            raise SpecvizError(f"The hidden states of {name} cannot be read, so its Medusa heads cannot draft.")
        self._rows = self._tap.hidden[0, -len(ids) :]
        return logits

    def settle(self, length: int, path: Sequence[int]) -> None:
        last = path[-1] + 1 if path else 0  # row 0 is the token before the draft, row j + 1 is node j
        self._hidden = self._rows[last : last + 1]
