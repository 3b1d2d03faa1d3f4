"""Drafts with another tokenizer: exact, through shared tokens only, on an exact cut of the text."""

from dataclasses import replace

import pytest
import torch
from spell import LETTERS, foreign, moved, spelled
from tiny import build, byte_tokenizer, table_model, tokenizer

import specviz
from specviz import Settings
from specviz.decoding.proposers import registry
from specviz.decoding.proposers.cross_tokenizer import CrossTokenizer
from specviz.models.text import TokenText

SETTINGS = Settings(gamma=4, max_new_tokens=24, method="cross-tokenizer")
ALPHABET = "the and\n"
PARTS = [("t", "h"), ("th", "e"), ("a", "n"), ("an", "d"), ("e", " "), (" ", "a"), ("\n", "\n"), (" ", "the")]


@pytest.fixture
def rounds(monkeypatch):
    """What the proposer knew and did: a list of (text, the draft's ids of it, Draft), one entry a round."""
    seen = []

    class Watched(CrossTokenizer):
        def propose(self, sequence, draft):
            super().propose(sequence, draft)
            text = b"".join(map(self.context.pair.text.to_bytes, sequence))
            seen.append((text, self._know(sequence), draft))

    monkeypatch.setitem(registry.PROPOSERS, "cross-tokenizer", Watched)
    return seen


def pair_of(ours, theirs, draft=None, target=None, **changes):
    target = target or build(vocab_size=len(ours))
    return specviz.Pair(target, None, ours, foreign=foreign(target, ours, theirs, draft, **changes))


def by_last(table):
    """A table model whose logits [V, V] depend on the last id only: a full table would be [V, V, V]."""
    model = table_model(2, 0)
    model.table, model.config.get_text_config().vocab_size = table.expand(len(table), -1, -1), len(table)
    model.embedding = torch.nn.Embedding(len(table), 1)
    return model


def prompts(vocab: int, count: int) -> list[list[int]]:
    chance = torch.Generator().manual_seed(11)
    lengths = torch.randint(1, 30, (count,), generator=chance).tolist()
    return [torch.randint(0, vocab, (n,), generator=chance).tolist() for n in lengths]


