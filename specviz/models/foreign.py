"""A draft with a tokenizer of its own: which tokens both vocabularies spell alike, and the text as it cuts it.

Token-level intersection: Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding
Algorithms for Heterogeneous Vocabularies" (arXiv 2502.05202), algorithm 4.
"""

import codecs
import threading
from itertools import accumulate
from math import isnan
from typing import Any

import torch
from torch import Tensor

from specviz.models.forward import model_device, require_rollback
from specviz.models.info import model_info
from specviz.models.pairing import allowed_ids, begin_id, logits_width, special_ids
from specviz.models.text import TokenText, piece_of
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import ModelInfo

_OVERLAP = 16  # tokens that are cut again when the text grows
_TORN = "the text ends inside a character, so the draft waits for the rest of it"
_NOT_TEXT = "the text holds bytes that are no character, which the draft cannot read"
_INEXACT = "the draft's tokenizer does not give this text back exactly, so the draft cannot read it"


class Foreign:
    """A draft model, its tokenizer, and the map between its vocabulary and the target's. Never changed by a run.

    to_target: [draft width] int64, the target's id of the same bytes, -1 where there is none; `from_target` is its
    inverse. begin: the id that the draft's tokenizer puts before every text, None if it puts none.
    Raises SpecvizError if the draft cannot take part, or the vocabularies share nothing.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        target_tokenizer: Any,
        target_width: int,
        name: str = "draft",
        source: str | None = None,
    ) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.text = TokenText(tokenizer)
        self.info: ModelInfo = model_info(model, name, source)
        self.begin = begin_id(tokenizer)
        self.width, self.target_width = logits_width(model), target_width
        shared = shared_ids(target_tokenizer, tokenizer)
        pairs = sorted((d, t) for d, t in shared.items() if d < self.width and t < target_width)
        if not pairs:
            raise SpecvizError(
                f"The draft {name} and the target share no token, so nothing that it drafts could be proposed. "
                "Choose a draft whose tokenizer knows the same alphabet."
            )
        require_rollback(model, f"The draft {name}")
        self.from_target = {t: d for d, t in pairs}
        device = model_device(model)
        self._draft_side, self._target_side = torch.tensor(pairs, device=device).unbind(1)  # both [shared]
        self.to_target = torch.full((self.width,), -1, device=device)
        self.to_target[self._draft_side] = self._target_side
        allowed = allowed_ids(tokenizer, self.width)
        self._blocked = None if allowed is None else ~allowed.to(device)
        self._lock = threading.Lock()  # the tokenizer keeps "split special tokens" as a state of its own

    @property
    def shared(self) -> int:
        """How many tokens both vocabularies spell alike."""
        return len(self.from_target)

    def encode(self, text: str) -> list[int]:
        """The draft's ids of a text as it stands: nothing added, control tokens read as ordinary characters."""
        if not text:
            return []
        with self._lock:
            return self.tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]

    def map(self, logits: Tensor, temperature: float) -> tuple[Tensor, float]:
        """Draft logits [1, draft width] to the target's ids, [1, target width] fp32, -inf where nothing is shared.

        Also the mass that the shared tokens have in the draft's own softmax at `temperature`.
        """
        scores = logits[:, : self.width].float()
        if self._blocked is not None:
            scores = scores.masked_fill(self._blocked, -torch.inf)
        mapped = scores.new_full((1, self.target_width), -torch.inf)
        mapped[:, self._target_side] = scores[:, self._draft_side]
        kept = float((scores / temperature).softmax(-1)[:, self._draft_side].sum())
        if isnan(kept):  # among the ids that are not shared: the run must end in the same words
            mapped.fill_(torch.nan)
        return mapped, min(1.0, kept)


