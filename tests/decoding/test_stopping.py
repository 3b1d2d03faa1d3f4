"""Budgets, ends of sequence, stop strings, context limits, odd prompts."""

import pytest
import torch
from tiny import IDS, TableModel, build, byte_tokenizer, heads, noised, table_model, tokenizer

import specviz
from specviz import Settings, SpecvizError


@pytest.fixture(scope="module")
def target():
    return build()


def plain_ids(target, count=24, prompt=IDS):
    return specviz.decode_plain(specviz.Pair(target), prompt, Settings(max_new_tokens=count)).finish().output_ids


def with_eos(eos, **changes):
    model = build(**changes)
    model.generation_config.eos_token_id = eos
    return model


def run_both(pair, settings, prompt=IDS):
    return [f(pair, prompt, settings).finish() for f in (specviz.speculate, specviz.decode_plain)]


@pytest.mark.parametrize("eos_places", [(2,), (6, 2)])
def test_any_end_id_inside_a_block_ends_the_output_there(target, eos_places):
    ids = plain_ids(target)
    assert ids[2] not in ids[:2], "the fixture must not repeat the end id earlier"
    model = with_eos([ids[i] for i in eos_places])
    for trace in run_both(specviz.Pair(model, build()), Settings(gamma=8)):
        assert trace.output_ids == ids[:3]
        assert trace.finish == "eos"
        shown = [d for r in trace.rounds for d in r.drafted if d.verdict == "accepted"]
        assert len(shown) <= 3


def test_stop_string_inside_a_block_cuts_what_follows(target):
    ids = plain_ids(target)
    text = tokenizer()
    stop = f"w{ids[1]}w{ids[2]}"  # spans two tokens: pieces are joined as they are
    traces = run_both(specviz.Pair(target, build(), text), Settings(gamma=8, stop=(stop,)))
    for trace in traces:
        assert trace.output_ids == ids[:3]
        assert trace.finish == "stop"
    (record,) = traces[0].rounds
    assert [d.verdict for d in record.drafted] == ["accepted"] * 3 + ["cut"] * 5
    assert (record.judged, record.accepted, len(record.emitted)) == (3, 3, 3)


def test_drafting_stops_at_an_end_id_and_goes_on_in_the_next_round():
    table = torch.zeros(5, 5, 5)
    table[..., 1] = 5.0  # the target always says 1
    wrong = torch.zeros(5, 5, 5)
    wrong[..., 4] = 5.0  # the draft always says 4, the end
    model = specviz.Pair(TableWithEnd(table, 4), TableWithEnd(wrong, 4))
    trace = specviz.speculate(model, [0], Settings(gamma=3, max_new_tokens=20)).finish()
    assert trace.output_ids == [1] * 20
    assert [len(r.drafted) for r in trace.rounds[:-1]] == [1] * 19
    assert sum(r.accepted for r in trace.rounds) == 0


def TableWithEnd(table, end):  # noqa: N802
    model = TableModel(table)
    model.config.eos_token_id = end
    return model


