"""Every figure says its kind, and no chart holds a number that is not in a trace or in an analysis table.

Allowed in charts beside the tables' own numbers: the same in percent, rounded to 2, 4 or 6 digits; the distance from
a value to an end of its interval; running sums over a trace's rounds; on x axes whole places 0, 1, 2, ...; and shapes
across the whole paper and at 1, the speedup of plain decoding over itself.
"""

import json
import re
from dataclasses import fields, is_dataclass, replace
from itertools import accumulate

import pytest
from made import made_round, made_trace, plain_rounds, race_trace
from measured import synthetic

from specviz.analysis.acceptance import Rate, acceptance_over_run, acceptance_table, accepted_lengths
from specviz.analysis.advice import sweep_report
from specviz.analysis.doctor_report import doctor_report
from specviz.analysis.figures import trace_figures
from specviz.analysis.lanes import lane_report
from specviz.analysis.lossless import lossless_report
from specviz.analysis.tables import Report, Table, cell_text
from specviz.charts.lanes import lane_charts
from specviz.charts.lossless import lossless_charts
from specviz.charts.run import run_charts
from specviz.trace.checked import Compared, Place, Recheck, Tally
from specviz.trace.files import load_trace
from specviz.trace.findings import Finding, Number
from specviz.trace.measured import Decoded
from specviz.trace.schema import Piece
from specviz.ui.board_writer import shown_report
from specviz.ui.examples import TRACES
from specviz.ui.tuning import tune_charts

KINDS = {"measured", "exact", "fitted", "quoted"}
NUMBER = re.compile(r"\d+(?:[ ,]\d{3})*(?:\.\d+)?(?:e-?\d+)?")
LEVEL = {"95"}  # the level of every interval, which texts name
RUNS = sorted(TRACES.glob("*.json.gz"))


class Known:
    """The numbers that a chart may hold: those of traces, analysis records and tables, as they are or derived."""

    def __init__(self, *sources) -> None:
        self.numbers: set[float] = set()
        self.distances: set[float] = set()
        self.words: set[str] = set(LEVEL)
        self.longest = 0
        for source in sources:
            self._take(source)

    def holds(self, number: float) -> bool:
        return number in self.numbers

    def _take(self, source) -> None:
        if isinstance(source, Table):
            self._take_table(source)
        elif isinstance(source, bool | str) or source is None:
            self.words |= set(NUMBER.findall(source)) if isinstance(source, str) else set()
        elif isinstance(source, int | float):
            self._add(source)
        elif is_dataclass(source):
            if isinstance(source, Rate):
                self._take_interval(source.value, source.low, source.high)
            for field in fields(source):
                self._take(getattr(source, field.name))
        elif isinstance(source, dict):
            self._take(list(source.values()))
        else:
            self.longest = max(self.longest, len(source))
            for inner in source:
                self._take(inner)

    def _take_table(self, table: Table) -> None:
        self.longest = max(self.longest, len(table.rows))
        self._take(table.note)
        for row in table.rows:
            for column in table.columns:
                self._take(cell_text(column, row))
                self._take_interval(row.get(column.key), row.get(column.low or ""), row.get(column.high or ""))

    def _take_interval(self, value, low, high) -> None:
        for number in (value, low, high):
            if isinstance(number, int | float):
                self._add(number)
        if low is not None and high is not None:
            for part in (1, 100):
                ends = (part * (high - value), part * (value - low))
                self.distances |= {*ends, *(round(end, digits) for end in ends for digits in (2, 4))}

    def _add(self, number: float) -> None:
        for same in (number, 100 * number):
            self.numbers |= {same, *(round(same, digits) for digits in (2, 4, 6))}
        self.words |= {f"{number:.0%}".rstrip("%"), f"{number:.2f}", str(number)}


def strays(chart, known: Known) -> list:
    """What stands in a chart and is not known: in its data, on its axes, and in what is drawn over it."""
    found = [stray for trace in chart["data"] for stray in _strays_of(trace, known, ())]
    layout = chart["layout"]
    for name in [key for key in layout if re.fullmatch(r"[xy]axis\d*", key)]:
        ticks = {key: layout[name][key] for key in ("tickvals", "ticktext") if key in layout[name]}
        found += _strays_of({name[0]: ticks}, known, ())
    over = [*layout.get("shapes", []), *layout.get("annotations", [])]
    return found + [stray for drawn in over for stray in _over(drawn, known)]


def _over(drawn, known: Known) -> list:
    """What is not known of where a line or a text is drawn, and of the text."""
    found = []
    for key, value in drawn.items():
        if key in ("x", "y", "x0", "x1", "y0", "y1"):
            paper = drawn.get(f"{key[0]}ref") == "paper" and 0 <= value <= 1
            plain = key[0] == "y" and value == 1
            found += [] if paper or plain or known.holds(value) else [(key, value)]
    return found + _strays_of({"text": [drawn["text"]] if "text" in drawn else []}, known, ())


