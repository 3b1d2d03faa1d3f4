"""A measurement that is stopped while it warms up, that has little room, and what its decodes really held."""

import pytest
from spell import LETTERS, foreign, spelled
from tiny import build, noised, table_model, tokenizer

import specviz
from specviz import Settings, SpecvizError
from specviz.decoding.bench import LanePlan, measure
from specviz.decoding.widths import step_times, warm_widths
from specviz.models.forward import Stepper
from specviz.models.memory import weight_bytes
from specviz.trace.measured import PromptText

PROMPT = [PromptText("one", "code", "w5 w6 w7")]


def test_a_stop_takes_effect_between_the_passes_of_the_warm_up():
    calls = []
    target = table_model(7, 0, hook=lambda ids: calls.append(len(ids)))
    pair = specviz.Pair(target, table_model(7, 1), tokenizer(7))
    running = measure([LanePlan("a", pair, Settings(6, 30))], [PromptText("one", "code", "w1 w2 w3")], repeats=1)
    calls.clear()  # those that tried the pair
    passes = []
    for step in running:
        passes.append(len(calls))
        if step is not None:
            break
    assert len(passes) > 2 + 7 + 2, "lanes, widths of the target, widths of the draft"
    assert max(b - a for a, b in zip([0, *passes], passes, strict=False)) <= 4, "of a lane's prompt and first rounds"
    running = measure([LanePlan("a", pair, Settings(6, 30))], [PromptText("one", "code", "w1 w2 w3")], repeats=1)
    assert next(running) is None
    running.close()
    before = len(calls)
    assert list(running) == []
    assert (len(calls), running.decoded, running.failed) == (before, [], {})


def test_a_gamma_wider_than_the_context_is_warm_as_far_as_there_is_room():
    target = build(max_position_embeddings=32)
    widths = []
    target.register_forward_pre_hook(lambda _, a, kwargs: widths.append(kwargs["input_ids"].shape[1]), with_kwargs=True)
    pair = specviz.Pair(target, noised(build(max_position_embeddings=32)), tokenizer())
    list(warm_widths(pair, Settings(64), [5, 6, 7]))
    assert max(widths) == 32 - 3
    running = measure([LanePlan("wide", pair, Settings(64, 10))], PROMPT, repeats=1)
    list(running)
    assert [d.lane for d in running.decoded] == ["wide"]
    assert not running.failed


def test_a_tick_ends_single_passes():
    pair = specviz.Pair(table_model(7, 0), table_model(7, 1))
    ticks = []

    def tick():
        ticks.append(1)
        if len(ticks) == 5:
            raise SpecvizError("Stopped.")

    with pytest.raises(SpecvizError, match="Stopped"):
        step_times(pair, Settings(2), [1, 2], 4, 3, tick)
    assert len(ticks) == 5


def test_memory_is_that_of_the_buffers_that_were_there(monkeypatch):
    """A draft with a tokenizer of its own makes its buffers as long as its own tokens need."""
    ours = spelled(LETTERS, [("t", "h"), ("th", "e"), ("the", " ")])
    target = build(vocab_size=len(ours))
    pair = specviz.Pair(target, None, ours, foreign=foreign(target, ours, spelled(LETTERS)))
    lanes = [LanePlan(m, pair, Settings(3, 20, method=m)) for m in ("cross-tokenizer", "prompt-lookup")]
    running = measure(lanes, [PromptText("p", "code", "the the the the the ")], repeats=1)
    buffers, steppers = {}, []
    init = Stepper.__init__

    def watched(self, model, capacity):
        init(self, model, capacity)
        steppers.append(self)

    monkeypatch.setattr(Stepper, "__init__", watched)
    for step in running:
        if step is None:
            steppers.clear()
            continue
        for stepper in steppers:
            kind = "draft" if stepper.model is pair.foreign.model else "target"
            buffers[kind] = max(buffers.get(kind, 0), stepper.bytes)
    held = {d.lane: d.memory for d in running.decoded}
    assert buffers["draft"] > 0
    assert held["prompt-lookup"] == weight_bytes(target) + buffers["target"]
    assert held["cross-tokenizer"] == weight_bytes(target, pair.foreign.model) + buffers["target"] + buffers["draft"]
    place = buffers["target"] // (len(running.decoded[0].trace.prompt.ids) + 20)
    assert buffers["draft"] > place * (len(running.decoded[0].trace.prompt.ids) + 20), "it has more tokens of the text"
