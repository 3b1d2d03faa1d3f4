"""The figures strip: short texts with their kind and counts, as the player shows them."""

from typing import Any

from specviz.analysis.speed import FEWEST, percents, speedup, speedup_interval, time_split
from specviz.analysis.totals import Totals
from specviz.analysis.tree import drafts_trees, full_draft
from specviz.analysis.words import count, duration
from specviz.trace.schema import Trace

Figures = dict[str, dict[str, Any]]


def run_figures(trace: Trace, speculative: Totals, plain: Totals | None) -> Figures:
    """All figures of a run from the sums of its lanes. Cost does not depend on the length of the run."""
    return {
        "speedup": _speedup(speculative, plain),
        "tokens_per_pass": _tokens_per_pass(speculative),
        "acceptance": _acceptance(trace, speculative),
        "alpha": _alpha(trace, speculative),
        "time_split": _time_split(speculative),
    }


def trace_figures(trace: Trace) -> Figures:
    """The figures of a whole trace."""
    plain = Totals.of(trace.baseline.rounds) if trace.baseline else None
    figures = run_figures(trace, Totals.of(trace.rounds), plain)
    interval = speedup_interval(trace.rounds, trace.baseline.rounds) if trace.baseline else None
    if interval:
        gain = figures["speedup"]
        gain["detail"] = f"95% interval over rounds {interval[0]:.2f} to {interval[1]:.2f}; {gain['detail']}"
    return figures


def figure(value: str | None, kind: str, detail: str, **more: Any) -> dict[str, Any]:
    """A figure as the player and the terminal show it; kind: measured, exact, fitted or quoted."""
    return {"value": value, "kind": kind, "detail": detail, **more}


def _speedup(speculative: Totals, plain: Totals | None) -> dict[str, Any]:
    gain = speedup(speculative, plain)
    if gain is None or plain is None:
        few = f"fewer than {FEWEST} tokens in a lane: too few to compare"
        return figure(None, "measured", few if plain else "no plain lane ran beside this run")
    lanes = (("plain", plain), ("speculative", speculative))
    parts = [f"{name} {duration(t.seconds_per_token or 0)} a token over {count(t.emitted, 'token')}"
             for name, t in lanes]  # fmt: skip
    lengths = "" if plain.emitted == speculative.emitted else "; the lengths differ, so compare per token"
    return figure(f"{gain:.2f}×", "measured", f"{'; '.join(parts)}{lengths}; decoding only, prefill apart")


def _tokens_per_pass(speculative: Totals) -> dict[str, Any]:
    value = speculative.tokens_per_pass
    if value is None:
        return figure(None, "measured", "no target pass yet")
    passes = count(speculative.rounds, "target pass")
    return figure(f"{value:.2f}", "measured", f"{count(speculative.emitted, 'token')} / {passes}")


def _acceptance(trace: Trace, speculative: Totals) -> dict[str, Any]:
    if not speculative.judged:
        return figure(None, "measured", _no_drafts(trace))
    hits, of, drafted = speculative.accepted, speculative.judged, speculative.drafted
    unit, whole = ("depths", "nodes drafted") if drafts_trees(trace.settings) else ("tokens", "drafted")
    detail = (
        f"accepted / judged {unit}; {hits}/{drafted} = {hits / drafted:.0%} of all {whole}; "
        f"{count(speculative.draft_rounds, 'round')} with drafts"
    )
    return figure(f"{hits}/{of} · {hits / of:.0%}", "measured", detail)


def _alpha(trace: Trace, speculative: Totals) -> dict[str, Any]:
    alpha = speculative.alpha
    if alpha is None:
        return figure(None, "exact", _no_drafts(trace))
    greedy = "; at temperature 0 each is 0 or 1" if trace.settings.greedy else ""
    first = ", the first try at each" if drafts_trees(trace.settings) else ""
    places = count(speculative.judged, "judged place") + first
    return figure(f"{alpha:.2f}", "exact", f"mean of beta = Σ min(p, q) over {places}{greedy}")


def _time_split(speculative: Totals) -> dict[str, Any]:
    parts = time_split(speculative)
    if parts is None:
        return figure(None, "measured", "no round yet")
    shares = {name: share for name, share in percents(parts).items() if share}
    value = " · ".join(f"{name} {share}%" for name, share in shares.items())
    detail = (
        f"of {duration(speculative.seconds)} decoding; recording took another "
        f"{duration(speculative.recording)}, off the clock"
    )
    return figure(value, "measured", detail, parts={name: round(s, 6) for name, s in parts.items()})


def _no_drafts(trace: Trace) -> str:
    """Why there is no acceptance to show."""
    if full_draft(trace.settings) == 0:
        return "no drafts: this run is plain decoding"
    return "no drafts yet" if trace.finish == "running" else "no drafts in this run"
