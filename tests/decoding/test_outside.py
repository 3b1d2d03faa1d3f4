"""References by transformers: the same text as ours, exactly gamma assistant tokens, nothing left behind."""

import pytest
import torch
from tiny import build, noised, table_model, tokenizer
from transformers import GenerationConfig

import specviz
from specviz import Settings, SpecvizError
from specviz.decoding.bench import LanePlan, measure
from specviz.decoding.outside import outside_lanes, same_footing
from specviz.trace.measured import PromptText

PROMPTS = [PromptText("one", "code", "w5 w6 w7 w8 w7"), PromptText("two", "prose", "w9 w10 w9 w10")]


@pytest.fixture(scope="module")
def pair():
    target = build()
    made = specviz.Pair(target, noised(target, 0.1), tokenizer())
    for model in (made.target, made.draft):  # what a checkpoint may bring: all of it would change the text
        model.generation_config = GenerationConfig(
            do_sample=True, top_k=3, repetition_penalty=5.0, num_assistant_tokens=11, max_new_tokens=2
        )
    return made


def lanes(pair, *settings):
    return [LanePlan(f"lane {i}", pair, s) for i, s in enumerate(settings)]


def test_greedy_references_write_what_we_write(pair):
    plans = lanes(pair, Settings(3, 14), Settings(2, 14, method="prompt-lookup"), Settings(3, 14, rule="match"))
    running = measure(plans, PROMPTS, repeats=2, references=True)
    list(running)
    assert not running.failed
    assert running.done == running.of
    texts = {(d.prompt, d.repeat): d.trace.baseline.output_ids for d in running.decoded}
    assert len(texts) == 4
    labels = ["transformers generate", "transformers assisted, gamma 3", "transformers prompt lookup, gamma 2",
              "specviz plain target", "specviz lane 0", "specviz lane 1", "specviz lane 2"]  # fmt: skip
    for label in labels:
        found = [r for r in running.references if r.lane == label]
        assert [(r.prompt, r.repeat, r.kind) for r in found] == [
            (p.name, repeat, p.kind) for repeat in range(2) for p in PROMPTS
        ]
        for reference in found:
            assert reference.output_ids == texts[reference.prompt, reference.repeat]
            assert reference.seconds > 0
    assert {r.lane for r in running.references} == set(labels)


def test_references_of_several_targets_are_named_and_beside_their_own_lanes(pair):
    other = specviz.Pair(build(), noised(build(), 0.1), tokenizer())
    plans = [LanePlan("a", pair, Settings(3, 6)), LanePlan("b", other, Settings(3, 6)),
             LanePlan("c", other, Settings(2, 6))]  # fmt: skip
    running = measure(plans, PROMPTS[:1], repeats=1, references=True)
    list(running)
    where = "target float32"
    assert {r.lane: r.beside for r in running.references} == {
        f"transformers generate, {where}": ["a"],
        f"transformers assisted, gamma 3, {where}": ["a"],
        f"transformers generate, {where} #2": ["b", "c"],
        f"transformers assisted, gamma 3, {where} #2": ["b", "c"],
        f"transformers assisted, gamma 2, {where}": ["b", "c"],
        "specviz plain target": ["a"],
        "specviz a": ["a"],
        "specviz plain target #2": ["b", "c"],
        "specviz b": ["b", "c"],
        "specviz c": ["b", "c"],
    }


def test_the_assistant_drafts_exactly_gamma(pair):
    steps = []
    hook = pair.draft.register_forward_pre_hook(lambda _, args, kwargs: steps.append(1), with_kwargs=True)
    try:
        reference = outside_lanes(lanes(pair, Settings(3, 25)))["transformers assisted, gamma 3"].decode([5, 6, 7])
    finally:
        hook.remove()
    assert len(reference.output_ids) == 25
    rounds = reference_rounds(pair, [5, 6, 7], 3, 25)
    assert len(steps) == sum(min(3, 25 - start - 1) for start in rounds)
    assert reference.first == rounds[1]


def reference_rounds(pair, ids, gamma, budget):
    """Output length at the start of each round, by our own engine: greedy rounds do not depend on who runs them."""
    trace = specviz.speculate(pair, ids, Settings(gamma, budget)).finish()
    return [r.start - len(ids) for r in trace.rounds]


