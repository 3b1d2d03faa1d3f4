"""Which tokens two vocabularies share, and a growing text as another tokenizer cuts it."""

import math
import random

import pytest
import torch
from spell import LETTERS, foreign, spelled
from tiny import build, byte_tokenizer, tokenizer
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import specviz
from specviz import SpecvizError
from specviz.models.foreign import Cut, shared_ids
from specviz.models.text import TokenText

SMILE = "\N{GRINNING FACE}".encode()


def sentencepiece(words: list[str], prefix: bool = False) -> PreTrainedTokenizerFast:
    """Like Llama's or Gemma's: a space is "▁", any other byte is "<0xNN>", perhaps a space before every text."""
    names = ["<unk>", *(f"<0x{b:02X}>" for b in range(256)), "▁", *words]
    names = list(dict.fromkeys(names))
    merges = [(w[:i], w[i:]) for w in words for i in range(1, len(w)) if w[:i] in names and w[i:] in names]
    backend = Tokenizer(models.BPE({n: i for i, n in enumerate(names)}, merges, byte_fallback=True, unk_token="<unk>"))
    steps = [normalizers.Prepend("▁")] if prefix else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    backend.add_special_tokens([AddedToken("<unk>", special=True)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")


def cut_of(text: PreTrainedTokenizerFast) -> Cut:
    ours = byte_tokenizer()
    return Cut(foreign(build(vocab_size=len(ours)), ours, text))


def test_tokens_are_shared_by_their_bytes_alone():
    ours = spelled("ab c", merges=[("a", "b"), ("ab", "c")])
    theirs = spelled("xcb a", merges=[("c", "b"), ("a", "b")])
    shared = shared_ids(ours, theirs)
    assert {TokenText(theirs).to_bytes(d): TokenText(ours).to_bytes(t) for d, t in shared.items()} == {
        data: data for data in (b"a", b"b", b"c", b" ", b"ab")
    }


def test_spaces_and_bytes_are_the_same_in_byte_level_and_sentencepiece_vocabularies():
    ours, theirs = byte_tokenizer(["Ġ a"]), sentencepiece(["a", "▁a"])
    shared = {TokenText(ours).to_bytes(t): d for d, t in shared_ids(ours, theirs).items()}
    assert set(shared) == {bytes([b]) for b in range(256)} | {b" a"}
    names = theirs.convert_ids_to_tokens
    assert names(shared[b" "]) == "▁", "of two tokens for a space the one that the encoder uses"
    assert (names(shared[b"a"]), names(shared[b" a"]), names(shared[b"\n"])) == ("a", "▁a", "<0x0A>")


def test_special_and_added_tokens_are_never_shared():
    ours, theirs = byte_tokenizer(), byte_tokenizer()
    for text in (ours, theirs):
        text.add_tokens(["added", "\n\n"])
    shared = shared_ids(ours, theirs)
    assert shared == {i: i for i in [*range(256), 259]}, "white space is what its bytes say"
    made = foreign(build(vocab_size=len(ours)), ours, theirs)
    assert made.shared == 257
    assert made.to_target.tolist() == [*range(256), -1, -1, -1, 259]


def test_ids_beyond_either_models_logits_are_not_shared():
    ours, theirs = spelled("abcde"), spelled("edcba")
    made = foreign(build(vocab_size=4), ours, theirs, draft=build(vocab_size=3))
    assert made.from_target == {2: 2, 3: 1}  # c and d: the target has no logit for "e", the draft none for "b" and "a"


def test_vocabularies_without_a_common_string_are_refused():
    with pytest.raises(SpecvizError, match="The draft other and the target share no token"):
        foreign(build(vocab_size=3), spelled("abc"), spelled("xyz"))


def test_mapping_keeps_the_logits_of_shared_tokens_and_counts_their_mass():
    ours, theirs = spelled("abc"), spelled("xcby")
    made = foreign(build(vocab_size=5), ours, theirs, draft=build(vocab_size=6))  # two rows of the draft are padding
    logits = torch.tensor([[1.0, 2.0, 3.0, 4.0, 50.0, 60.0]])
    mapped, kept = made.map(logits, temperature=0.5)
    assert mapped.tolist() == [[-torch.inf, 3.0, 2.0, -torch.inf, -torch.inf]]
    powers = [math.exp(2 * x) for x in (1.0, 2.0, 3.0, 4.0)]
    assert kept == pytest.approx((powers[1] + powers[2]) / sum(powers))


@pytest.mark.parametrize(("bos", "begin"), [("<s>", 30), (None, None)])
def test_a_begin_token_stands_only_where_the_tokenizer_puts_one(bos, begin):
    made = foreign(build(vocab_size=30), spelled(), spelled(bos=bos))
    assert made.begin == begin
    assert made.encode("ab") == [0, 1]


WORDS = [
    "a  b",
    "\n\n\tc",
    " <|im_start|>",
    "user",
    "the",
    " the",
    "   ",
    "é",
    "日本",
    SMILE.decode(),
    "12",
    "\t\t",
    ".",
]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(byte_tokenizer(["t h", "th e", "Ġ the", "Ġ Ġ", "ĠĠ Ġ", "ĉ c", "u s", "us er", "e r"]), id="bytes"),
        pytest.param(sentencepiece(["t", "h", "e", "th", "the", "▁the", "▁▁", "é"]), id="sentencepiece"),
        pytest.param(sentencepiece(["t", "h", "e", "th", "the", "▁the", "▁▁", "é"], prefix=True), id="prefix"),
    ],
)
def test_a_growing_text_is_cut_as_the_whole_of_it(text):
    chance = random.Random(0)
    for _ in range(20):
        whole, cut = b"", cut_of(text)
        for _ in range(25):
            new = chance.choice(WORDS).encode()
            torn = chance.randrange(len(new) + 1)
            for part in (new[:torn], new[torn:]):
                whole += part
                cut.extend(part)
                complete = whole.decode(errors="ignore")
                assert cut.ids == text.encode(complete, add_special_tokens=False, split_special_tokens=True)
                assert (cut.note is None) == (complete.encode() == whole)
                assert (
                    b"".join(map(TokenText(text).to_bytes, cut.ids)).removeprefix(
                        b" "
                        if text.encode("x", add_special_tokens=False)[0] == text.convert_tokens_to_ids("▁")
                        else b""
                    )
                    == complete.encode()
                )
    assert "".join(cut.texts()).endswith(whole.decode()[-3:])


