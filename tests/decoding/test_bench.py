"""The race protocol: what is measured, in which order, and what is left when a lane fails or the user stops."""

import pytest
import torch
from tiny import build, noised, table_model, tokenizer
from watch import Watch

import specviz
from specviz import Settings, SpecvizError
from specviz.analysis.lanes import lane_report
from specviz.analysis.totals import Totals
from specviz.decoding.bench import LanePlan, Step, measure
from specviz.trace.measured import PromptText

PROMPTS = [PromptText("one", "code", "w5 w6 w7 w8 w7"), PromptText("two", "prose", "w9 w10 w11")]


def small_pair(draft=None, **options):
    return specviz.Pair(table_model(7, 0), draft or table_model(7, 1), tokenizer(7), **options)


def speedup(decodes):
    plain = Totals.of(r for d in decodes for r in d.trace.baseline.rounds)
    return plain.seconds_per_token / Totals.of(r for d in decodes for r in d.trace.rounds).seconds_per_token


def small_prompts(*texts):
    return [PromptText(f"p{i}", "code", text) for i, text in enumerate(texts)]


def test_the_reported_speedup_is_arithmetic_and_leaves_first_calls_out(monkeypatch):
    """Target 10 ms, perfect draft 1 ms, gamma 4: 50 / 14 = 3.57, as a missing draft token joins the next first step."""
    watch = Watch(monkeypatch)
    pair = specviz.Pair(watch.model(0.010), watch.model(0.001), tokenizer(7))
    running = measure([LanePlan("lane", pair, Settings(4, 50))], small_prompts("w1 w2 w3"), repeats=3)
    list(running)
    assert speedup(running.decoded) == pytest.approx(50 / 14, rel=1e-9)
    report = lane_report(running.decoded)
    row, parts = report.table("lanes").rows[0], report.table("waterfall").rows
    assert row["speedup"] == pytest.approx(3.57, rel=0.05)
    assert row["verdict"] == "Faster than plain decoding: 3.57×."
    assert parts[-1]["after"] == pytest.approx(row["speedup"], rel=0.01)
    assert sum(part["change"] for part in parts[:-1]) == pytest.approx(row["speedup"], rel=0.01)
    for decoded in running.decoded:
        assert {round(r.timing.verify, 9) for r in decoded.trace.rounds} == {0.010}


def test_a_slow_draft_is_below_one(monkeypatch):
    watch = Watch(monkeypatch)
    pair = specviz.Pair(watch.model(0.010), watch.model(0.008, seed=1, scale=0.8), tokenizer(7))
    running = measure([LanePlan("slow", pair, Settings(4, 60, 1.0))], small_prompts("w1 w2", "w3 w4"), repeats=2)
    list(running)
    totals = Totals.of(r for d in running.decoded for r in d.trace.rounds)
    assert 0.35 < totals.accepted / totals.judged < 0.65
    row = lane_report(running.decoded).table("lanes").rows[0]
    assert row["speedup"] == pytest.approx(speedup(running.decoded), rel=0.05)
    assert row["speedup_high"] < 1
    assert row["verdict"].startswith("Slower than plain decoding: 0.")


def test_lanes_take_turns_of_a_block_and_the_first_one_changes():
    pair = small_pair()
    lanes = [LanePlan("a", pair, Settings(3, 24)), LanePlan("b", pair, Settings(1, 24))]
    turns, first = [], []
    for step in filter(None, measure(lanes, small_prompts("w1 w2"), repeats=3, block=6)):
        if not turns or turns[-1][0] != (step.repeat, step.lane):
            turns.append(((step.repeat, step.lane), []))
        turns[-1][1].append(len(step.record.emitted))
    for emitted in (counts for _, counts in turns):
        assert sum(emitted[:-1]) < 6, "a turn ends with the round that completes the block"
    for repeat in range(3):
        order = [lane for (r, lane), _ in turns if r == repeat]
        assert len(order) >= 9
        assert len(set(order[:3])) == 3
        assert order[3:6] == order[:3]
        first.append(order[0])
    assert sorted(first) == ["a", "b", "plain target"]