def _strays_of(value, known: Known, where: tuple) -> list:
    if isinstance(value, dict):
        return [stray for key, inner in value.items() for stray in _strays_of(inner, known, (*where, key))]
    if not isinstance(value, list | tuple):
        return []  # a size, an angle, a colour: style, not data
    return [(*where, item) for item in value if not _is_known(item, known, where)]


def _is_known(item, known: Known, where: tuple) -> bool:
    if item is None or isinstance(item, bool):
        return True
    if isinstance(item, str):
        return set(NUMBER.findall(item)) <= known.words
    if where[0].startswith("error"):
        return item in known.distances
    place = where[0] == "x" and isinstance(item, int) and 0 <= item <= known.longest + 1
    return place or known.holds(item)


def known_of_run(trace) -> Known:
    """Numbers of a trace: its analysis records, the running sums of its clocks and tokens, and the lens."""
    sums = []
    for lane in filter(None, (trace, trace.baseline)):
        sums.append([round(second, 6) for second in accumulate(r.timing.total for r in lane.rounds)])
        sums.append(list(accumulate(len(r.emitted) for r in lane.rounds)))
    run = acceptance_over_run(trace.rounds, trace.settings.rule)
    # the band is two standard deviations of the luck of the draw
    band = [max(0.0, e + k * s) for k in (-2, 2) for e, s in zip(run.expected, run.spread, strict=True)] if run else []
    lengths = accepted_lengths(trace.rounds)
    shares = [n / sum(lengths) for n in lengths] if lengths else []
    whole = [0, sum(lengths or [])]  # sums begin at 0
    known = Known(acceptance_table(trace.rounds), run, lengths, shares, sums, band, trace.lens, whole)
    known.longest = max(known.longest, len(trace.rounds))
    layers = trace.provenance.target.layers
    known.numbers |= set(range(layers + 1)) if trace.lens else set()  # how many layers draft is a setting
    return known


def sampled_place() -> tuple[Place, list[Tally]]:
    cells, chances = ((1,), (2,), (3,)), (0.5, 0.3, 0.2)
    trace = race_trace(2)
    place = Place(cells, chances, 1, trace.settings, {i: Piece(f"t{i}") for i in (1, 2, 3)}, trace.provenance)
    draws = [(500, (240, 160, 100)), (1000, (507, 296, 197))]
    wrong = [(500, (300, 120, 80)), (1000, (610, 236, 154))]
    tallies = [Tally("rejection", n, counts) for n, counts in draws]
    return place, tallies + [Tally("no-residual", n, counts) for n, counts in wrong]


def reports() -> dict[str, tuple[Report, dict]]:
    """Every kind of report that a board shows, with its charts."""
    lanes = [
        *synthetic([0.8, 0.6], 3, prompts=3, rounds=12, repeats=2, noise=0.1, lane="1 a", memory=10**9),
        *synthetic([0.3], 2, prompts=3, rounds=12, draft=0.02, lane="2 b", temperature=1.0),
    ]
    by_gamma = {g: synthetic([0.8, 0.6], g, prompts=3, rounds=12, wider=0.001, noise=0.05) for g in (2, 4)}
    compared, tuned = lane_report(lanes), sweep_report(by_gamma, by_gamma[4], gammas=range(1, 6))
    checked, texts = lossless_report(*sampled_place()), lossless_report(None, [], compared_texts())
    return {
        "compare": (compared, lane_charts(compared)),
        "tune": (tuned, tune_charts(tuned)),
        "losslessness": (checked, lossless_charts(checked)),
        "equality": (texts, lossless_charts(texts)),
        "doctor": (doctor_report(findings(), "target", "draft"), {}),
    }


def compared_texts() -> list[Compared]:
    """A prompt with the same greedy text, and one with another token that float32 looked at again."""
    same, other = (made_trace([made_round(0, "yy")], plain_rounds(3, 1.0)) for _ in range(2))
    same.baseline.output_ids, other.baseline.output_ids = list(same.output_ids), [7, 8, 8]
    same.rounds[0].emitted[1].gap = other.rounds[0].emitted[1].gap = other.baseline.rounds[1].emitted[0].gap = 0.5
    decoded = [Decoded("lane", trace, name, "code") for name, trace in (("a", same), ("b", other))]
    return [Compared(decoded[0], None), Compared(decoded[1], Recheck(1, 7, 8, 9.0, 9.1, 9.1))]


def findings() -> list[Finding]:
    """Numbers in bytes and in counts, and a verdict."""
    held = (Number("weights", "of the target", 2048.0, 2000.0), Number("caches", "of both", 1024.0))
    return [
        Finding("memory", "note", "Needs 3 KB.", "", held, "bytes"),
        Finding("size", "ok", "Small.", "", (Number("parameters", "of the target", 100.0),), "count"),
        Finding("verdict", "ok", "Fits."),
    ]