WORDS = tokenizer(["the", "and", " ", " a", "n", "t", "h", "e", "d", "\n", "  ", "the and", "é", "日", "<x>"])
KINDS = {
    "words, bytes": (WORDS, byte_tokenizer(["t h", "th e", "a n", "an d"])),
    "long, short": (spelled(ALPHABET, PARTS), spelled(ALPHABET[::-1] + "x")),
    "short, long": (spelled(ALPHABET), spelled("x" + ALPHABET, PARTS)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_text_equals_plain(kind):
    pair = pair_of(*KINDS[kind])
    accepted = drafted = 0
    for n, prompt in enumerate(prompts(pair.width, 34)):
        settings = replace(SETTINGS, gamma=1 + n % 6)
        trace = specviz.speculate(pair, prompt, settings).finish()
        assert trace.output_ids == specviz.decode_plain(pair, prompt, settings).finish().output_ids
        accepted += sum(r.accepted for r in trace.rounds)
        drafted += sum(len(r.drafted) for r in trace.rounds)
    assert 0 < accepted < drafted


@pytest.mark.parametrize(("ours", "theirs"), [(4, 20), (20, 4)])
def test_positions_and_cache_are_the_drafts_own(ours, theirs):
    """The same text is `ours` tokens for the target and `theirs` for a draft with learned positions."""
    short, long = spelled(), spelled(merges=[("a", "b"), ("ab", "c"), ("abc", "d"), ("abcd", "e")])
    texts = {4: long, 20: short}
    pair = pair_of(texts[ours], texts[theirs], n_positions=32)
    assert len(pair.tokenizer("abcde" * 4)["input_ids"]) == ours
    assert len(pair.foreign.encode("abcde" * 4)) == theirs
    for gamma in (1, 3, 8):
        settings = replace(SETTINGS, gamma=gamma)
        trace = specviz.speculate(pair, "abcde" * 4, settings).finish()
        assert trace.output_ids == specviz.decode_plain(pair, "abcde" * 4, settings).finish().output_ids


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_target_itself_with_another_order_of_ids_is_always_accepted(temperature):
    order = [1, 0, *range(2, len(LETTERS))]
    target = build(vocab_size=len(LETTERS))
    theirs = spelled("".join(LETTERS[i] for i in order))
    pair = specviz.Pair(target, moved(target, order), spelled(), draft_tokenizer=theirs)
    trace = specviz.speculate(
        pair, "ab ba, abab.", replace(SETTINGS, temperature=temperature, max_new_tokens=40)
    ).finish()
    assert [d.verdict for r in trace.rounds for d in r.drafted] == ["accepted"] * 32
    assert all(d.kept == pytest.approx(1) for r in trace.rounds for d in r.drafted)
    assert trace.draft_cut == list("ab ba, abab." + trace.output_text)


@pytest.mark.parametrize("kind", KINDS)
def test_q_is_the_drafts_own_softmax_on_the_shared_tokens(kind, rounds):
    """Against forwards without a cache over the draft's own encoding of the text, at every drafted token."""
    ours, theirs = KINDS[kind]
    pair = pair_of(ours, theirs)
    model, shared = pair.foreign.model, {t: d for d, t in enumerate(pair.foreign.to_target.tolist()) if t >= 0}
    settings = replace(SETTINGS, temperature=1.3, max_new_tokens=30, seed=2)
    specviz.speculate(pair, prompts(pair.width, 5)[-1], settings).finish()
    checked = 0
    for text, known, draft in rounds:
        assert known == theirs.encode(text.decode(), add_special_tokens=False)
        for i, q in enumerate(draft.proposal.q):
            ids = [*known, *(shared[t] for t in draft.proposal.ids[:i])]
            with torch.no_grad():
                p = (model(torch.tensor([ids])).logits[0, -1] / settings.temperature).softmax(-1)
            kept = sum(float(p[d]) for d in shared.values())
            assert draft.proposal.kept[i] == pytest.approx(kept, abs=1e-5)
            assert float(q.sum()) == pytest.approx(1, abs=1e-5)
            for token, value in enumerate(q.tolist()):
                expected = float(p[shared[token]]) / kept if token in shared else 0.0
                assert value == pytest.approx(expected, abs=1e-5)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("bos", [None, "<s>"])
def test_the_text_survives_the_way_into_the_drafts_tokens(bos, rounds):
    text = "a  b\n\n\tc <|im_start|>user"
    letters = sorted(set(text) | set(LETTERS))
    ours = spelled("".join(letters), merges=[(" ", " "), ("\n", "\n")], specials=["<|im_start|>"])
    theirs = spelled("".join(reversed(letters)), merges=[("\n", "\t"), ("u", "s")], specials=["<|im_start|>"], bos=bos)
    pair = pair_of(ours, theirs)
    control = ours.convert_tokens_to_ids("<|im_start|>")
    for control_tokens in (False, True):
        rounds.clear()
        trace = specviz.speculate(pair, text, replace(SETTINGS, control_tokens=control_tokens)).finish()
        assert (control in trace.prompt.ids) == control_tokens
        assert len(rounds) > 5
        for known_text, known, _ in rounds:
            begin = [] if bos is None else [theirs.convert_tokens_to_ids(bos)]
            assert known[: len(begin)] == begin
            rest = known[len(begin) :]
            assert b"".join(map(TokenText(theirs).to_bytes, rest)) == known_text
            assert known_text.decode().startswith(text)
            assert not set(rest) & set(theirs.all_special_ids)


def test_special_tokens_are_never_proposed():
    """Both have the same end token, and the draft wants nothing else."""
    ours, theirs = (spelled(order, specials=["<end>"]) for order in (LETTERS, LETTERS[::-1]))
    draft = build("gpt2", vocab_size=len(theirs), seed=5, tie_word_embeddings=False)
    end = theirs.convert_tokens_to_ids("<end>")
    draft.lm_head.bias = torch.nn.Parameter(torch.zeros(len(theirs)).index_fill(0, torch.tensor([end]), 1e4))
    pair = pair_of(ours, theirs, draft)
    trace = specviz.speculate(pair, "abc", replace(SETTINGS, temperature=1.0)).finish()
    drafted = [d for r in trace.rounds for d in r.drafted]
    assert len(drafted) > 10
    assert ours.convert_tokens_to_ids("<end>") not in {d.id for d in drafted}
    assert all(d.kept == 0 for d in drafted), "nearly all of the draft's mass is not on shared tokens"


def test_a_character_torn_over_tokens_drafts_nothing_until_it_is_whole():
    """The prompt ends in half a character; the target finishes it in two rounds and begins the next one."""
    text = byte_tokenizer()
    ids = text.encode("\N{GRINNING FACE}")
    table = torch.zeros((len(text),) * 2)
    table[ids, [*ids[1:], ids[0]]] = 9.0  # after each byte of the character the next one, then the character again
    pair = pair_of(text, byte_tokenizer(), by_last(table), by_last(table))
    trace = specviz.speculate(pair, ids[:2], replace(SETTINGS, max_new_tokens=10, gamma=3)).finish()
    assert trace.output_ids == [*ids[2:], *ids, *ids]
    first, second, third = trace.rounds[:3]
    assert (first.drafted, second.drafted) == ([], [])
    assert "inside a character" in first.note
    assert [d.id for d in third.drafted] == ids[:3], "part of a character is a token like any other"
    assert pair.text.text([*ids[:2], *trace.output_ids]) == "\N{GRINNING FACE}" * 3


def test_a_full_context_of_the_draft_ends_the_drafts_and_not_the_text():
    pair = pair_of(spelled(merges=PARTS), spelled(), n_positions=24)
    settings = replace(SETTINGS, max_new_tokens=60, gamma=8)
    for prompt in ("a", "abc" * 7, "abc" * 12):
        trace = specviz.speculate(pair, prompt, settings).finish()
        assert trace.output_ids == specviz.decode_plain(pair, prompt, settings).finish().output_ids
        assert trace.rounds[-2].note == "the draft model's context of 24 tokens is full"
        assert not trace.rounds[-2].drafted
        assert (len(trace.rounds[0].drafted) == 0) == (len(prompt) > 24)


def test_a_draft_that_cannot_read_the_text_leaves_plain_decoding_with_a_note():
    """A word-level draft drops the white space of the text."""
    pair = pair_of(spelled(), tokenizer(["a", "b", "c"]), vocab_size=3)
    trace = specviz.speculate(pair, "a b c", SETTINGS).finish()
    assert trace.output_ids == specviz.decode_plain(pair, "a b c", SETTINGS).finish().output_ids
    assert all("does not give this text back exactly" in r.note for r in trace.rounds[:-1])
    assert "".join(trace.draft_cut) == "a b c" + trace.output_text


def test_a_draft_without_a_chance_for_shared_tokens_says_so():
    theirs = spelled("abc")
    draft = table_model(3, 0)
    draft.table[..., :2] = -torch.inf
    pair = pair_of(spelled("abz"), theirs, draft, build(vocab_size=3))
    trace = specviz.speculate(pair, [0, 1], SETTINGS).finish()
    assert "no chance to any token that both" in trace.rounds[0].note
    assert len(trace.output_ids) == SETTINGS.max_new_tokens


@pytest.mark.parametrize("bad", [0, 2])
def test_numbers_that_are_not_finite_are_named(bad):
    """Among the shared tokens (id 0) as well as among the rest (id 2)."""
    draft = table_model(3, 0)
    draft.table[..., bad] = torch.nan
    pair = pair_of(spelled("abz"), spelled("abc"), draft, build(vocab_size=3))
    with pytest.raises(specviz.SpecvizError, match="the draft returned numbers that are not finite"):
        specviz.speculate(pair, [0, 1], SETTINGS).finish()


def test_the_cache_grows_with_the_text(rounds):
    """One target token is 40 draft tokens, which nobody can know before."""
    long = "x" * 40
    pair = pair_of(tokenizer([long, "a"]), spelled("axy"), vocab_size=3, n_positions=2048, target=build(vocab_size=3))
    prompt = [1, 0, 1]
    trace = specviz.speculate(pair, prompt, replace(SETTINGS, max_new_tokens=30)).finish()
    assert (
        trace.output_ids == specviz.decode_plain(pair, prompt, replace(SETTINGS, max_new_tokens=30)).finish().output_ids
    )
    assert len(rounds[-1][1]) > 100