def test_decodes_equal_lone_runs_and_share_the_plain_one():
    target = build()
    pair = specviz.Pair(target, noised(target, 0.1), tokenizer())
    settings = [Settings(3, 10, temperature=1.0, seed=6), Settings(2, 10, temperature=1.0, seed=6, rule="match")]
    lanes = [LanePlan(f"lane {i}", pair, s) for i, s in enumerate(settings)]
    running = measure(lanes, PROMPTS, repeats=2)
    steps = [step for step in running if step]
    assert running.done == running.of == 3 * 2 * 2
    assert [(d.lane, d.prompt, d.kind, d.repeat) for d in running.decoded] == [
        (f"lane {i}", p.name, p.kind, r) for r in range(2) for p in PROMPTS for i in range(2)
    ]
    assert set(running.plain_of.values()) == {"plain target"}, "one plain lane for both"
    for decoded in running.decoded:
        text, own = next(p.text for p in PROMPTS if p.name == decoded.prompt), settings[int(decoded.lane[-1])]
        assert decoded.trace.output_ids == specviz.speculate(pair, text, own).finish().output_ids
        assert decoded.trace.baseline.output_ids == specviz.decode_plain(pair, text, own).finish().output_ids
        assert decoded.trace.baseline.provenance.method == "plain"
        assert decoded.trace.prompt.text == text
        which = (decoded.lane, decoded.prompt, decoded.repeat)
        assert [s.record for s in steps if (s.lane, s.prompt, s.repeat) == which] == decoded.trace.rounds


def test_each_target_and_sampling_has_one_plain_lane():
    pair, other = small_pair(), small_pair()
    lanes = [
        LanePlan("a", pair, Settings(4, 8)),
        LanePlan("b", pair, Settings(2, 8, method="prompt-lookup", ngram_max=2, rule="block")),
        LanePlan("warm", pair, Settings(4, 8, temperature=1.0)),
        LanePlan("other", other, Settings(4, 8)),
        LanePlan("none", pair, Settings(0, 8)),
    ]
    running = measure(lanes, small_prompts("w1"), repeats=1)
    names = {"a": "", "b": "", "none": "", "warm": " #2", "other": " #3"}
    assert running.plain_of == {lane: f"plain target{end}" for lane, end in names.items()}
    list(running)
    by_lane = {d.lane: d.trace for d in running.decoded}
    assert by_lane["a"].baseline is by_lane["b"].baseline is by_lane["none"].baseline
    assert by_lane["a"].baseline is not by_lane["other"].baseline
    assert by_lane["warm"].baseline.settings.temperature == 1.0


def test_plain_lanes_of_several_dtypes_are_named_by_it():
    pairs = {dtype: specviz.Pair(build().to(dtype), None, tokenizer()) for dtype in (torch.float32, torch.float64)}
    lanes = [LanePlan(str(dtype), pair, Settings(0, 4)) for dtype, pair in pairs.items()]
    plain_of = measure(lanes, small_prompts("w1"), repeats=1).plain_of
    assert list(plain_of.values()) == ["plain target float32", "plain target float64"]


def test_every_width_is_warm_before_anything_counts(monkeypatch):
    """Prompt lookup finds its first match late: no round of the warm-up is wide."""
    watch = Watch(monkeypatch)
    pair = specviz.Pair(watch.model(0.010), None, tokenizer(7))
    lanes = [LanePlan("copy", pair, Settings(5, 60, 1.0, method="prompt-lookup"))]
    running = measure(lanes, small_prompts("w1 w2 w3 w4 w5 w6"), repeats=1)
    list(running)
    rounds = running.decoded[0].trace.rounds
    assert not rounds[0].drafted
    assert len({len(r.drafted) for r in rounds}) > 2
    assert {round(r.timing.verify, 9) for r in rounds} == {0.010}


def test_a_lane_that_fails_drops_out_and_the_others_go_on():
    good, bad = small_pair(), table_model(7, 1)
    pair = specviz.Pair(good.target, bad, good.tokenizer)
    lanes = [LanePlan("good", good, Settings(3, 12)), LanePlan("bad", pair, Settings(3, 12))]
    running = measure(lanes, small_prompts("w1 w2", "w3 w4"), repeats=2)
    for step in filter(None, running):
        if step.lane == "bad" and step.prompt == "p1":
            bad.table = bad.table * float("nan")
    assert [(d.lane, d.prompt, d.repeat) for d in running.decoded if d.lane == "bad"] == [("bad", "p0", 0)]
    assert len([d for d in running.decoded if d.lane == "good"]) == 4
    assert list(running.failed) == ["bad"]
    assert "not finite" in running.failed["bad"]
    assert running.done == running.of


