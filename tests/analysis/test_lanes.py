"""Lanes side by side: speedups against arithmetic, intervals that cover, texts compared, verdicts."""

import re
from dataclasses import replace

import numpy as np
import pytest
from made import made_round, made_trace, plain_rounds
from measured import synthetic

from specviz.analysis.intervals import speedup_interval
from specviz.analysis.lanes import lane_report, speed_of
from specviz.analysis.speed import speedup_interval as interval_over_rounds
from specviz.analysis.tables import Table, report_json, report_markdown
from specviz.trace.measured import Decoded, Reference

PERFECT = {"prompts": 3, "rounds": 10, "draft": 0.001, "target": 0.01, "fixed": 0.0}


def lane_table(decodes: list[Decoded], references: list[Reference] = []) -> Table:  # noqa: B006
    return lane_report(decodes, references).table("lanes")


def row_of(decodes: list[Decoded], references: list[Reference] = []) -> dict:  # noqa: B006
    return lane_table(decodes, references).rows[-1]


def texts(row: dict) -> tuple:
    return row["texts"], row.get("same_texts"), row.get("texts_compared")


def reference(decode: Decoded, seconds: float, ids: list[int] | None = None, first: int = 1) -> Reference:
    ids = decode.trace.output_ids if ids is None else ids
    return Reference("other", decode.prompt, ids, seconds, repeat=decode.repeat, first=first)


def test_a_perfect_draft_is_as_fast_as_arithmetic():
    """Case 54: target 10 ms, draft 1 ms, gamma 4: 50 / 14 with four draft steps a round."""
    row = row_of(synthetic([1.0], 4, memory=12_345, **PERFECT))
    assert row["speedup"] == pytest.approx(50 / 14)
    assert (row["speedup_low"], row["speedup_high"]) == (pytest.approx(50 / 14), pytest.approx(50 / 14))
    assert row["tokens_per_pass"] == 5
    assert row["hazard_1"] == 1
    assert row["c"] == pytest.approx(0.1)
    assert row["memory"] == 12_345
    assert (row["method"], row["rule"], row["gamma"], row["dtype"]) == (
        "Draft model",
        "Rejection sampling",
        4,
        "float32",
    )
    assert row["verdict"] == "Faster than plain decoding: 3.57×."


def test_a_slow_draft_is_reported_below_1_with_its_cause():
    decodes = synthetic([0.5], 4, prompts=6, rounds=20, draft=0.008, target=0.01, fixed=0.0)
    row, report = row_of(decodes), lane_report(decodes)
    tokens = sum(len(d.trace.output_ids) for d in decodes)
    assert row["speedup"] == pytest.approx(tokens * 0.01 / (6 * 20 * 0.042))
    assert row["speedup_high"] < 1
    assert row["verdict"].startswith("Slower than plain decoding: 0.4")
    assert "too few drafts are accepted" in row["verdict"]
    assert "A round must yield 4.20 tokens to break even" in report.sentences[0]


def test_where_the_interval_holds_1_nobody_can_tell():
    decodes = synthetic([0.5], 4, prompts=5, rounds=20, draft=0.0023, target=0.01, fixed=0.0, spread=0.5, seed=3)
    row = row_of(decodes)
    assert row["speedup_low"] < 1 < row["speedup_high"]
    assert row["verdict"].startswith("Cannot tell: ")
    assert "Per round" not in lane_report(decodes).sentences[0]


def test_the_figure_is_the_median_of_the_repeats_and_the_spread_is_theirs():
    decodes = [
        replace(decode, repeat=repeat)
        for repeat, draft in enumerate((0.001, 0.0035, 0.02))
        for decode in synthetic([1.0], 4, **{**PERFECT, "draft": draft})
    ]
    speed = speed_of(decodes)
    assert [speed.least, speed.value, speed.most] == pytest.approx([50 / 90, 50 / 24, 50 / 14])
    assert (speed.prompts, speed.repeats, speed.over) == (3, 3, "prompts")
    assert speed.low < speed.value < speed.high or speed.low == pytest.approx(speed.high)


def test_prompts_are_pooled_by_time_and_not_by_ratio():
    short, long = (
        synthetic([1.0], 4, **{**PERFECT, "prompts": 1}),
        synthetic([0.0], 4, **{**PERFECT, "prompts": 1, "rounds": 40}),
    )
    speed = speed_of([short[0], replace(long[0], prompt="long")])
    assert speed.value == pytest.approx((50 + 40) * 0.01 / (50 * 0.014))