@pytest.mark.parametrize("budget", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("gamma", [0, 1, 4, 8, 64])
def test_exactly_the_budget_is_emitted(target, budget, gamma):
    pair = specviz.Pair(target, build())
    trace = specviz.speculate(pair, IDS, Settings(gamma, budget)).finish()
    assert trace.output_ids == plain_ids(target, budget)
    assert trace.finish == "budget"
    assert all(len(r.drafted) <= gamma for r in trace.rounds)
    assert budget != 1 or not trace.rounds[0].drafted, "one token needs no draft"


def test_gamma_is_exact_and_belongs_to_the_run(target):
    pair = specviz.Pair(target, build(seed=1))
    for gamma in (12, 3, 3):
        trace = specviz.speculate(pair, IDS, Settings(gamma, 40)).finish()
        left = 40
        for record in trace.rounds:
            assert len(record.drafted) == min(gamma, left - 1)
            left -= len(record.emitted)


@pytest.mark.parametrize("prompt", [[10], [7, 8], IDS, list(range(90))])
def test_short_and_long_prompts_equal_plain(target, prompt):
    pair = specviz.Pair(target, noised(target))
    for gamma in (1, 3):
        speculative, plain = run_both(pair, Settings(gamma, 20), prompt)
        assert speculative.output_ids == plain.output_ids


def test_near_the_context_limit():
    model = build(max_position_embeddings=32)
    pair = specviz.Pair(model, build(max_position_embeddings=32))
    prompt = list(range(29))
    trace = specviz.speculate(pair, prompt, Settings(8, 3)).finish()
    assert (len(trace.output_ids), trace.finish) == (3, "budget")
    for trace in run_both(pair, Settings(8, 50), prompt):
        assert (len(trace.output_ids), trace.finish) == (3, "context")
    calls = []
    model.register_forward_pre_hook(lambda *_: calls.append(1))
    with pytest.raises(SpecvizError, match="33 tokens, but the target's context is 32"):
        specviz.speculate(pair, list(range(33)), Settings())
    assert not calls


@pytest.mark.parametrize("family", ["llama", "gpt2"])  # rotary, and learned positions that fail hard past the end
def test_a_draft_with_a_shorter_context_stops_drafting_and_says_so(family):
    limit = {"n_positions": 16} if family == "gpt2" else {"max_position_embeddings": 16}
    target = build(family)
    pair = specviz.Pair(target, build(family, seed=1, **limit))
    trace = specviz.speculate(pair, IDS, Settings(4, 20)).finish()
    assert trace.output_ids == specviz.decode_plain(pair, IDS, Settings(4, 20)).finish().output_ids
    full = [r for r in trace.rounds if r.note]
    assert full
    assert all("context of 16 tokens is full" in r.note for r in full)
    assert all(r.start + len(r.drafted) - 1 <= 16 for r in trace.rounds if r.drafted)
    long = specviz.speculate(pair, list(range(40)), Settings(4, 5)).finish()
    assert not any(r.drafted for r in long.rounds)


def test_prompts_that_cannot_start():
    pair = specviz.Pair(build(), None, None)
    with pytest.raises(SpecvizError, match="no begin token"):
        specviz.decode_plain(pair, [], Settings())
    with pytest.raises(SpecvizError, match="outside the vocabulary"):
        specviz.decode_plain(pair, [97], Settings())
    with pytest.raises(SpecvizError, match="no tokenizer"):
        specviz.decode_plain(pair, "text", Settings())


def test_white_space_prompts_are_legal():
    text = byte_tokenizer()
    pair = specviz.Pair(table_model(len(text), seed=0), table_model(len(text), seed=1), text)
    for prompt in (" ", "\n"):
        trace = specviz.speculate(pair, prompt, Settings(2, 4)).finish()
        assert pair.text.text(trace.prompt.ids) == prompt
        assert len(trace.output_ids) == 4


def test_speculating_without_a_draft_is_refused_in_words():
    with pytest.raises(SpecvizError, match="No draft model"):
        specviz.speculate(specviz.Pair(build()), IDS, Settings())
    assert (
        len(specviz.speculate(specviz.Pair(build()), IDS, Settings(gamma=0, max_new_tokens=3)).finish().output_ids) == 3
    )


TREES = [(1, 1, 1), (2, 2), (4,), (2, 2, 1)]


def pair_for_trees(target, method, text=None):
    """A copy, so that whole paths are accepted, or heads that are nearly never right."""
    draft, medusa = (build(), None) if method == "draft-model" else (None, heads(3))
    return specviz.Pair(target, draft, text, medusa=medusa)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("method", ["draft-model", "medusa"])
def test_trees_end_where_plain_decoding_ends(target, method, tree):
    """At an end id or a stop string at every place of a path, and at every small budget."""
    ids, text = plain_ids(target), tokenizer()
    assert len(set(ids[:5])) == 5, "an end must not occur earlier"
    pair = pair_for_trees(target, method, text)
    cases = [(pair, {"max_new_tokens": budget}, "budget", budget) for budget in (1, 2, 3, 4)]
    cases += [(pair_for_trees(with_eos(ids[i]), method), {}, "eos", i + 1) for i in range(5)]
    cases += [(pair, {"stop": (f"w{ids[i]}w{ids[i + 1]}",)}, "stop", i + 2) for i in range(4)]
    for ended, changes, finish, count in cases:
        settings = Settings(**{"max_new_tokens": 12, "method": method, "tree": tree} | changes)
        for trace in run_both(ended, settings):
            assert (trace.output_ids, trace.finish) == (ids[:count], finish)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_end_id_among_the_siblings_has_no_children_and_ends_nothing_unless_it_is_taken(target, temperature):
    """The end is what the draft, a copy, likes second best at first: a node, and at T = 0 never the output's."""
    row = target(torch.tensor([IDS])).logits[0, -1]
    end = int(row.topk(2).indices[1])
    pair = specviz.Pair(with_eos(end), build())
    found = 0
    for seed in range(1 if temperature == 0 else 20):
        settings = Settings(max_new_tokens=6, temperature=temperature, tree=(3, 2, 1), seed=seed)
        trace = specviz.speculate(pair, IDS, settings).finish()
        for record in trace.rounds:
            ends = [i for i, d in enumerate(record.drafted) if d.id == end]
            assert not any(d.parent in ends for d in record.drafted)
            found += len(ends)
        assert (trace.finish == "eos") == (trace.output_ids[-1] == end)
        assert end not in trace.output_ids[:-1]
        if temperature == 0:
            assert trace.output_ids == specviz.decode_plain(pair, IDS, settings).finish().output_ids
    assert found
