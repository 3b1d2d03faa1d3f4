"""Where two greedy lanes first differ, what explains it, and the table of a set of prompts."""

import pytest
from made import made_round, made_trace, plain_rounds

from specviz.analysis.equality import difference, equality_sentence, equality_table, first_difference, verdict
from specviz.trace.checked import Compared, Recheck
from specviz.trace.measured import Decoded


def trace(plain=(7, 7, 8), dtype="bfloat16", gaps=(0.5, 0.5), **settings):
    """Speculative lane 7 7 8 against these ids; gaps at the second token: speculative, plain."""
    made = made_trace([made_round(0, "yy")], plain_rounds(len(plain), 1.0), **settings)
    made.baseline.output_ids = list(plain)
    made.rounds[0].emitted[1].gap = gaps[0]
    if len(plain) > 1:
        made.baseline.rounds[1].emitted[0].gap = gaps[1]
    for lane in (made, made.baseline):
        lane.provenance.target.dtype = dtype
    return made


def compared(made, recheck=None, prompt="one"):
    return Compared(Decoded("speculative", made, prompt, "code"), recheck)


def scores(speculative, plain, best=None):
    return Recheck(1, 7, 8, speculative, plain, max(speculative, plain) if best is None else best)


def test_first_difference():
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 5, 3]) == 1
    assert first_difference([1, 2], [1, 2, 3]) == 2


@pytest.mark.parametrize(
    ("dtype", "gap", "cause"),
    [
        ("bfloat16", 0.25, "near-tie"),
        ("bfloat16", 0.26, "fault"),
        ("float16", 0.2, "fault"),
        ("float32", 0.002, "fault"),
        ("float32", 0.0, "near-tie"),
        ("bfloat16", None, None),
    ],
)
def test_without_a_recheck_the_plain_gap_decides(dtype, gap, cause):
    found = difference(trace((7, 8, 8), dtype, (0.125, gap)))
    assert (found.place, found.speculative, found.plain) == (1, 7, 8)
    assert (found.speculative_gap, found.plain_gap, found.recheck_gap, found.cause) == (0.125, gap, None, cause)


@pytest.mark.parametrize(
    ("recheck", "gap", "cause"),
    [
        (scores(9.0, 9.1), 0.1, "near-tie"),
        (scores(9.1, 9.0), 0.1, "near-tie"),
        (scores(9.0, 9.5), 0.5, "fault"),
        (scores(9.0, 9.1, best=12.0), 3.0, "fault"),  # neither is near the best
    ],
)
def test_a_recheck_decides_over_recorded_gaps(recheck, gap, cause):
    for recorded in (0.0, 5.0):
        found = difference(trace((7, 8, 8), gaps=(recorded, recorded)), recheck)
        assert (found.recheck_gap, found.cause) == (pytest.approx(gap), cause)


def test_a_recheck_that_was_not_possible_leaves_it_to_the_gaps():
    absent = Recheck(1, 7, 8, problem="There is no memory.")
    assert difference(trace((7, 8, 8), gaps=(0.1, 0.1)), absent).cause == "near-tie"
    row = equality_table([compared(trace((7, 8, 8)), absent)]).rows[0]
    assert (row["note"], row["recheck_gap"]) == ("There is no memory.", None)


def test_verdicts():
    assert verdict(compared(trace())) == "same"
    assert verdict(compared(trace((7, 7)))) == "shorter"
    assert verdict(compared(trace((7, 8, 8), gaps=(0.1, 0.1)))) == "near-tie"
    assert verdict(compared(trace((7, 8, 8), gaps=(0.9, 0.9)))) == "fault"
    assert verdict(compared(trace((7, 8, 8), gaps=(None, None)))) == "not comparable"
    assert verdict(compared(trace(temperature=1.0))) == "not comparable"
    typical = trace()
    typical.provenance.rule = "typical"
    assert verdict(compared(typical)) == "not comparable"
    stopped = trace()
    stopped.baseline.finish = "stopped"
    assert verdict(compared(stopped)) == "not comparable"


def test_the_table_and_the_sentence_of_a_set():
    made = [
        compared(trace(), prompt="equal"),
        compared(trace((7, 8, 8), gaps=(0.125, 0.0625)), scores(9.0, 9.0625), prompt="tie"),
        compared(trace((7, 8, 8), gaps=(3.0, 3.0)), prompt="wrong"),
    ]
    table = equality_table(made)
    assert table.values("prompt") == ["equal", "tie", "wrong"]
    assert [v.split(":")[0] for v in table.values("verdict")] == ["the same tokens", "near-tie", "fault"]
    assert table.values("place") == [None, 2, 2]
    tie = table.rows[1]
    assert (tie["speculative"], tie["plain"], tie["tokens"]) == ("' t7'", "' t8'", 3)
    assert (tie["speculative_gap"], tie["plain_gap"], tie["recheck_gap"]) == (0.125, 0.0625, 0.0625)
    assert table.note == "Rounding explains a gap of at most 0.25 in bfloat16."
    sentence = "Of 3 prompts, 1 gave the same greedy tokens as plain decoding, 1 near-tie, 1 fault."
    assert equality_sentence(made) == sentence
    assert equality_sentence([*made, compared(trace((7, 7)))]).endswith(", 1 could not be compared to the end.")
