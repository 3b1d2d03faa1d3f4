"""Prompt lookup where the text repeats itself, the draft model elsewhere."""

from collections.abc import Sequence

from specviz.decoding.proposers.base import Context, Draft, Proposer
from specviz.decoding.proposers.draft_model import DraftModel
from specviz.decoding.proposers.prompt_lookup import NgramIndex, copy_from


class Composite(Proposer):
    """A copy costs nothing, so it is tried first; the draft model catches up on what it has not seen when its turn
    comes."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._index = NgramIndex(context.settings)
        self._model = DraftModel(context)

    @property
    def bytes(self) -> int:
        return self._model.bytes

    def prefill(self, ids: Sequence[int]) -> None:
        self._model.prefill(ids)

    def propose(self, sequence: Sequence[int], draft: Draft) -> None:
        found = self._index.find(sequence)
        draft.proposal.by = "draft-model" if found is None else "prompt-lookup"
        if found is None:
            self._model.propose(sequence, draft)
        else:
            copy_from(found, sequence, draft)

    def settle(self, length: int, path: Sequence[int]) -> None:
        self._model.settle(length, path)