class Cut:
    """A growing text as the draft's tokenizer cuts it, without cutting all of it again each time.

    ids: the cut, in whole tokens from the start of the text. note: why it does not reach the end; None if it does.
    """

    def __init__(self, foreign: Foreign) -> None:
        self.ids: list[int] = []
        self.note: str | None = None
        self._foreign = foreign
        self._text = bytearray()
        self._ends: list[int] = []  # bytes of the text up to and with each id

    def extend(self, data: bytes) -> None:
        """Append UTF-8, perhaps torn inside a character. The longest part of the cut that still holds stays."""
        self._text += data
        overlap = _OVERLAP
        while not self._cut_from(self._boundary(len(self.ids) - overlap)):
            overlap *= 4

    def texts(self) -> list[str]:
        """The text of each token; bytes that are no text, and what could not be cut, as a display piece shows them."""
        rest = bytes(self._text[self._offset(len(self.ids)) :])
        return [self._foreign.text.piece(i).text for i in self.ids] + ([piece_of(rest).text] if rest else [])

    def _offset(self, index: int) -> int:
        """Where the token at `index` begins, in bytes."""
        return self._ends[index - 1] if index else 0

    def _boundary(self, index: int) -> int:
        """The last token at or before `index` that begins with a whole character."""
        index = max(0, index)
        while index and (self._text[self._offset(index)] & 0xC0) == 0x80:  # 10xxxxxx goes on with a character
            index -= 1
        return index

    def _cut_from(self, first: int) -> bool:
        """Cut again from the token at `first` on; False if that does not meet the cut there is, so begin earlier."""
        begin = self._offset(first)
        try:
            text, used = codecs.utf_8_decode(self._text[begin:], "strict", False)
        except UnicodeDecodeError:
            self.note = _NOT_TEXT
            return True
        ids, wanted = self._foreign.encode(text), text.encode()
        parts = [self._foreign.text.to_bytes(i) for i in ids]
        # sentencepiece puts a space before the text, which its own decoder takes away again
        if (found := b"".join(parts)) not in (wanted, b" " + wanted):
            self.note = _INEXACT
            return True
        lead = len(found) - len(wanted)
        ends = [begin + max(0, end - lead) for end in accumulate(map(len, parts))]
        if (meeting := self._meeting(first, ids, ends)) is None:
            return False
        old, new = meeting
        self.ids[old:], self._ends[old:] = ids[new:], ends[new:]
        self.note = _TORN if begin + used < len(self._text) else None
        return True

    def _meeting(self, first: int, ids: list[int], ends: list[int]) -> tuple[int, int] | None:
        """Indices (old, new) of the first token from `first` on that both cuts have; (0, 0) at the text's start."""
        if first == 0:
            return 0, 0
        old = {(self._offset(i), self._ends[i], self.ids[i]): i for i in range(first, len(self.ids))}
        found = zip([self._offset(first), *ends[:-1]], ends, ids, strict=True)
        return next(((old[token], new) for new, token in enumerate(found) if token in old), None)


def shared_ids(target: Any, draft: Any) -> dict[int, int]:
    """Draft id -> target id for every byte string that both tokenizers have a token for; one to one.

    Special and added tokens are left out: what they mean is not in their bytes. That holds for ends of sequence too,
    but not for white space (Gemma's line breaks are added tokens).
    """
    ours, theirs = _ids_by_bytes(target), _ids_by_bytes(draft)
    return {theirs[data]: ours[data] for data in theirs.keys() & ours.keys()}


def _ids_by_bytes(tokenizer: Any) -> dict[bytes, int]:
    """Of several ids with the same bytes the one with the shortest name, then the lowest.

    A sentencepiece vocabulary has `<0x20>` beside `▁`, and its encoder uses the former only for what has no token.
    """
    text, added = TokenText(tokenizer), tokenizer.added_tokens_decoder.items()
    special = special_ids(tokenizer) - {i for i, t in added if t.content.isspace() and not t.special}
    found: dict[bytes, int] = {}
    for _, i in sorted((len(name), i) for name, i in tokenizer.get_vocab().items()):
        if i not in special and (data := text.to_bytes(i)):
            found.setdefault(data, i)
    return found
