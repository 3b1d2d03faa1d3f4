"""The wire lines of a finished trace, with figures and charts that are counted here."""

import traces

from specviz.trace import schema
from specviz.ui import stream


def figures(rounds: list[schema.Round], plain_time: float | None, spec_time: float) -> stream.Figures:
    """Figures of the run so far, counted here as the analysis would."""
    drafted = sum(len(r.drafted) for r in rounds)
    judged, accepted = sum(r.judged for r in rounds), sum(r.accepted for r in rounds)
    emitted = sum(len(r.emitted) for r in rounds)
    none = {"value": None, "kind": "exact", "detail": "no drafts yet"}
    speedup = {"value": None, "kind": "measured", "detail": "no plain lane"}
    if plain_time is not None:
        speedup = {
            "value": f"{plain_time / (spec_time / emitted):.2f}x",
            "kind": "measured",
            "detail": f"{emitted} tokens",
        }
    alpha = sum(d.beta for r in rounds for d in r.drafted) / drafted if drafted else 0
    judged_text = f"{accepted} of {judged} judged, {drafted} drafted"
    parts = {
        "draft": sum(sum(r.timing.draft) for r in rounds),
        "verify": sum(r.timing.verify for r in rounds),
        "sampling": sum(r.timing.sampling for r in rounds),
        "other": sum(r.timing.other for r in rounds),
    }
    return {
        "speedup": speedup,
        "tokens_per_pass": exact(f"{emitted / len(rounds):.2f}", f"{emitted} tokens in {len(rounds)} passes"),
        "acceptance": exact(f"{accepted / judged:.0%}", judged_text) if judged else none,
        "alpha": exact(f"{alpha:.2f}", f"{drafted} positions") if drafted else none,
        "time_split": {
            "value": f"{spec_time:.2f} s",
            "kind": "measured",
            "detail": f"{len(rounds)} rounds",
            "parts": parts,
        },
    }


def exact(value: str, detail: str) -> dict:
    return {"value": value, "kind": "exact", "detail": detail}


def charts_line(trace: schema.Trace) -> str:
    ends = clock(trace)
    tokens, total = [], 0
    for record in trace.rounds:
        total += len(record.emitted)
        tokens.append(total)
    betas = [d.beta for r in trace.rounds for d in r.drafted][:120]
    step = max(1, len(ends) // 400)
    over_time = {
        "data": [
            {
                "type": "scatter",
                "x": ends[::step],
                "y": tokens[::step],
                "name": "speculative",
                "line": {"color": "var(--sv-accepted)"},
            }
        ],
        "layout": {
            "meta": {"cursor": "time"},
            "xaxis": {"title": {"text": "seconds"}},
            "yaxis": {"title": {"text": "tokens"}},
        },
        "note": "Both lanes.",
    }
    bars = {
        "type": "bar",
        "x": list(range(1, len(betas) + 1)),
        "y": betas,
        "text": ["<img src=x>"] * len(betas),
        "marker": {"color": "var(--sv-bonus)"},
    }
    beta = {"data": [bars], "layout": {"meta": {"cursor": "round"}}, "note": ""}
    return stream.line("charts", charts={"tokens_over_time": over_time, "beta_over_run": beta})


def clock(trace: schema.Trace) -> list[float]:
    ends, now = [], 0.0
    for record in trace.rounds:
        now += record.timing.total
        ends.append(round(now, 6))
    return ends


def lines(trace: schema.Trace, source: stream.Source = "recorded", run_id: str = "run-1") -> list[str]:
    """The wire lines of a finished trace, both lanes in the order of their clocks."""
    tracker, plain = stream.PieceTracker(), trace.baseline
    out = [stream.run_line(trace, source, run_id), *tracker.fresh(trace, plain)]
    rows = [(end, 1, "speculative", r) for end, r in zip(clock(trace), trace.rounds, strict=True)]
    rows += [(end, 0, "plain", r) for end, r in zip(clock(plain), plain.rounds, strict=True)] if plain else []
    done, last = 0, None
    for end, _, key, record in sorted(rows, key=lambda row: row[:2]):
        if key == "plain":
            out.append(stream.round_line(key, record, end))
            continue
        done += 1
        last = (
            figures(trace.rounds[:done], traces.PLAIN + traces.SAMPLING + traces.OTHER if plain else None, end)
            if done < 300
            else last
        )
        out.append(stream.round_line(key, record, end, last))
    sentence = f"Finished: {len(trace.output_ids)} tokens in {len(trace.rounds)} rounds."
    return [*out, charts_line(trace), stream.end_line(trace, sentence, last or {})]
