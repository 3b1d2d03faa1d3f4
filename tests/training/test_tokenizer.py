"""The tokenizer gives back every text byte for byte."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from specviz.training.tokenizer import END_OF_TEXT, as_transformers, save_tokenizer, train_tokenizer

TEXTS = ["def add(a, b):\n    return a + b\n", "for item in items:\n    print(item)\n"] * 5
SHIPPED = Path(__file__).parents[2] / "assets" / "models" / "tiny-code" / "tokenizer"

small = as_transformers(train_tokenizer(TEXTS, vocab_size=300))

AWKWARD = [
    "",
    " ",
    "\n\n\t \r\n  x",
    "naïve café ßç",
    "Türkçe: İıŞşĞğ",
    "emoji 👩‍👩‍👧‍👦🏳️‍🌈 done",
    "\x00\x01\x1f\x7f\u200b\ufeff",
    "日本語 العربية हिन्दी",
    "a  b   c    d , . ! ' n't",
    "e\u0301 vs \u00e9",
    "1234567890 0x1F 1_000",
]


@pytest.mark.parametrize("text", AWKWARD)
def test_round_trip_of_awkward_text(text):
    assert small.decode(small.encode(text)) == text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_round_trip_of_any_text(text):
    if END_OF_TEXT not in text:
        assert small.decode(small.encode(text)) == text


def test_a_line_break_and_its_indentation_are_one_piece():
    tokenizer = train_tokenizer(TEXTS * 20, vocab_size=300)
    assert "Ċ   ".replace(" ", "Ġ") in tokenizer.get_vocab()


def test_specials_and_saved_settings(tmp_path):
    save_tokenizer(train_tokenizer(TEXTS, vocab_size=300), tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.eos_token == END_OF_TEXT
    assert loaded.eos_token_id == 0
    assert loaded.bos_token is None
    assert loaded.encode("x") == small.encode("x")
    assert loaded.convert_ids_to_tokens(loaded.encode(END_OF_TEXT)) == [END_OF_TEXT]
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["clean_up_tokenization_spaces"] is False


@pytest.mark.skipif(not SHIPPED.exists(), reason="no exported family")
@pytest.mark.parametrize("text", AWKWARD)
def test_the_shipped_tokenizer_is_exact_and_has_4096_tokens(text):
    shipped = AutoTokenizer.from_pretrained(SHIPPED)
    assert len(shipped) == 4096
    assert shipped.decode(shipped.encode(text)) == text
    assert Tokenizer.from_file(str(SHIPPED / "tokenizer.json")).token_to_id(END_OF_TEXT) == 0