def test_a_repeat_that_a_stop_cut_short_is_left_out():
    decodes = synthetic([1.0, 0.5], 4, prompts=4, rounds=10, repeats=3, noise=0.1)
    assert speed_of(decodes[:-1]).repeats == 2
    assert speed_of(decodes[:-1]) == speed_of([d for d in decodes if d.repeat < 2])
    assert any("left out of the speedup" in s for s in lane_report(decodes[:-1]).sentences)
    assert not any("left out of the speedup" in s for s in lane_report(decodes).sentences)


@pytest.mark.parametrize("prompts", [3, 8, 20])
def test_intervals_of_the_speedup_cover_the_truth(prompts):
    """400 measurements of prompts whose time per token varies by a quarter, around a known mean."""
    random, held = np.random.default_rng(4), []
    for _ in range(400):
        tokens = random.integers(48, 65, prompts).astype(float)
        lane = tokens * 0.005 * np.exp(0.25 * random.standard_normal(prompts))
        low, high = speedup_interval(np.stack([tokens * 0.01, tokens, lane, tokens], axis=1))
        value = tokens.sum() * 0.01 / lane.sum()
        held.append(value * low <= 2 * np.exp(-(0.25**2) / 2) <= value * high)
    assert 0.93 <= np.mean(held) <= 0.97


def test_one_prompt_has_no_interval_over_prompts():
    assert speedup_interval(np.ones((1, 4))) is None


def test_one_recorded_run_has_the_interval_of_its_rounds():
    decode = synthetic([0.8], 3, prompts=1, rounds=20, noise=0.1)[0]
    row, note = row_of([decode]), lane_table([decode]).note
    known = interval_over_rounds(decode.trace.rounds, decode.trace.baseline.rounds)
    assert (row["speedup_low"], row["speedup_high"]) == known
    assert (row["slowest"], row["quickest"]) == (None, None)
    assert "over the rounds of its one prompt" in note


def test_repeats_of_one_prompt_do_not_narrow_its_interval():
    """They write the same tokens: the interval is that of the median repeat, around the figure."""
    repeats = synthetic([0.8], 3, prompts=1, rounds=20, noise=0.1, repeats=9)
    speed = speed_of(repeats)
    alone = [speed_of([replace(decode, repeat=0)]) for decode in repeats]
    middle = sorted(alone, key=lambda s: s.value)[4]
    assert (speed.low, speed.value, speed.high) == (middle.low, middle.value, middle.high)
    even = speed_of(repeats[:4])
    assert even.low < even.value < even.high
    assert any((even.high - even.low) / even.value == pytest.approx((s.high - s.low) / s.value) for s in alone[:4])


def test_no_plain_lane_or_hardly_a_token_is_no_speedup():
    alone = Decoded("draft", made_trace([made_round(i, "yn") for i in range(9)], gamma=2), "a")
    few = Decoded("draft", made_trace([made_round(0, "yn")], plain_rounds(2, 0.01), gamma=2), "a")
    assert row_of([alone])["speedup"] is None
    assert row_of([alone])["verdict"] == "No speedup: no plain lane ran beside this one."
    assert texts(row_of([alone])) == ("not compared", None, None)
    assert row_of([few])["verdict"] == "No speedup: a lane has fewer than 8 tokens."
    assert [t.key for t in lane_report([alone]).tables] == ["lanes", "acceptance", "terms"]
    assert lane_report([]).tables[0].rows == []


def test_same_text_counts_prompts():
    decodes = synthetic([0.8], 3, prompts=4, rounds=10, repeats=2)
    assert texts(row_of(decodes)) == ("greedy, compared", 4, 4)
    decodes[3].trace.output_ids[5] += 1  # the second repeat of the second prompt
    report = lane_report(decodes)
    assert texts(report.tables[0].rows[0]) == ("greedy, compared", 3, 4)
    assert any(s.startswith("draft, prompt 1: The lanes differ from token 6 on") for s in report.sentences)


def test_a_shorter_output_is_the_same_text_with_a_warning():
    decodes = synthetic([0.8], 3, prompts=2, rounds=10)
    cut = decodes[0].trace.baseline
    cut.rounds, cut.output_ids = cut.rounds[:12], cut.output_ids[:12]
    assert texts(row_of(decodes)) == ("greedy, compared", 2, 2)
    assert any("in 1 of 2 prompts its length differs" in s for s in lane_report(decodes).sentences)


