"""Medusa: the text of plain decoding in every family, for chains and trees; the right hidden state."""

import pytest
import torch
from tiny import FAMILIES, VOCAB, build, fitted_heads, heads, short_prompts

import specviz
from specviz import Settings, SpecvizError

COUNT = 4
TREES = [(), (1, 1, 1), (2, 2), (4,)]


def settings(**changes) -> Settings:
    return Settings(**{"method": "medusa", "gamma": 3, "max_new_tokens": 12, **changes})


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_text_is_that_of_plain_decoding(family):
    target = build(family)
    pair = specviz.Pair(target)
    plain = {}
    for n, prompt in enumerate(short_prompts(6)):
        plain[n] = prompt, specviz.decode_plain(pair, prompt, settings(max_new_tokens=16)).finish().output_ids
    learnt = fitted_heads(COUNT, target, [plain[n][0] + plain[n][1] for n in (0, 2, 4)])  # the rest is new to them
    pair = specviz.Pair(target, medusa=learnt)
    for tree in TREES:
        accepted = drafted = 0
        for n, (prompt, text) in plain.items():
            chosen = settings(max_new_tokens=16, tree=tree, gamma=1 + n % COUNT)
            trace = specviz.speculate(pair, prompt, chosen).finish()
            assert trace.output_ids == text
            assert not trace.rounds[0].drafted
            assert all(r.drafted for r in trace.rounds[1:-1])
            accepted += sum(r.accepted for r in trace.rounds)
            drafted += sum(len(r.drafted) for r in trace.rounds)
        assert 0 < accepted < drafted, tree


@pytest.mark.parametrize("own", [None, VOCAB])
@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt-neox"])
def test_recorded_q_is_the_heads_softmax_on_the_hidden_state_without_a_cache(family, own):
    target, medusa = build(family), heads(COUNT, own=own)
    pair = specviz.Pair(target, medusa=medusa)
    seen = 0
    for n, prompt in enumerate(short_prompts(4)):
        trace = specviz.speculate(pair, prompt, settings(temperature=1.0, gamma=COUNT, seed=n)).finish()
        sequence = [*trace.prompt.ids, *trace.output_ids]
        for record in trace.rounds[1:]:
            # the state that decided the last token of the sequence: the one before it
            before = torch.tensor([sequence[: record.start - 1]])
            with torch.no_grad():
                hidden = target(before, output_hidden_states=True).hidden_states[-1][0, -1:]
                logits = medusa.logits(hidden, target.get_output_embeddings())
            for head, token in enumerate(record.drafted):
                assert token.q == pytest.approx(float(logits[head].softmax(-1)[token.id]), rel=1e-3, abs=1e-6)
                seen += 1
    assert seen > 20


def test_every_node_of_a_depth_has_the_same_children_each_certain():
    pair = specviz.Pair(build(), medusa=heads(COUNT))
    trace = specviz.speculate(pair, [5, 6, 7], settings(tree=(3, 2, 1), temperature=1.0, max_new_tokens=30)).finish()
    record = next(r for r in trace.rounds if len(r.drafted) == 3 + 6 + 6)
    children: dict[int, list[int]] = {}
    for node in record.drafted:
        children.setdefault(node.parent, []).append(node.id)
        assert node.q == 1.0
    groups = list(children.values())
    assert groups[0] != groups[1]
    assert all(ids == groups[1] for ids in groups[1:4])
    assert all(ids == groups[4] for ids in groups[4:])


@pytest.mark.parametrize(("changes", "depth"), [({"gamma": 9}, COUNT), ({"tree": (1,) * 6}, COUNT)])
def test_more_tokens_than_heads_are_not_drafted_and_a_note_says_so(changes, depth):
    pair = specviz.Pair(build(), medusa=heads(COUNT))
    trace = specviz.speculate(pair, [5, 6, 7], settings(max_new_tokens=20, **changes)).finish()
    assert "wait for the first hidden state" in trace.rounds[0].note
    full = [r for r in trace.rounds[1:] if r.start + 9 < 3 + 20]
    assert full
    for record in full:
        assert len(record.drafted) == depth
        assert record.note == "there are 4 heads, and each guesses one token"


def test_the_shared_model_is_not_changed_and_plain_runs_beside():
    target = build()
    pair, modules = specviz.Pair(target, medusa=heads(COUNT)), dict(target._modules)
    plain = specviz.decode_plain(pair, [5, 6, 7], settings()).finish().output_ids
    run = iter(specviz.speculate(pair, [5, 6, 7], settings()))
    next(run), next(run)
    assert target._modules == modules
    assert specviz.decode_plain(pair, [5, 6, 7], settings()).finish().output_ids == plain
    run.close()
    assert specviz.speculate(pair, [5, 6, 7], settings()).finish().output_ids == plain


def test_a_target_whose_forward_is_bound_elsewhere_is_refused_in_words():
    target = build()
    target.forward = target.forward  # as libraries that move layers between devices do: a view would not be run
    with pytest.raises(SpecvizError, match="hidden states of .* cannot be read"):
        specviz.speculate(specviz.Pair(target, medusa=heads(COUNT)), [5, 6, 7], settings()).finish()
