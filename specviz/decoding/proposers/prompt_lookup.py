"""Prompt lookup: what followed the same last tokens earlier in the text is proposed again (Saxena 2023; n-gram
speculation in vLLM and transformers). No model drafts, so q is one-hot."""

from collections.abc import Sequence

from specviz.decoding.proposers.base import Context, Draft, Proposer
from specviz.trace.schema import Copied, Settings


class PromptLookup(Proposer):
    """Remembers where each n-gram ended, so that a look-up costs the same however long the text is."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._index = NgramIndex(context.settings)

    def propose(self, sequence: Sequence[int], draft: Draft) -> None:
        copy_from(self._index.find(sequence), sequence, draft)


class NgramIndex:
    """Earlier places of the n-grams of a growing sequence, for lengths ngram_min to ngram_max.

    Longest n-gram first; of equal ones the latest or the first place (ngram_tie). The n-gram at the very end does
    not match itself: a match must have a token after it.
    """

    def __init__(self, settings: Settings) -> None:
        self._sizes = range(settings.ngram_max, settings.ngram_min - 1, -1)
        self._latest = settings.ngram_tie == "latest"
        self._places: dict[tuple[int, ...], int] = {}  # n-gram -> index of the token after it
        self._indexed = 0  # tokens of the sequence that stand after an indexed n-gram

    def find(self, sequence: Sequence[int]) -> Copied | None:
        """Where to copy from; None without a match."""
        self._extend(sequence)
        for size in self._sizes:
            if size < len(sequence) and (place := self._places.get(tuple(sequence[-size:]))):
                return Copied(place, size)
        return None

    def _extend(self, sequence: Sequence[int]) -> None:
        """Index the n-grams that end before each new token; the sequence only grows."""
        for end in range(max(1, self._indexed), len(sequence)):
            for size in self._sizes:
                if size <= end:
                    ngram = tuple(sequence[end - size : end])
                    if self._latest or ngram not in self._places:
                        self._places[ngram] = end
        self._indexed = len(sequence)


def copy_from(found: Copied | None, sequence: Sequence[int], draft: Draft) -> None:
    """Draft the tokens at the place found, as many as the budget allows; nothing without a place."""
    if found is not None and draft.budget > 0:
        draft.copy(sequence[found.start : found.start + draft.budget])
        draft.proposal.copied = found