def test_a_cut_does_not_encode_the_whole_text_again(monkeypatch):
    cut, lengths = cut_of(byte_tokenizer()), []
    encode = cut._foreign.encode
    monkeypatch.setattr(cut._foreign, "encode", lambda text: lengths.append(len(text)) or encode(text))
    for _ in range(50):
        cut.extend(b"some words. ")
    assert len(cut.ids) == 600
    assert max(lengths) < 50


def test_torn_characters_wait_and_bytes_that_are_no_text_end_the_cut():
    cut = cut_of(byte_tokenizer())
    cut.extend(b"ab" + SMILE[:2])
    assert "inside a character" in cut.note
    assert (len(cut.ids), cut.texts()) == (2, ["a", "b", "F0 9F"])
    cut.extend(SMILE[2:])
    assert (cut.note, len(cut.ids)) == (None, 6)
    cut.extend(b"\xff" + b"more")
    assert "bytes that are no character" in cut.note
    assert cut.texts()[-1] == "FF 6D 6F 72 65"


@pytest.mark.parametrize("kind", ["lower case", "white space"])
def test_a_tokenizer_that_changes_the_text_cannot_read_it(kind):
    text = spelled()
    if kind == "lower case":
        text.backend_tokenizer.normalizer = normalizers.Lowercase()
    else:
        text.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), text.backend_tokenizer.pre_tokenizer]
        )
    cut = cut_of(text)
    cut.extend(b"abc")
    assert cut.note is None
    cut.extend(b" D")
    assert "does not give this text back exactly" in cut.note
    assert cut.texts() == ["a", "b", "c", " D"]


def test_a_draft_of_another_vocabulary_goes_through_what_both_share():
    swapped = LETTERS[1] + LETTERS[0] + LETTERS[2:]
    draft = build(vocab_size=len(LETTERS), seed=1)
    pair = specviz.Pair(build(vocab_size=len(LETTERS)), draft, spelled(), draft_tokenizer=spelled(swapped))
    assert (pair.draft, pair.draft_problem, pair.foreign.model) == (None, None, draft)
    assert pair.notices == [
        "These two have different vocabularies: id 0 is 'a' for the target and 'b' for the draft. So the draft drafts "
        "through the 30 strings that both have a token for: method cross-tokenizer."
    ]
    assert pair.default_method == "cross-tokenizer"
    assert pair.why_not("cross-tokenizer") is None
    assert "choose the method cross-tokenizer" in pair.why_not("draft-model")
    assert pair.provenance("cross-tokenizer", "rejection").draft == pair.foreign.info
    assert pair.provenance("prompt-lookup", "rejection").draft is None


def test_what_a_pair_lacks_is_said_by_method():
    lone = specviz.Pair(build(num_hidden_layers=1))
    assert lone.default_method == "prompt-lookup"
    assert lone.why_not("prompt-lookup") is None
    for method, words in {
        "draft-model": "No draft model is loaded",
        "composite": "No draft model is loaded",
        "medusa": "No Medusa heads are loaded",
        "cross-tokenizer": "No draft with another tokenizer is loaded",
        "early-exit": "target has a single layer",
    }.items():
        assert words in lone.why_not(method)
    both = specviz.Pair(build(), build(seed=1), tokenizer())
    assert (both.default_method, both.why_not("draft-model"), both.why_not("early-exit")) == ("draft-model", None, None)
    assert both.provenance("composite", "rejection").draft == both.draft_info
