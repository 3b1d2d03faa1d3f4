"""Early exit: the text of plain decoding, drafts by the first layers, and a shared model that stays as it is."""

import threading

import pytest
import torch
from deep import LAYERS, deep, exit_logits, state
from tiny import FAMILIES, short_prompts

import specviz
from specviz import Settings, SpecvizError
from specviz.decoding.proposers.base import Draft

EXITS = range(1, LAYERS)


def _settings(count: int | None, **changes) -> Settings:
    return Settings(**{"method": "early-exit", "exit_layer": count, "gamma": 3, "max_new_tokens": 12, **changes})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_exit_writes_the_text_of_plain_decoding(family):
    pair = specviz.Pair(deep(family))
    accepted = {}
    for count in EXITS:
        for n, prompt in enumerate(short_prompts(4)):
            settings = _settings(count, gamma=1 + (n + count) % 4)
            trace = specviz.speculate(pair, prompt, settings).finish()
            assert trace.output_ids == specviz.decode_plain(pair, prompt, settings).finish().output_ids
            assert all(r.drafted for r in trace.rounds[:-1])
            accepted[count] = accepted.get(count, 0) + sum(r.accepted for r in trace.rounds)
    assert len(set(accepted.values())) > 1, "the exits must differ in acceptance for this test to mean anything"


@pytest.mark.parametrize("family", ["llama", "gemma2", "opt"])
@pytest.mark.parametrize("count", EXITS)
def test_q_is_norm_and_head_of_the_exit_layer(family, count):
    model = deep(family)
    trace = specviz.speculate(
        specviz.Pair(model), [5, 6, 7], _settings(count, temperature=1.0, max_new_tokens=16)
    ).finish()
    ids = trace.prompt.ids + trace.output_ids
    drafted = 0
    for record in trace.rounds:
        for n, row in enumerate(record.drafted):
            text = [*ids[: record.start], *(d.id for d in record.drafted[:n])]
            q = exit_logits(model, text, count)[-1].softmax(-1)
            p = exit_logits(model, text, LAYERS)[-1].softmax(-1)
            assert row.q == pytest.approx(float(q[row.id]), abs=1e-4)
            assert row.p == pytest.approx(float(p[row.id]), abs=1e-4)
            assert row.beta == pytest.approx(float(torch.minimum(p, q).sum()), abs=1e-4)
            drafted += 1
    assert drafted > 12


def test_a_quarter_of_the_layers_drafts_unless_told_otherwise():
    pair = specviz.Pair(deep())
    runs = [specviz.speculate(pair, [5, 6, 7], _settings(count, temperature=1.0)).finish() for count in (None, 1)]
    assert [r.drafted for r in runs[0].rounds] == [r.drafted for r in runs[1].rounds]


@pytest.mark.parametrize("changes", [{"gamma": 0}, {"max_new_tokens": 1}, {"max_new_tokens": 2}, {"gamma": 9}])
def test_rounds_without_a_draft_and_at_the_limit(changes):
    pair = specviz.Pair(deep())
    for prompt in ([5], [5, 6, 7]):
        settings = _settings(2, **changes)
        trace = specviz.speculate(pair, prompt, settings).finish()
        assert trace.output_ids == specviz.decode_plain(pair, prompt, settings).finish().output_ids
        assert trace.finish == "budget"


def test_a_draft_ends_where_its_confidence_does_and_at_an_end_of_sequence():
    model = deep()
    pair = specviz.Pair(model)
    settings = _settings(2, draft_length="confidence", confidence=0.2, gamma=6)
    trace = specviz.speculate(pair, [5, 6, 7], settings).finish()
    assert len({len(r.drafted) for r in trace.rounds[:-1]}) > 1
    assert trace.output_ids == specviz.decode_plain(pair, [5, 6, 7], settings).finish().output_ids
    first = trace.rounds[0].drafted[0].id
    model.generation_config.eos_token_id = first
    ended = specviz.speculate(specviz.Pair(model), [5, 6, 7], _settings(2)).finish()
    assert [d.id for d in ended.rounds[0].drafted] == [first]


@pytest.mark.parametrize("count", [0, LAYERS, LAYERS + 1])
def test_no_layers_and_all_layers_are_refused(count):
    with pytest.raises(SpecvizError, match="The exit layer must be a whole number from 1 to"):
        specviz.speculate(specviz.Pair(deep()), [5, 6, 7], _settings(count)).finish()


def test_an_exception_in_the_middle_of_a_draft_leaves_the_target_as_it_was(monkeypatch):
    model = deep()
    pair = specviz.Pair(model)
    before, plain = state(model), specviz.decode_plain(pair, [5, 6, 7], _settings(2)).finish().output_ids
    choose, calls = Draft.choose, []

    def failing(draft, logits):
        calls.append(1)
        if len(calls) == 5:
            raise RuntimeError("in the middle")
        return choose(draft, logits)

    monkeypatch.setattr(Draft, "choose", failing)
    with pytest.raises(SpecvizError, match="in the middle"):
        specviz.speculate(pair, [5, 6, 7], _settings(2)).finish()
    assert state(model) == before
    assert specviz.decode_plain(pair, [5, 6, 7], _settings(2)).finish().output_ids == plain
    assert specviz.speculate(pair, [5, 6, 7], _settings(2)).finish().output_ids == plain


def test_a_closed_run_leaves_the_target_as_it_was():
    model = deep()
    pair = specviz.Pair(model)
    before, logits = state(model), exit_logits(model, [5, 6, 7], LAYERS)
    run = specviz.speculate(pair, [5, 6, 7], _settings(2))
    next(run)
    run.close()
    assert run.trace.finish == "stopped"
    assert run.trace.lens is None
    assert state(model) == before
    assert torch.equal(exit_logits(model, [5, 6, 7], LAYERS), logits)


def test_a_plain_run_and_early_exits_in_other_threads_do_not_meet():
    pair = specviz.Pair(deep())
    prompts = short_prompts(4)
    long = {"max_new_tokens": 40}
    alone = [specviz.decode_plain(pair, prompt, _settings(1, **long)).finish().output_ids for prompt in prompts]
    found: dict[int, list[int]] = {}

    def decode(n: int) -> None:
        start = specviz.decode_plain if n == 0 else specviz.speculate
        found[n] = start(pair, prompts[n], _settings(max(n, 1), **long)).finish().output_ids

    threads = [threading.Thread(target=decode, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[n] for n in range(4)] == alone
