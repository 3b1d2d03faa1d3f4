"""The charts of one run."""

from typing import Any

from specviz.analysis.acceptance import Rate, acceptance_over_run, acceptance_table, accepted_lengths
from specviz.analysis.speed import costs
from specviz.analysis.tree import drafts_trees, full_draft
from specviz.analysis.words import count
from specviz.charts.lens import exit_lens
from specviz.charts.style import ACCEPTED, BONUS, FAINT, INK, PLAIN, Chart, chart, empty, thin
from specviz.trace.choices import Rule
from specviz.trace.schema import Round, Trace

_NO_DRAFTS = "No drafts in this run so far."
_EXPECTED: dict[Rule, str] = {
    "rejection": "the sum of min(1, p/q) over the judged tokens",
    "greedy-draft": "the sum of p(x) over the judged tokens",
    "match": "the sum of p(x) over the judged tokens",
    "block": "for each round the mean accepted length of block verification, given the drafted tokens",
    "typical": "the number of judged tokens above the threshold",
}


def run_charts(trace: Trace) -> dict[str, Chart]:
    """All charts of a run by name, in the order the page shows them; the lens only where one was recorded."""
    charts = {
        "acceptance": acceptance(trace.rounds, drafts_trees(trace.settings)),
        "accepted_length": accepted_length(trace.rounds),
        "tokens_over_time": tokens_over_time(trace),
        "beta_over_run": beta_over_run(trace),
    }
    return charts | ({"exit_lens": exit_lens(trace)} if trace.lens else {})


def acceptance(rounds: list[Round], trees: bool = False) -> Chart:
    """Acceptance by draft position (in trees by depth): conditional with its interval, unconditional beside it."""
    place = "depth" if trees else "position"
    labels = (f"Acceptance by {place}", f"{place} in the {'tree' if trees else 'round'}", "accepted (%)")
    table = acceptance_table(rounds)
    if table is None:
        return empty(labels, _NO_DRAFTS)
    positions = [row.position for row in table.positions]
    conditional = [row.conditional for row in table.positions]
    unconditional = [row.unconditional for row in table.positions]
    bars = {
        "type": "bar",
        "name": "conditional",
        "x": positions,
        "error_y": _interval(conditional),
        "marker": {"color": ACCEPTED},
        "textposition": "none",  # shown on hover and in the table
        **_rates(conditional, "judged"),
    }
    marks = {
        "type": "scatter",
        "mode": "markers",
        "name": "unconditional",
        "x": positions,
        "marker": {"color": BONUS, "symbol": "diamond", "size": 8},
        **_rates(unconditional, "rounds"),
    }
    ticks = {"tickvals": positions, "ticktext": _ticks(positions, conditional)}
    note = (
        f"Measured. Bars, conditional: accepted / judged at each {place}, with a 95% bootstrap interval over the "
        f"{count(table.draft_rounds, 'round')} with drafts of this run (2,000 resamples). "
        f"Diamonds, unconditional: accepted / rounds with drafts. Naive: {_text(table.naive, 'drafted')}."
    )
    return chart(labels, [bars, marks], note, xaxis=ticks, yaxis={"range": [0, 105]})


def accepted_length(rounds: list[Round]) -> Chart:
    """How many drafts a round accepted: a histogram over the rounds that drafted."""
    labels = ("Accepted length", "drafts accepted in a round", "rounds")
    lengths = accepted_lengths(rounds)
    if lengths is None:
        return empty(labels, _NO_DRAFTS)
    total = sum(lengths)
    bars = {
        "type": "bar",
        "x": list(range(len(lengths))),
        "y": lengths,
        "text": [str(n) if n else "" for n in lengths],
        "marker": {"color": ACCEPTED},
        "textangle": 0,
        "hovertext": [f"{n} of {total} rounds ({n / total:.0%})" for n in lengths],
        "hoverinfo": "text",
    }
    mean = sum(k * n for k, n in enumerate(lengths)) / total
    note = f"Measured: {count(total, 'round')} with drafts; on average {mean:.2f} drafts accepted."
    few = {"dtick": 1} if max(lengths) <= 5 else {}  # no half rounds on the axis
    return chart(labels, [bars], note, xaxis={"dtick": 1}, yaxis=few)


def tokens_over_time(trace: Trace) -> Chart:
    """Tokens written against each lane's own clock, as steps."""
    labels = ("Tokens over time", "decode time (s)", "tokens")
    lanes = [("speculative", trace, ACCEPTED, "solid")]
    if trace.baseline:
        lanes.append(("plain", trace.baseline, PLAIN, "dash"))
    data = [_steps(name, lane.rounds, colour, dash) for name, lane, colour, dash in lanes if lane.rounds]
    if not data:
        return empty(labels, "No token yet.")
    note = "Measured, each lane on its own clock: decoding only, prefill and recording left out."
    return chart(labels, data, f"{note}{_costs(trace)}", cursor="time")