def test_sampled_texts_are_other_draws_and_inexact_rules_claim_nothing():
    sampled = synthetic([0.8], 3, prompts=2, rounds=10, temperature=1.0)
    assert texts(row_of(sampled)) == ("other draws", None, None)
    for decode in sampled:
        decode.trace.provenance.rule = "typical"
    assert texts(row_of(sampled)) == ("not claimed", None, None)
    assert not any("differ" in s for s in lane_report(sampled).sentences)


def test_references_are_timed_from_their_first_token_on():
    decodes = synthetic([1.0], 4, **PERFECT)
    row = row_of(decodes, [reference(d, 0.02 * (len(d.trace.output_ids) - 5), first=5) for d in decodes])
    assert row["speedup"] == pytest.approx(0.01 / 0.02)
    assert (row["lane"], row["method"], row["prompts"]) == ("other", "reference", 3)
    assert texts(row) == ("greedy, compared", 3, 3)
    assert row.get("hazard_1") is row.get("tokens_per_pass") is None
    other = [*decodes[0].trace.output_ids[:-1], 0]
    assert row_of(decodes, [reference(decodes[0], 0.2, ids=other)])["same_texts"] == 0
    nowhere = replace(reference(decodes[0], 0.2), prompt="elsewhere")
    assert row_of(decodes, [nowhere])["verdict"] == "No speedup: no plain lane ran beside this one."


def test_a_reference_of_a_second_target_is_compared_with_that_targets_plain_lane():
    first = synthetic([1.0], 4, lane="small", **PERFECT)
    second = synthetic([1.0], 4, lane="large", **{**PERFECT, "target": 0.04})
    same = [replace(reference(d, 0.04 * (len(d.trace.output_ids) - 1)), beside=["gone", "large"]) for d in second]
    assert row_of(first + second, same)["speedup"] == pytest.approx(1)
    gone = [replace(r, beside=["gone"]) for r in same]
    assert row_of(first + second, gone)["verdict"] == "No speedup: no plain lane ran beside this one."


def test_a_lane_that_dropped_out_is_told_and_counted():
    a, b = (synthetic([0.7], 3, lane=lane, **PERFECT) for lane in "ab")
    told = "b has 1 of the 3 decodes (prompts times repeats)"
    report = lane_report(a + b[:1], failed={"b": "No memory is left."})
    assert report.table("lanes").values("prompts") == [3, 1]
    assert "b dropped out: No memory is left." in report.sentences
    assert [s for s in report.sentences if "prompts times repeats" in s and s.startswith(told)]
    assert not any("prompts times repeats" in s or "dropped out" in s for s in lane_report(a + b).sentences)
    late = lane_report(a, [reference(d, 0.2) for d in a[:2]]).sentences
    assert any(s.startswith("other has 2 of the 3 decodes") for s in late)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"machine": "elsewhere"}, True),
        ({"date": "2026-01-01T00:02:00Z"}, True),
        ({"date": "2026-01-01T00:00:59+00:00"}, False),
        ({"date": "some day"}, True),
    ],
)
def test_lanes_recorded_elsewhere_are_told(changes, told):
    lanes = [synthetic([0.7], 3, lane=lane, **PERFECT) for lane in "abc"]
    for decode in lanes[0]:
        decode.trace.provenance = replace(decode.trace.provenance, **changes)
    found = [
        s for s in lane_report([d for lane in lanes for d in lane]).sentences if "not in turns with the others" in s
    ]
    assert [s.startswith("a: recorded on ") for s in found] == [True] * told


def test_of_two_lanes_that_are_apart_the_newer_one_is_here():
    old, new = (synthetic([0.7], 3, lane=lane, **PERFECT) for lane in ("1 old", "2 new"))
    for decode in new:
        decode.trace.provenance = replace(decode.trace.provenance, date="2026-02-01T00:00:00Z")
    found = [s for s in lane_report([*old, *new]).sentences if "not in turns" in s]
    assert [s.startswith("1 old: recorded on") for s in found] == [True]


def test_lanes_of_different_targets_are_told():
    lanes = [synthetic([0.7], 3, lane=lane, **PERFECT) for lane in "ab"]
    assert not any("different targets" in s for s in lane_report([*lanes[0], *lanes[1]]).sentences)
    for decode in lanes[1]:
        source = decode.trace.provenance
        decode.trace.provenance = replace(source, target=replace(source.target, name="<other>", dtype="bfloat16"))
    name = lanes[0][0].trace.provenance.target.name
    assert lane_report([*lanes[0], *lanes[1]]).sentences[2] == (
        f"The lanes have different targets (a: {name} (float32); b: <other> (bfloat16)), and each speedup is over "
        "plain decoding with its own."
    )


