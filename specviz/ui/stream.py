"""The wire between Python and the player: append-only lines of JSON (NDJSON), never rewritten.

Each line is an object with a type `t`:

    run      {"t", "id", "source": "recorded" | "live" | "imported", "lanes": [key, ...],
              "trace": HEAD, "baseline": HEAD | null, "unused": [setting, ...],
              "methods": {key: {"title", "about"}}, "rules": {key: {"title", "about", "used_by", "exact"}}}
             opens a run (`id` is unique, so a new first line means a new run). HEAD is the JSON of a Trace
             without rounds, pieces, baseline and what its TAIL holds. Lane keys: "speculative", "plain". unused:
             settings that the method and the rule of this run do not listen to. methods, rules: what they are called.
    pieces   {"t", "pieces": {id: {"text", "kind"?}}}     new display pieces; sent before their first use
    round    {"t", "lane", "round": ROUND, "end": seconds, "figures"?: FIGURES, "rules"?: [RULE, ...]}
             ROUND is the JSON of trace.schema.Round (null fields left out); `end` is the lane's own clock at
             the end of the round. Speculative rounds carry the figures of the run so far, with the plain lane
             as it stood at the same clock. RULE is the JSON of analysis.rules.RuleRow (numbers to four digits):
             what each rule would make of this draft; only with speculative rounds that drafted a chain.
    charts   {"t", "charts": {name: {"data": [...], "layout": {...}, "note": str}}}     replaces all charts
    end      {"t", "finish", "sentence", "figures": FIGURES, "lanes": {key: TAIL}}
             TAIL: output_ids, output_text, prefill, finish, failure?, lens?, draft_cut? of that lane.

FIGURES maps a figure's name to {"value": text, "kind": "measured" | "exact" | "fitted" | "quoted",
"detail": text, "parts"?: {name: seconds}}; a figure without data has value null and says why in detail.

An export is put together in the browser: HEAD + pieces + rounds + TAIL, the baseline likewise; it equals
the file that the command line writes. Python computes every figure; the browser only draws.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal

from specviz.analysis.rules import RuleRow
from specviz.trace.files import to_plain
from specviz.trace.methods import METHODS, OPTIONAL, RULES, used_settings
from specviz.trace.schema import Piece, Round, Trace

Source = Literal["recorded", "live", "imported"]
Figures = dict[str, dict[str, Any]]
_TAIL = ("output_ids", "output_text", "prefill", "finish", "failure", "lens", "draft_cut")
_BODY = ("rounds", "pieces", "baseline")


def line(kind: str, **fields: Any) -> str:
    """One NDJSON line."""
    return json.dumps({"t": kind, **fields}, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def run_line(trace: Trace, source: Source, run_id: str) -> str:
    """The line that opens a run."""
    lanes = ["speculative"] + (["plain"] if trace.baseline else [])
    baseline = _head(trace.baseline) if trace.baseline else None
    settings = trace.settings
    return line(
        "run",
        id=run_id,
        source=source,
        lanes=lanes,
        trace=_head(trace),
        baseline=baseline,
        unused=sorted(OPTIONAL - used_settings(settings.method, settings.rule, settings)),
        methods={key: _fields(method, "title", "about") for key, method in METHODS.items()},
        rules={key: _fields(rule, "title", "about", "used_by", "exact") for key, rule in RULES.items()},
    )


def pieces_line(pieces: dict[int, Piece]) -> str:
    """Display pieces that the lines after this one use."""
    return line("pieces", pieces={i: to_plain(p) for i, p in pieces.items()})


def round_line(
    lane: str, record: Round, end: float, figures: Figures | None = None, rules: Sequence[RuleRow] = ()
) -> str:
    """One round of a lane; `end` in seconds on the lane's own clock."""
    extra = {"figures": figures} if figures is not None else {}
    if rules:
        extra["rules"] = [_short(asdict(row)) for row in rules]
    return line("round", lane=lane, round=to_plain(record), end=round(end, 6), **extra)


def end_line(trace: Trace, sentence: str, figures: Figures) -> str:
    """The line that closes a run."""
    lanes = {"speculative": _tail(trace)} | ({"plain": _tail(trace.baseline)} if trace.baseline else {})
    return line("end", finish=trace.finish, sentence=sentence, figures=figures, lanes=lanes)


class PieceTracker:
    """Which display pieces of the lanes have been sent."""

    def __init__(self) -> None:
        self._sent: set[int] = set()

    def fresh(self, *traces: Trace | None) -> Iterator[str]:
        """At most one `pieces` line with what these traces hold and the browser does not."""
        new = {i: p for t in traces if t for i, p in t.pieces.items() if i not in self._sent}
        if new:
            self._sent |= new.keys()
            yield pieces_line(new)


def _head(trace: Trace) -> dict[str, Any]:
    return to_plain(trace, leave_out=(*_TAIL, *_BODY))


def _tail(trace: Trace) -> dict[str, Any]:
    plain = to_plain(trace, leave_out=_BODY)
    return {name: plain[name] for name in _TAIL if name in plain}


def _fields(info: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(info, name) for name in names}


def _short(value: Any) -> Any:
    """Numbers to four digits, wherever they stand."""
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