def test_sampling_follows_the_settings_and_the_seed(pair):
    def decode(seed, way="transformers generate", **settings):
        plan = lanes(pair, Settings(3, 12, temperature=1.0, seed=seed, **settings))
        return outside_lanes(plan)[way].decode([5, 6, 7]).output_ids

    before = torch.random.get_rng_state()
    assert decode(1) == decode(1) != decode(2)
    assert torch.equal(torch.random.get_rng_state(), before)
    greedy = specviz.decode_plain(pair, [5, 6, 7], Settings(max_new_tokens=12)).finish().output_ids
    assert decode(1, top_k=1) == decode(2, top_k=1) == greedy
    assert decode(1, "transformers assisted, gamma 3", top_k=1) == greedy


def test_the_ends_are_those_of_the_pair():
    target = build()
    plain = specviz.decode_plain(specviz.Pair(target, None, tokenizer()), [5, 6], Settings(max_new_tokens=12)).finish()
    end = plain.output_ids[4]
    pair = specviz.Pair(target, noised(target, 0.1), tokenizer(eos=f"w{end}", specials={end: f"w{end}"}))
    expected = plain.output_ids[: plain.output_ids.index(end) + 1]
    for outside in outside_lanes(lanes(pair, Settings(3, 12))).values():
        assert outside.decode([5, 6]).output_ids == expected
    short = specviz.Pair(build(max_position_embeddings=8), None, tokenizer())
    assert len(outside_lanes(lanes(short, Settings(0, 12)))["transformers generate"].decode([5, 6]).output_ids) == 6


def test_configs_are_given_back_even_after_an_error(pair, monkeypatch):
    own = pair.target.generation_config, pair.draft.generation_config
    ways = outside_lanes(lanes(pair, Settings(3, 6)))
    for way in ways.values():
        way.decode([5, 6])
    monkeypatch.setattr(pair.target, "generate", lambda *_, **__: 1 / 0, raising=False)
    for label, way in ways.items():
        with pytest.raises(SpecvizError, match=f"{label} failed: ZeroDivisionError: division by zero"):
            way.decode([5, 6])
    assert (pair.target.generation_config, pair.draft.generation_config) == own
    assert own[0].top_k == 3


def test_a_reference_that_fails_is_named_and_the_lanes_go_on():
    pair = specviz.Pair(table_model(7, 0), table_model(7, 1), tokenizer(7))  # a table has no generate
    running = measure(lanes(pair, Settings(2, 6)), [PromptText("p", "code", "w1 w2")], 2, references=True)
    list(running)
    assert len(running.decoded) == 2
    assert running.failed.keys() == {"transformers generate", "transformers assisted, gamma 2"}
    assert running.done == running.of


def test_our_own_decode_on_the_same_footing(pair):
    trace = specviz.speculate(pair, [5, 6, 7], Settings(3, 20)).finish()
    reference = same_footing("ours", trace)
    assert reference.first == len(trace.rounds[0].emitted)
    assert reference.seconds == pytest.approx(sum(r.timing.total for r in trace.rounds[1:]))
    assert len(reference.output_ids) - reference.first == sum(len(r.emitted) for r in trace.rounds[1:])
    nothing = same_footing("ours", specviz.speculate(pair, [5], Settings(3, 0)).finish())
    assert (nothing.first, nothing.seconds, nothing.output_ids) == (0, 0, [])


@pytest.mark.parametrize("changes", [{"presence_penalty": 0.5}, {"frequency_penalty": 0.5}, {"stop": ("x",)}])
def test_what_transformers_does_not_have_is_refused(pair, changes):
    with pytest.raises(SpecvizError, match="leave them out, or measure without"):
        measure(lanes(pair, Settings(3, 6, **changes)), PROMPTS, references=True)


def test_trees_and_own_lengths_have_no_counterpart(pair):
    plans = lanes(pair, Settings(3, tree=(2, 1)), Settings(3, draft_length="heuristic"), Settings(0))
    assert list(outside_lanes(plans)) == ["transformers generate"]
