"""Where the output ends: budget, end-of-sequence ids, stop strings, the target's context."""

from collections.abc import Sequence

from specviz.models.text import TokenText
from specviz.trace.schema import Finish, Settings


class Ending:
    """Cuts the tokens of a round at the first end, the same way in every method.

    A stop string is looked for in the output's bytes, so it may span tokens and begin anywhere in one; the token
    that completes it is the last one emitted.
    """

    def __init__(self, settings: Settings, eos_ids: frozenset[int], text: TokenText, room: int) -> None:
        self._eos_ids, self._text = eos_ids, text
        self._stops = [s.encode() for s in settings.stop]
        self._tail = b""
        self._keep = max((len(s) for s in self._stops), default=1) - 1
        self.budget = min(settings.max_new_tokens, room)  # tokens that may still be emitted
        self._limited_by: Finish = "budget" if settings.max_new_tokens <= room else "context"
        self.finish: Finish = "running" if self.budget > 0 else self._limited_by

    def cut(self, ids: Sequence[int]) -> int:
        """How many of `ids` are emitted; sets `finish` if the output ends at the last of them."""
        for count, token in enumerate(ids, start=1):
            self.budget -= 1
            if token in self._eos_ids:
                self.finish = "eos"
            elif self._stops and self._completes_stop(token):
                self.finish = "stop"
            elif self.budget == 0:
                self.finish = self._limited_by
            if self.finish != "running":
                return count
        return len(ids)

    def _completes_stop(self, token: int) -> bool:
        window = self._tail + self._text.to_bytes(token)
        self._tail = window[-self._keep :] if self._keep else b""
        return any(s in window for s in self._stops)