def test_a_failing_plain_lane_takes_its_own_lanes_with_it():
    good, bad = small_pair(), small_pair()
    lanes = [LanePlan("good", good, Settings(3, 12)), LanePlan("bad", bad, Settings(3, 12))]
    running = measure(lanes, small_prompts("w1 w2", "w3 w4"), repeats=1)
    next(filter(None, running))
    bad.target.table = bad.target.table * float("nan")
    list(running)
    assert [(d.lane, d.prompt) for d in running.decoded] == [("good", "p0"), ("good", "p1")]
    assert running.failed.keys() == {"bad", "plain target #2"}


def test_closing_frees_everything_and_keeps_what_is_whole():
    pair = small_pair()
    with measure([LanePlan("a", pair, Settings(3, 20))], small_prompts("w1", "w2"), repeats=2) as running:
        for step in filter(None, running):
            if step.prompt == "p1" and len(running.traces["a"].rounds) == 2:
                break
    assert [(d.lane, d.prompt) for d in running.decoded] == [("a", "p0")]
    assert {t.finish for t in running.traces.values()} == {"stopped"}
    assert running.decoded[0].trace.finish == "budget"
    calls = pair.target.calls
    assert next(running, None) is None
    assert pair.target.calls == calls


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"lanes": []}, "at least one lane"),
        ({"prompts": []}, "one prompt"),
        ({"repeats": 0}, "at least one repeat"),
        ({"prompts": small_prompts("w1") * 2}, "a name of its own"),
        ({"prompts": small_prompts("w1", "w1 " * 300)}, "plain target: The prompt has 300 tokens"),
        ({"settings": Settings(-1)}, "lane: Gamma must be"),
        ({"settings": Settings(method="medusa")}, "lane: No Medusa heads"),
        ({"label": "plain one"}, "must not begin"),
    ],
)
def test_what_cannot_run_is_refused_before_any_work(changes, sentence):
    target = build()
    pair = specviz.Pair(target, noised(target), tokenizer())
    lanes = [LanePlan(changes.pop("label", "lane"), pair, changes.pop("settings", Settings(3, 12)))]
    passes = []
    target.register_forward_pre_hook(lambda *_: passes.append(1))
    with pytest.raises(SpecvizError, match=sentence):
        measure(**({"lanes": lanes, "prompts": small_prompts("w1")} | changes))
    assert not passes


def test_the_prompt_says_whether_the_chat_template_is_used():
    chat = "{{ '<|a|> ' + messages[0]['content'] }}"
    target = build()
    pair = specviz.Pair(target, noised(target), tokenizer(specials={3: "<|a|>"}, template=chat))
    prompts = [PromptText("raw", "code", "w5 w6"), PromptText("chat", "prose", "w5 w6", chat=True)]
    running = measure([LanePlan("a", pair, Settings(2, 4))], prompts, repeats=1)
    list(running)
    assert [d.trace.prompt.ids for d in running.decoded] == [[5, 6], [3, 5, 6]]
    without = measure([LanePlan("a", small_pair(), Settings(2, 4))], [PromptText("p", "prose", "w5", chat=True)], 1)
    list(without)
    assert without.decoded[0].trace.prompt.ids == [5]
    assert "has no chat template" in without.decoded[0].trace.provenance.notes[0]
    assert all(d.trace.baseline.prompt.ids == d.trace.prompt.ids for d in running.decoded)


def test_memory_counts_each_tensor_once_and_the_buffers_of_the_run():
    target = build(tie_word_embeddings=True)
    pair = specviz.Pair(target, noised(target), tokenizer())
    heads = [LanePlan("drafted", pair, Settings(3, 20)), LanePlan("none", pair, Settings(0, 20))]
    running = measure(heads, small_prompts("w1 w2"), repeats=1)
    list(running)
    unique = {p.data_ptr(): p for p in (*target.parameters(), *target.buffers())}
    weights = sum(p.nbytes for p in unique.values())
    place = 2 * 2 * 2 * 8 * 4  # keys and values, layers, heads, head_dim, bytes
    held = {d.lane: d.memory for d in running.decoded}
    assert held == {"none": weights + 22 * place, "drafted": 2 * (weights + 22 * place)}


def test_steps_name_lane_prompt_and_repeat():
    steps = list(measure([LanePlan("a", small_pair(), Settings(3, 9))], small_prompts("w1"), repeats=1))
    shown = [step for step in steps if step]
    assert steps[-len(shown) :] == shown, "only the warm-up has nothing to show"
    step = shown[0]
    assert isinstance(step, Step)
    assert (step.prompt, step.repeat) == ("p0", 0)
    assert step.lane in ("a", "plain target")
