"""One run in everybody's terms, against values worked out by hand."""

import pytest
from made import made_round, made_trace
from measured import synthetic

from specviz.analysis.terms import terms_table
from specviz.trace.measured import Decoded


def rows(marks: list[str], **settings) -> dict[str, dict]:
    """Rows of the table of one decode with these verdicts, by name."""
    trace = made_trace([made_round(i, m, beta=0.6) for i, m in enumerate(marks)], **settings)
    return {row["name"]: row for row in terms_table([Decoded("draft", trace, "a")]).rows}


def test_every_term_by_hand():
    """Two rounds of 3 drafts, one cut to 1 by a limit, one without: 4 of 6 judged and 7 drafted; 8 tokens, 4 passes."""
    found = rows(["yyn", "yn.", "y", ""], gamma=3)
    value = {name: row["value"] for name, row in found.items()}
    assert value["acceptance (conditional)"] == pytest.approx(4 / 6)
    assert value["alpha"] is None
    assert found["alpha"]["exact"] == pytest.approx(0.6)
    assert value["block efficiency tau, tokens per target pass"] == 8 / 4
    assert found["block efficiency tau, tokens per target pass"]["exact"] == pytest.approx(1 + 0.6 + 0.36 + 0.216)
    assert value["mean acceptance length"] == pytest.approx(1 + 4 / 3)  # the pass without a draft is not in it
    assert value["draft acceptance rate"] == pytest.approx(4 / 7)
    per_position = [value[f"per-position acceptance rate, position {i}"] for i in (1, 2, 3)]
    assert per_position == pytest.approx([3 / 3, 1 / 3, 0])
    assert value["accept length"] == 8 / 4
    assert value["accept rate"] == value["accept"] == value["alpha (naive)"] == pytest.approx(4 / 7)
    assert (found["accept"]["part"], found["accept"]["whole"]) == (4, 7)
    assert value["expected tokens per pass"] == pytest.approx(1 + 3 * 4 / 7)


def test_one_run_reads_differently_in_terms_that_sound_alike():
    found = {row["name"]: row for row in terms_table(synthetic([0.8], 6, prompts=6, seed=2)).rows}
    assert found["acceptance (conditional)"]["value"] == pytest.approx(0.8, abs=0.05)
    assert found["draft acceptance rate"]["value"] < 0.6
    assert found["per-position acceptance rate, position 6"]["value"] < 0.4


def test_without_drafts_every_share_is_none():
    found = rows(["", ""], gamma=2)
    assert found["draft acceptance rate"]["value"] is None
    assert found["mean acceptance length"]["value"] is None
    assert found["alpha"]["exact"] is None
    assert found["accept length"]["value"] == 1
    assert [row["value"] for row in terms_table([]).rows] == [None] * 10


@pytest.mark.parametrize("settings", [{"draft_length": "confidence"}, {"tree": (2, 1)}, {"gamma": 0}])
def test_formulas_of_gamma_need_a_gamma_that_holds(settings):
    found = rows(["yn", "yy"], **{"gamma": 2, **settings})
    assert found["expected tokens per pass"]["value"] is None
    assert found["block efficiency tau, tokens per target pass"]["exact"] is None


def test_every_row_says_what_it_is_and_what_it_hides():
    for row in terms_table(synthetic([0.8], 2, prompts=2)).rows:
        assert row["used_by"]
        assert row["definition"]
        assert row["leaves_out"]
