"""Charts of a check hold what its tables hold, nothing else; texts of models cannot become markup."""

from dataclasses import replace

from made import provenance

from specviz.analysis.lossless import lossless_report
from specviz.charts.lossless import bars, lossless_charts
from specviz.trace.checked import Place, Tally
from specviz.trace.schema import Piece, Settings

WIDE = 20  # continuations, more than the bars show
CHANCES = tuple((n + 1) / 210 for n in range(WIDE))
PIECES = {n: Piece(f"<b>{n}</b>&") for n in range(WIDE)}
PLACE = Place(tuple((n,) for n in range(WIDE)), CHANCES, 1, Settings(2, temperature=1.0), PIECES, provenance())


def tally(rule, draws):
    counts = [0] * WIDE
    for n in range(draws):
        counts[n * n % WIDE] += 1
    return Tally(rule, draws, tuple(counts))


REPORT = lossless_report(PLACE, [tally(rule, n) for n in (100, 400) for rule in ("rejection", "soft-q")])


def test_every_number_is_in_a_table():
    charts = lossless_charts(REPORT)
    assert list(charts) == ["total_variation", "chi_square", "lossless", "lossless-2"]
    assert [len(charts[name]["data"][0]["x"]) for name in ("lossless", "lossless-2")] == [16, 8]
    assert [name for name, c in charts.items() if c["layout"].get("meta", {}).get("small")] == ["lossless-2"]
    growth = REPORT.table("growth")
    known = {value for row in growth.rows for value in row.values()}
    for name, lines in (("total_variation", 3), ("chi_square", 2)):
        data = charts[name]["data"]
        assert len(data) == lines
        for line in data:
            assert line["x"] == [100, 400]
            assert set(line["y"]) <= known
    assert [line["name"] for line in charts["total_variation"]["data"]] == [
        "luck alone", "Rejection sampling", "Greedy draft, soft q",
    ]  # fmt: skip


def test_bars_show_the_likeliest_and_say_what_is_left():
    table = REPORT.table("lossless")
    chart = bars(table)
    exact, drawn = chart["data"]
    assert exact["y"] == [100 * value for value in table.values("exact")[:16]]
    assert drawn["y"] == [100 * value for value in table.values("frequency")[:16]]
    assert "The table has 4 more continuations." in chart["note"]
    assert chart["layout"]["xaxis"]["ticktext"][0] == "'&lt;b&gt;19&lt;/b&gt;&amp;'"


def test_labels_that_differ_in_their_spaces_can_be_told_apart():
    texts = ["'0' + '\\n    '", "'0' + '\\n  '", "'return value' + '\\n        '", "'return value' + '\\n    '"]
    table = REPORT.table("lossless")
    rows = [row | {"text": text} for row, text in zip(table.rows, texts, strict=False)]
    assert bars(replace(table, rows=rows))["layout"]["xaxis"]["ticktext"] == [
        "'0' + '\\n····'", "'0' + '\\n··'", "'return val…'\\n········'", "'return val…' + '\\n····'",
    ]  # fmt: skip


def test_nothing_drawn_says_so():
    assert lossless_charts(lossless_report(PLACE, [])) == {}
    few = lossless_charts(lossless_report(PLACE, [tally("rejection", 3)]))
    assert few["chi_square"]["note"] == "Too few draws to compare."
    assert few["chi_square"]["data"] == []