def test_every_lane_says_whether_its_text_is_that_of_plain_decoding():
    def said(**settings):
        return lane_report(synthetic([0.7], 3, prompts=2, **settings)).sentences[0]

    assert said().endswith(" Its text is that of plain decoding in all 2 prompts.")
    assert said(temperature=0.8).endswith(" Its texts are other draws from the target's own distribution.")
    typical = synthetic([0.7], 3, prompts=2)
    for decode in typical:
        decode.trace.provenance = replace(decode.trace.provenance, rule="typical")
    assert lane_report(typical).sentences[0].endswith(" Its rule changes the output.")
    typical[0].trace.provenance.rule = "rejection"
    typical[0].trace.output_ids[3] += 1
    assert "Its text is" not in lane_report(typical[:1]).sentences[0]


def test_the_verdict_stands_beside_the_speedup():
    keys = [column.key for column in lane_table([]).columns]
    assert keys[keys.index("speedup") + 1] == "verdict"


def test_a_plain_lane_without_verify_times_has_no_c_and_no_error():
    decodes = synthetic([0.7], 3, **{**PERFECT, "fixed": 0.01})
    for record in (r for d in decodes for r in d.trace.baseline.rounds):
        record.timing.verify = 0.0
    report = lane_report(decodes)
    assert report.table("lanes").rows[0]["c"] is None
    assert report.table("lanes").rows[0]["speedup"] is not None
    assert all(row.get("relative") is None for row in report.table("costs").rows)


def test_names_in_markdown_are_text_alone():
    lane = "<img src=x onerror=alert(1)>\r\n# [click](javascript:alert(1))"
    decode = synthetic([0.7], 3, prompts=1, lane=lane)[0]
    decode.trace.baseline.rounds[0].timing.verify = 9.0
    report = lane_report([decode], failed={lane: "why"})
    report.title, report.tables[0].note = lane, lane
    lines = report_markdown(report).splitlines()
    shown = "\\<img src=x onerror=alert(1)\\> \\# \\[click\\](javascript:alert(1))"
    assert lines[0] == f"# {shown}"
    assert any(line.startswith("## ") and line.endswith(shown) for line in lines)
    assert f"{shown} dropped out: why" in lines
    assert shown in lines
    assert not any(re.search(r"(?<!\\)<img|(?<!\\)\[click|^# \[", line) for line in lines)


def test_lanes_keep_their_order_and_their_tables_their_names():
    decodes = synthetic([0.7], 3, lane="b", **PERFECT) + synthetic([0.7], 2, lane="a", **PERFECT)
    report = lane_report(decodes)
    assert report.table("lanes").values("lane") == ["b", "a"]
    assert list(report.keyed())[:5] == ["lanes", "acceptance", "terms", "costs", "waterfall"]
    assert report.keyed()["acceptance-2"].title == "Acceptance by position: a"
    assert report.keyed()["waterfall"].rows[-1]["after"] == pytest.approx(report.table("lanes").rows[0]["speedup"])


def test_a_report_follows_from_the_decodes_alone():
    decodes = synthetic([0.7], 3, repeats=2, noise=0.2, **PERFECT)
    first = report_json(lane_report(decodes))
    assert first == report_json(lane_report(synthetic([0.7], 3, repeats=2, noise=0.2, **PERFECT)))
    assert "nan" not in report_markdown(lane_report(decodes)).lower()


def test_a_busy_machine_is_told_once():
    decodes = [d for lane in "ab" for d in synthetic([0.7], 3, lane=lane, **PERFECT)]
    decodes[0].trace.baseline.rounds[0].timing.verify = 2.0
    warnings = [s for s in lane_report(decodes).sentences if "busy" in s]
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ({"tree": (3, 2)}, "Draft model, tree 3 2"),
        ({"draft_length": "confidence", "confidence": 0.25}, "Draft model, stops below 0.25"),
        ({"draft_length": "heuristic"}, "Draft model, heuristic length"),
    ],
)
def test_the_method_says_how_long_it_drafts(settings, method):
    decodes = synthetic([0.7], 2, prompts=2, rounds=6, **settings)
    assert row_of(decodes)["method"] == method


def test_a_plain_lane_is_called_plain():
    decodes = synthetic([], 0, prompts=2, rounds=20)
    for decode in decodes:
        decode.trace.provenance = replace(decode.trace.provenance, method="plain", rule="none", draft=None)
    row = row_of(decodes)
    assert (row["method"], row["rule"], row["hazard_1"], row["c"]) == ("Plain decoding", None, None, None)
    assert row["speedup"] == pytest.approx(1)
