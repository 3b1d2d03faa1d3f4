"""Figures that only some ways to draft have: the exit lens, copies of prompt lookup, shared tokens."""

from contextlib import suppress

from specviz.analysis.figures import Figures, figure
from specviz.analysis.words import count
from specviz.trace.choices import Settings
from specviz.trace.errors import SpecvizError
from specviz.trace.methods import METHODS
from specviz.trace.schema import Exit, Trace
from specviz.trace.settings import exit_layer

_BEST = 3  # exits that are named beside the one that drafted


def way_figures(trace: Trace) -> Figures:
    """The figures of this run's own way to draft; empty for most runs."""
    found = {"exit_lens": _lens(trace), "copied": _copied(trace), "kept": _kept(trace)}
    return {name: figure for name, figure in found.items() if figure}


def used_exit(trace: Trace) -> int | None:
    """Layers that drafted in this run; None if another method did, or if the target has no such exit."""
    if trace.settings.method == "early-exit":
        with suppress(SpecvizError):
            return exit_layer(trace.settings.exit_layer, trace.provenance.target.layers)
    return None


def used_row(trace: Trace) -> Exit | None:
    """The row of the lens that this run drafted with."""
    used = used_exit(trace)
    return next((row for row in trace.lens or [] if row.layers == used), None)


def lens_reading(settings: Settings) -> str:
    """Under what the lens took p and q: as the run did, or at temperature 1 where the run is greedy."""
    how = "at temperature 1 without filters, as the run is greedy" if settings.greedy else "processed as in the run"
    penalties = (settings.repetition_penalty - 1, settings.presence_penalty, settings.frequency_penalty)
    return f"p and q {how}{', penalties left out' if any(penalties) else ''}"


def _lens(trace: Trace) -> dict[str, str | None] | None:
    if not trace.lens:
        return None
    used, layers = used_row(trace), trace.provenance.target.layers
    value = used and f"{used.layers} of {layers} layers: beta {used.beta:.2f}, same arg max {used.agree:.0%}"
    best = sorted(trace.lens, key=lambda row: (-row.beta, row.layers))[:_BEST]
    rows = ", ".join(f"{count(row.layers, 'layer')} {row.beta:.2f}" for row in best)
    places = count(trace.lens[0].positions, "position")
    return figure(value, "measured", f"largest beta: {rows}; over {places}, {lens_reading(trace.settings)}")


def _copied(trace: Trace) -> dict[str, str | None] | None:
    method = METHODS.get(trace.provenance.method)
    if method is None or "ngram_max" not in method.uses:
        return None
    if not trace.rounds:
        return figure(None, "measured", "no round yet")
    copies = [r for r in trace.rounds if r.copied and r.drafted]
    share = f"{len(copies)}/{len(trace.rounds)} · {len(copies) / len(trace.rounds):.0%}"
    tokens, accepted = sum(len(r.drafted) for r in copies), sum(r.accepted for r in copies)
    stood = f"; of {count(tokens, 'copied token')} {accepted} accepted" if copies else ""
    return figure(share, "measured", f"rounds that drafted a copy / rounds{stood}")


def _kept(trace: Trace) -> dict[str, str | None] | None:
    kept = [d.kept for r in trace.rounds for d in r.drafted if d.kept is not None]
    if not kept:
        return None
    mean = f"{sum(kept) / len(kept):.2f}"
    return figure(mean, "exact", f"mean over {count(len(kept), 'drafted token')}, least {min(kept):.2f}")