REPORTS = reports()
CHARTED = ["compare", "tune", "losslessness"]


@pytest.mark.parametrize("path", RUNS, ids=[path.name for path in RUNS])
def test_every_figure_of_the_playground_has_a_kind_and_every_number_of_its_charts_is_in_the_run(path):
    trace = load_trace(path)
    for name, figure in trace_figures(trace).items():
        assert figure["kind"] in KINDS, name
    known = known_of_run(trace)
    for name, chart in run_charts(trace).items():
        assert strays(chart, known) == [], name


def unexplained(report: Report) -> list[str]:
    """Columns of a board that show numbers without a kind or a definition."""
    found = []
    for shown, table in zip(shown_report(report)["tables"], report.tables, strict=True):
        for place, column in enumerate(shown["columns"]):
            values = [row.get(table.columns[place].key) for row in table.rows]
            if column["kind"] is None:  # the first column names the rows, perhaps by their places
                named = (str, bool, int) if place == 0 else (str, bool)
                explained = all(v is None or isinstance(v, named) for v in values)
            else:
                explained = column["kind"] in KINDS and bool(column["about"])
            found += [] if explained else [f"{table.key}.{column['key']}"]
    return found


@pytest.mark.parametrize("name", REPORTS)
def test_every_number_of_a_board_has_a_kind_and_a_definition(name):
    assert unexplained(REPORTS[name][0]) == []


@pytest.mark.parametrize("name", REPORTS)
def test_a_column_of_numbers_without_a_kind_or_a_definition_is_found(name):
    report, _ = REPORTS[name]
    tried = 0
    for table in report.tables:
        for place, column in enumerate(table.columns):
            held = any(type(row.get(column.key)) in (int, float) for row in table.rows)
            if place == 0 or column.kind is None or not held:
                continue
            for change in ({"kind": None, "format": "text"}, {"about": ""}, {"kind": "guessed"}):
                bare = replace(column, **change)
                columns = [*table.columns[:place], bare, *table.columns[place + 1 :]]
                slipped = replace(report, tables=[replace(table, columns=columns)])
                assert unexplained(slipped) == [f"{table.key}.{column.key}"]
                tried += 1
    assert tried


@pytest.mark.parametrize("name", CHARTED)
def test_no_chart_of_a_board_holds_a_number_that_is_not_in_its_tables(name):
    report, charts = REPORTS[name]
    known = Known(*report.tables)
    assert charts
    for key, chart in charts.items():
        assert any(trace["y"] for trace in chart["data"]), key
        assert strays(chart, known) == [], key


@pytest.mark.parametrize("name", CHARTED)
@pytest.mark.parametrize(
    ("place", "literal"),
    [
        ("shapes", {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1.2345, "y1": 1}),
        ("shapes", {"type": "line", "yref": "paper", "x0": 61.7, "x1": 61.7, "y0": 0, "y1": 1}),
        ("annotations", {"text": "61.7 times", "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}),
        ("annotations", {"text": "here", "x": 61.7, "y": 0.5, "yref": "paper"}),
        ("xaxis", {"tickvals": [61.7]}),
        ("xaxis", {"ticktext": ["61.7"]}),
        ("yaxis", {"tickvals": [61.7], "ticktext": ["some"]}),
    ],
)
def test_a_number_that_slips_in_beside_the_data_of_a_chart_is_found(name, place, literal):
    report, charts = REPORTS[name]
    known = Known(*report.tables)
    for chart in charts.values():
        before = chart["layout"].get(place, {} if place.endswith("axis") else [])
        slipped = before | literal if isinstance(before, dict) else [*before, literal]
        assert strays({**chart, "layout": {**chart["layout"], place: slipped}}, known), literal


@pytest.mark.parametrize("name", CHARTED)
def test_a_number_that_slips_into_a_chart_is_found(name):
    report, charts = REPORTS[name]
    known = Known(*report.tables)
    for chart in charts.values():
        for key, literal in (("y", 1.2345), ("text", "about 61.7 times"), ("error_y", {"array": [0.777]})):
            slipped = json.loads(json.dumps(chart))
            data = slipped["data"][0]
            data[key] = [literal] if isinstance(data.get(key), list) or isinstance(literal, str | float) else literal
            assert strays(slipped, known), key


def test_a_number_that_slips_into_a_chart_of_a_run_is_found():
    trace = load_trace(RUNS[0])
    known, charts = known_of_run(trace), run_charts(trace)
    charts["tokens_over_time"]["data"][0]["x"][3] += 0.0001
    charts["acceptance"]["data"][0]["y"][0] += 0.5
    charts["acceptance"]["data"][0]["error_y"]["array"][0] = 3.21
    assert len(strays(charts["tokens_over_time"], known)) == 1
    assert len(strays(charts["acceptance"], known)) == 2
