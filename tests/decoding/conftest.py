"""A tiny target with everything that can draft for it."""

import pytest
from spell import foreign, moved, spelled
from tiny import IDS, VOCAB, build, fitted_heads, noised

import specviz
from specviz import Settings

HEADS = 3
_CHARACTERS = "".join(map(chr, range(33, 127))) + " \n\t"  # as many as the target has ids


@pytest.fixture(scope="session")
def equipped() -> specviz.Pair:
    """A target, a draft, Medusa heads and a draft with another tokenizer, all of which are sometimes right."""
    assert len(_CHARACTERS) == VOCAB
    target = build()
    ours, theirs = spelled(_CHARACTERS), spelled(_CHARACTERS[::-1])
    other = moved(noised(target, 0.1, seed=4), range(VOCAB)[::-1])
    plain = specviz.Pair(target)
    texts = [[*IDS[:n], *_plain(plain, IDS[:n])] for n in range(1, len(IDS))]
    return specviz.Pair(
        target,
        noised(target, 0.1),
        ours,
        medusa=fitted_heads(HEADS, target, texts),
        foreign=foreign(target, ours, theirs, other),
    )


def _plain(pair: specviz.Pair, prompt: list[int]) -> list[int]:
    return specviz.decode_plain(pair, prompt, Settings(max_new_tokens=40)).finish().output_ids
