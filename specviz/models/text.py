"""Token ids to display pieces: bytes first, so that partial characters, spaces and control tokens stay true."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from specviz.trace.schema import Piece

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class TokenText:
    """The text of each id of one tokenizer (None: ids are shown as numbers)."""

    def __init__(self, tokenizer: Any | None) -> None:
        self._tokenizer = tokenizer
        self._added = {} if tokenizer is None else {i: t.content for i, t in tokenizer.added_tokens_decoder.items()}
        self._special = set() if tokenizer is None else set(tokenizer.all_special_ids)
        if tokenizer is not None:
            self._special |= {i for i, t in tokenizer.added_tokens_decoder.items() if t.special}
        self._byte_level = tokenizer is not None and _is_byte_level(tokenizer)

    def to_bytes(self, token: int) -> bytes:
        """The UTF-8 bytes that a token stands for, perhaps part of a character; unused ids stand for nothing."""
        if self._tokenizer is None:
            return f"⟨{token}⟩".encode()
        if token in self._added:
            return self._added[token].encode()
        raw = self._tokenizer.convert_ids_to_tokens(token)
        if raw is None:
            return b""
        if self._byte_level:
            table = _byte_of_character()
            return bytes(table[c] for c in raw) if all(c in table for c in raw) else raw.encode()
        if match := _BYTE_TOKEN.fullmatch(raw):
            return bytes([int(match[1], 16)])
        return raw.replace("▁", " ").encode()

    def piece(self, token: int) -> Piece:
        """How to show one id."""
        data = self.to_bytes(token)
        if token in self._special:
            return Piece(data.decode(errors="replace"), "control")
        return piece_of(data)

    def pieces(self, tokens: Iterable[int]) -> dict[int, Piece]:
        """Display pieces by id."""
        return {t: self.piece(t) for t in set(tokens)}

    def text(self, ids: Sequence[int]) -> str:
        """The exact text of a sequence; bytes that end inside a character become U+FFFD."""
        return b"".join(map(self.to_bytes, ids)).decode(errors="replace")


def piece_of(data: bytes) -> Piece:
    """Bytes as a display piece: their text, or hex pairs where they are part of a character."""
    try:
        return Piece(data.decode())
    except UnicodeDecodeError:
        return Piece(data.hex(" ").upper(), "bytes")


def _is_byte_level(tokenizer: Any) -> bool:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel" in repr(backend.decoder)


@cache
def _byte_of_character() -> dict[str, int]:
    """GPT-2's byte alphabet (Radford et al. 2019): printable bytes stand for themselves, others for 256 + n."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    table = {chr(b): b for b in own}
    others = (b for b in range(256) if b not in set(own))
    return table | {chr(256 + n): b for n, b in enumerate(others)}
