"""Ids to display pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import byte_tokenizer, tokenizer

from specviz.models.text import TokenText
from specviz.trace.schema import Piece

BYTES = byte_tokenizer(merges=["Ġ Ġ", "Ċ Ċ"])
TEXT = TokenText(BYTES)


def ids_of(text: str) -> list[int]:
    return BYTES(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]


@given(st.text(max_size=60))
def test_bytes_of_the_ids_are_the_text(text):
    assert TEXT.text(ids_of(text)) == text
    assert b"".join(TEXT.to_bytes(i) for i in ids_of(text)) == text.encode()


def test_one_piece_per_token_and_white_space_is_kept():
    text = "  \n\n\t x\u00a0\u200b"
    pieces = [TEXT.piece(i) for i in ids_of(text)]
    assert [p.text for p in pieces[:4]] == ["  ", "\n\n", "\t", " "]
    assert [p.kind for p in pieces[-5:]] == ["bytes"] * 5  # nbsp is two bytes, the zero-width space three


def test_partial_characters_are_hex_and_control_tokens_are_marked():
    emoji = [TEXT.piece(i) for i in ids_of("🙂")]
    assert emoji == [Piece(h, "bytes") for h in ("F0", "9F", "99", "82")]
    end = BYTES.convert_tokens_to_ids("<|im_end|>")
    assert TEXT.piece(end) == Piece("<|im_end|>", "control")
    assert TEXT.text(ids_of("🙂")[:2]) == "\ufffd"


def test_sentence_piece_style_tokens():
    text = TokenText(tokenizer(["<unk>", "▁def", "<0x0A>", "▁", "x"]))
    assert [text.to_bytes(i) for i in range(1, 5)] == [b" def", b"\n", b" ", b"x"]


def test_without_a_tokenizer_ids_are_shown():
    assert TokenText(None).text([5, 6]) == "⟨5⟩⟨6⟩"


def test_ids_beyond_the_tokenizer_have_no_text():
    assert TEXT.piece(10_000) == Piece("")


@pytest.mark.parametrize("hostile", ["<img src=x onerror=alert(1)>", '" onmouseover="alert(2)'])
def test_hostile_text_is_passed_on_unchanged(hostile):
    assert "".join(TEXT.piece(i).text for i in ids_of(hostile)) == hostile
