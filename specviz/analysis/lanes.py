"""Lanes side by side: one row for each pair, method and rule that decoded the same prompts, and the whole report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from specviz.analysis.costs import fit_costs
from specviz.analysis.groups import grouped
from specviz.analysis.hazard import acceptance_by_prompt
from specviz.analysis.pace import Pace, Speed, plain_rounds_of, rounds_of, speed_of, speed_over, whole
from specviz.analysis.speed import costs
from specviz.analysis.tables import Column, Report, Row, Table
from specviz.analysis.terms import terms_table
from specviz.analysis.totals import Totals, ratio
from specviz.analysis.tree import drafts_trees
from specviz.analysis.verdicts import (
    OTHER_DRAWS,
    apart,
    busy,
    cause_of,
    count_same,
    doubts,
    is_slower,
    same_text,
    slower_because,
    targets,
    text_sentence,
    uneven,
    verdict,
)
from specviz.analysis.waterfall import waterfall_table
from specviz.analysis.words import count
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded, Reference
from specviz.trace.methods import METHODS, RULES
from specviz.trace.schema import Trace

COLUMNS = [
    Column("lane", "Lane"),
    Column("method", "Method"),
    Column("rule", "Rule"),
    Column("gamma", "Gamma", "count", "exact", "tokens drafted per round, as set; in a tree its depth"),
    Column("dtype", "Dtype"),
    Column(
        "speedup", "Speedup", "times", "measured",
        "plain decode time per token / this lane's, prompts pooled, median of the repeats; with its 95% interval",
        "speedup_low", "speedup_high",
    ),
    Column("verdict", "Verdict"),
    Column("prompts", "Prompts", "count", "measured", "prompts that this lane has decoded"),
    Column("slowest", "Slowest repeat", "times", "measured", "the smallest speedup of a repeat"),
    Column("quickest", "Quickest repeat", "times", "measured", "the largest speedup of a repeat"),
    Column("tokens_per_pass", "Tokens per pass", "number", "measured", "tokens written / target passes"),
    Column(
        "hazard_1", "Accepted first", "percent", "measured",
        "first drafted tokens accepted / judged; with its 95% interval", "hazard_1_low", "hazard_1_high",
    ),
    Column("c", "c", "number", "measured", "mean time of a draft step / of a plain target pass"),
    Column("memory", "Memory", "bytes", "measured", "most bytes of weights and key-value buffers held by one decode"),
    Column(
        "same_texts", "Same texts", "count", "measured",
        "of the texts compared, prompts whose ids equal plain's in every repeat, as far as both go",
    ),
    Column("texts_compared", "Texts compared", "count", "measured", "prompts whose ids were compared with plain's"),
    Column("texts", "Text against plain"),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Lane:
    """The decodes of one lane, what they say of acceptance, its speedup, why it is below 1, and its `same_text`."""

    name: str
    decodes: list[Decoded]
    acceptance: Table
    speed: Speed
    why: str
    texts: Row


def lane_report(
    decodes: Sequence[Decoded], references: Sequence[Reference] = (), failed: Mapping[str, str] | None = None
) -> Report:
    """The lanes, then for each what it says of acceptance, its terms, its costs and where its speedup goes.

    The table "lanes" has a row for each, in the order in which they appear, then one for each reference, which has only
    a speed: over the plain decode of the same prompt and repeat, of the first lane `beside` it that has one, timed as
    the reference is, without its first round. Everything follows from the decodes alone, wherever it is shown. Tables
    of a kind share their key (`Report.keyed` tells them apart); costs need drafts and a plain lane.
    failed: label of a lane that dropped out -> why.
    """
    lanes, outside = _lanes(decodes), grouped(references, lambda reference: reference.lane)
    sentences = [sentence for lane in lanes for sentence in _sentences(lane)]
    by_name = {lane.name: lane.decodes for lane in lanes}
    sentences += [f"{label} dropped out: {why}" for label, why in (failed or {}).items()]
    sentences += [*uneven(by_name, outside), *targets(by_name), *apart(by_name), *busy(by_name.values())]
    tables = [_table(lanes, outside)]
    for lane in lanes:
        about = [lane.acceptance, terms_table(lane.decodes), *_cost_tables(lane)]
        tables += [replace(table, title=f"{table.title}: {lane.name}") for table in about]
    sources = [lane.decodes[0].trace.provenance for lane in lanes]
    return Report(f"Comparison of {count(len(lanes), 'lane')}", sentences, tables, sources)


def _lanes(decodes: Sequence[Decoded]) -> list[_Lane]:
    return [
        _Lane(name, group, acceptance_by_prompt(group), speed_of(group), slower_because(whole(group)), same_text(group))
        for name, group in grouped(decodes, lambda decode: decode.lane).items()
    ]


def _table(lanes: Sequence[_Lane], outside: Mapping[str, Sequence[Reference]]) -> Table:
    rows = [_row(lane) for lane in lanes]
    plain = _PlainTraces(lanes)
    rows += [_reference_row(name, group, plain) for name, group in outside.items()]
    return Table("lanes", "Lanes", COLUMNS, rows, _note(lanes, bool(outside)))


def _row(lane: _Lane) -> Row:
    trace = lane.decodes[0].trace
    rule = RULES.get(trace.provenance.rule)
    first = lane.acceptance.rows[0] if lane.acceptance.rows else {}
    rounds, measured = rounds_of(lane.decodes), whole(lane.decodes)
    held = [d.memory for d in lane.decodes if d.memory is not None]
    return {
        "lane": lane.name,
        "method": _method(trace),
        "rule": rule.title if rule else None,
        "gamma": trace.settings.gamma,
        "dtype": trace.provenance.target.dtype,
        **_speed_cells(lane.speed),
        "verdict": verdict(lane.speed, cause_of(lane.why)),
        "prompts": len({d.prompt for d in lane.decodes}),
        "tokens_per_pass": ratio(sum(len(r.emitted) for r in rounds), len(rounds)),
        **{f"hazard_1{end}": first.get(f"hazard{end}") for end in ("", "_low", "_high")},
        "c": costs(rounds_of(measured), plain_rounds_of(measured), trace.settings.gamma).c,
        "memory": max(held, default=None),
        **lane.texts,
    }


def _method(trace: Trace) -> str:
    method = METHODS.get(trace.provenance.method)
    if method is None:
        return "Plain decoding" if trace.provenance.method == "plain" else trace.provenance.method
    settings = trace.settings
    if drafts_trees(settings):
        return f"{method.title}, tree {' '.join(map(str, settings.tree))}"
    if settings.draft_length == "confidence":
        return f"{method.title}, stops below {settings.confidence:g}"
    return f"{method.title}, heuristic length" if settings.draft_length == "heuristic" else method.title


def _speed_cells(speed: Speed) -> Row:
    return {
        "speedup": speed.value,
        "speedup_low": speed.low,
        "speedup_high": speed.high,
        "slowest": speed.least,
        "quickest": speed.most,
    }


class _PlainTraces:
    """The plain decode of each prompt and repeat, by the lane that ran beside it."""

    def __init__(self, lanes: Sequence[_Lane]) -> None:
        self._found: dict[tuple[str, int], dict[str, Trace]] = {}
        for decode in (decode for lane in lanes for decode in lane.decodes):
            if decode.trace.baseline and decode.trace.baseline.rounds:
                beside = self._found.setdefault((decode.prompt, decode.repeat), {})
                beside[decode.lane] = decode.trace.baseline

    def beside(self, reference: Reference) -> Trace | None:
        """That of the first lane beside the reference; of the first lane at all if it names none."""
        found = self._found.get((reference.prompt, reference.repeat), {})
        return next((trace for lane, trace in found.items() if not reference.beside or lane in reference.beside), None)


def _reference_row(name: str, references: Sequence[Reference], plain: _PlainTraces) -> Row:
    paired = [(r, trace) for r in references if (trace := plain.beside(r))]
    paces = [
        Pace(
            r.prompt,
            r.repeat,
            Totals(emitted=len(r.output_ids) - r.first, other=r.seconds),
            Totals.of(trace.rounds[1:]),
        )
        for r, trace in paired
    ]
    speed = speed_over(paces)
    greedy = all(trace.settings.greedy for _, trace in paired)
    texts = count_same((r.prompt, r.output_ids, trace.output_ids) for r, trace in paired)
    return {
        "lane": name,
        "method": "reference",
        **_speed_cells(speed),
        "verdict": verdict(speed),
        "prompts": len({r.prompt for r in references}),
        **(texts if greedy else {"texts": OTHER_DRAWS}),
    }


def _sentences(lane: _Lane) -> list[str]:
    stands = [f"{lane.name}: {verdict(lane.speed, cause_of(lane.why))}"]
    if is_slower(lane.speed) and lane.why:
        stands.append(lane.why.partition(". ")[2])
    said = " ".join(filter(None, [*stands, text_sentence(lane.texts)]))
    return [said, *doubts(lane.name, lane.decodes, lane.texts)]


def _cost_tables(lane: _Lane) -> list[Table]:
    measured = whole(lane.decodes)
    if lane.speed.value is None or not lane.acceptance.rows:
        return []
    try:
        return [fit_costs(measured).table, waterfall_table(measured)]
    except SpecvizError:
        return []  # what they need is not in this lane; the other tables say what it is


def _note(lanes: Sequence[_Lane], references: bool) -> str:
    if not lanes:
        return "Nothing was decoded."
    prompts = len({d.prompt for lane in lanes for d in lane.decodes})
    repeats = len({d.repeat for lane in lanes for d in lane.decodes})
    parts = [f"{count(prompts, 'prompt')}, {count(repeats, 'repeat')}; decoding only, prefill apart."]
    if any(lane.speed.over == "prompts" for lane in lanes):
        parts.append("Intervals of the speedup are over prompts, and cover other prompts of their kinds.")
    single = [lane.name for lane in lanes if lane.speed.over == "rounds"]
    if single:
        who = "" if len(single) == len(lanes) else f" of {', '.join(single)}"
        parts.append(f"The interval{who} is over the rounds of its one prompt and says nothing of other prompts.")
    if references:
        parts.append(
            "References are timed from their first token on, and compared with plain decoding timed alike; their "
            "first round is in no figure."
        )
    return " ".join(parts)
