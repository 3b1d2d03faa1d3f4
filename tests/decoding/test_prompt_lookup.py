"""Prompt lookup: where it copies from, what it never does, and the composite that falls back to a model."""

import pytest
from tiny import IDS, build, noised

import specviz
from specviz import Settings
from specviz.decoding.proposers.prompt_lookup import NgramIndex
from specviz.trace.schema import Copied


def find(ids: list[int], **settings) -> Copied | None:
    return NgramIndex(Settings(**settings)).find(ids)


@pytest.mark.parametrize(
    ("ids", "settings", "expected"),
    [
        pytest.param([1, 2, 3, 9, 9, 9, 2, 3, 4, 1, 2, 3], {}, Copied(3, 3), id="the longest n-gram first"),
        pytest.param([1, 2, 3, 9, 9, 9, 2, 3, 4, 1, 2, 3], {"ngram_max": 2}, Copied(8, 2), id="the latest of equals"),
        pytest.param(
            [1, 2, 3, 9, 9, 9, 2, 3, 4, 1, 2, 3], {"ngram_max": 2, "ngram_tie": "first"}, Copied(3, 2), id="the first"
        ),
        pytest.param([3, 4, 5, 6], {}, None, id="no repeat"),
        pytest.param([7, 8, 7, 8], {"ngram_max": 2}, Copied(2, 2), id="a match may reach the end"),
        pytest.param([7, 7], {}, Copied(1, 1), id="a single token repeated"),
        pytest.param([7], {}, None, id="one token"),
        pytest.param([1, 5, 2, 5], {"ngram_min": 2}, None, id="shorter than the shortest"),
    ],
)
def test_where_it_copies_from(ids, settings, expected):
    assert find(ids, **settings) == expected


def test_the_index_grows_with_the_sequence_as_a_fresh_one_would():
    index = NgramIndex(Settings())
    ids = [4, 5, 4, 6, 4, 5, 4, 5, 4, 6, 6, 4, 5, 4]
    for end in range(1, len(ids) + 1):
        assert index.find(ids[:end]) == find(ids[:end])


def test_a_round_without_a_match_is_a_plain_round():
    pair = specviz.Pair(build())
    trace = specviz.speculate(pair, [3, 4, 5, 6], Settings(4, 1 + 1, method="prompt-lookup")).finish()
    first = trace.rounds[0]
    assert (first.drafted, first.copied, [e.origin for e in first.emitted]) == ([], None, ["plain"])
    assert first.timing.draft == []


def test_the_record_says_where_the_draft_was_copied_from():
    pair = specviz.Pair(build())
    trace = specviz.speculate(pair, IDS, Settings(3, 8, method="prompt-lookup")).finish()
    first = trace.rounds[0]
    assert first.copied == Copied(4, 2)  # 7, 8 stands at places 2 and 3
    assert [d.id for d in first.drafted] == IDS[4:7]
    assert all((d.q, d.draft_top) == (1.0, None) for d in first.drafted)
    assert len(first.timing.draft) == 1


def test_a_target_alone_can_look_up_but_not_draft_with_a_model():
    pair = specviz.Pair(build())
    assert pair.why_not("prompt-lookup") is None
    with pytest.raises(specviz.SpecvizError):
        specviz.speculate(pair, IDS, Settings(method="composite"))


def test_the_composite_says_who_drafted_and_uses_both():
    target = build()
    pair = specviz.Pair(target, noised(target))
    trace = specviz.speculate(pair, IDS, Settings(3, 60, method="composite")).finish()
    assert trace.rounds[0].by == "prompt-lookup"
    assert {r.by for r in trace.rounds if r.drafted} == {"prompt-lookup", "draft-model"}
    assert all((r.copied is not None) == (r.by == "prompt-lookup") for r in trace.rounds)
    assert trace.output_ids == specviz.decode_plain(pair, IDS, Settings(max_new_tokens=60)).finish().output_ids


def test_copied_drafts_end_at_an_end_of_sequence():
    target = build()
    target.generation_config.eos_token_id = 11
    pair = specviz.Pair(target)
    trace = specviz.speculate(pair, [7, 8, 9, 11, 5, 7, 8], Settings(4, 8, method="prompt-lookup")).finish()
    assert [d.id for d in trace.rounds[0].drafted] == [9, 11]