def beta_over_run(trace: Trace) -> Chart:
    """Accepted drafts against the sum of their chances, over the rounds of the run."""
    labels = ("Expected and realised acceptance", "round", "drafts accepted, sum")
    rule = trace.settings.rule
    run = acceptance_over_run(trace.rounds, rule)
    if run is None:
        return empty(labels, _NO_DRAFTS)
    at = thin(len(run.rounds))
    x = [0] + [run.rounds[k] + 1 for k in at]  # the page counts rounds from 1; all sums begin at 0
    low = [0.0] + [round(max(0.0, run.expected[k] - 2 * run.spread[k]), 4) for k in at]
    high = [0.0] + [round(run.expected[k] + 2 * run.spread[k], 4) for k in at]
    expected = [0.0] + [round(run.expected[k], 4) for k in at]
    band = {"fill": "tonexty", "fillcolor": FAINT, "hoverinfo": "skip"}
    data = [
        _line("", x, low, {"width": 0}, showlegend=False, hoverinfo="skip"),
        _line("expected ± 2 sd", x, high, {"width": 0}, **band),
        _line("expected", x, expected, {"color": INK, "dash": "dot", "width": 1.5}),
        _line("accepted", x, [0] + [run.accepted[k] for k in at], {"color": ACCEPTED, "width": 2}),
    ]
    note = (
        f"Expected (exact): {_EXPECTED[rule]}. Accepted (measured): those that passed. The band is two standard "
        "deviations of the luck of the draw."
    )
    certain = "At temperature 0" if trace.settings.greedy else "Under this rule" if rule == "typical" else None
    one = f" {certain} each chance is 0 or 1, so the lines are one." if certain else ""
    return chart(labels, data, note + one, cursor="round")


def _costs(trace: Trace) -> str:
    """c and v(gamma) of this run as a sentence; empty where they were not measured."""
    plain = trace.baseline.rounds if trace.baseline else []
    found = costs(trace.rounds, plain, full_draft(trace.settings))
    if found.c is None or found.v is None:
        return ""
    wide = count(found.width, "draft")
    return f" In plain target steps, measured: a draft step c = {found.c:.2f}, a pass with {wide} v = {found.v:.2f}."


def _rates(rates: list[Rate], whole: str) -> dict[str, Any]:
    """y in percent, and the counts on hover."""
    return {
        "y": [None if r.value is None else round(100 * r.value, 2) for r in rates],
        "text": [_text(r, whole) for r in rates],
        "hoverinfo": "x+text",
    }


def _text(rate: Rate, whole: str) -> str:
    if rate.value is None:
        return f"none {whole}"
    interval = "" if rate.low is None else f" (95% interval {rate.low:.0%} to {rate.high:.0%})"
    return f"{rate.hits} of {rate.of} {whole} = {rate.value:.0%}{interval}"


def _interval(rates: list[Rate]) -> dict[str, Any]:
    """Error bars in percent; no bar where there is no interval."""
    known = [(r.value, r.low, r.high) if r.low is not None else None for r in rates]
    return {
        "type": "data",
        "symmetric": False,
        "array": [k and round(100 * (k[2] - k[0]), 2) for k in known],
        "arrayminus": [k and round(100 * (k[0] - k[1]), 2) for k in known],
        "color": INK,
        "thickness": 1.2,
        "width": 4,
    }


def _ticks(positions: list[int], rates: list[Rate]) -> list[str]:
    """Positions with their counts below, where there is room for them."""
    if len(positions) > 6:
        return [str(i) for i in positions]
    return [f"{i}<br>{r.hits}/{r.of}" for i, r in zip(positions, rates, strict=True)]


def _steps(name: str, rounds: list[Round], colour: str, dash: str) -> dict[str, Any]:
    times, tokens = [0.0], [0]
    for record in rounds:
        times.append(times[-1] + record.timing.total)
        tokens.append(tokens[-1] + len(record.emitted))
    at = thin(len(times))
    line = {"color": colour, "width": 2, "dash": dash, "shape": "hv"}
    hover = f"{name}: %{{y}} tokens after %{{x}} s<extra></extra>"
    return _line(name, [round(times[k], 6) for k in at], [tokens[k] for k in at], line, hovertemplate=hover)


def _line(name: str, x: list[Any], y: list[Any], line: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": line, **more}
