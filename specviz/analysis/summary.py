"""A run in plain sentences: how it ended, what it gained, whether the lanes agree."""

from specviz.analysis.equality import Difference, difference, first_difference
from specviz.analysis.speed import FEWEST, UNSTEADY, speedup, unsteadiness, why_slower
from specviz.analysis.totals import Totals
from specviz.analysis.words import count
from specviz.trace.methods import RULES
from specviz.trace.schema import Finish, Trace

_ENDS: dict[Finish, str] = {
    "running": "Not finished",
    "budget": "Finished: the token budget is used up",
    "eos": "Finished: the model ended its text",
    "stop": "Finished: a stop string appeared",
    "context": "Finished: the context is full",
    "stopped": "Stopped",
    "failed": "The run failed",
}


def end_sentence(trace: Trace) -> str:
    """What happened in a run, in a few plain sentences."""
    speculative = Totals.of(trace.rounds)
    plain = Totals.of(trace.baseline.rounds) if trace.baseline else None
    counts = f"{count(speculative.emitted, 'token')} in {count(speculative.rounds, 'target pass')}"
    ended = f"{_ENDS[trace.finish]}, after {counts}."
    parts = [ended, trace.failure, _gain(speculative, plain), _doubt(trace), agreement(trace)]
    return " ".join(part for part in parts if part)


def agreement(trace: Trace) -> str | None:
    """Whether both lanes wrote the same ids (they must when greedy); None without two finished lanes.

    Under a rule that is not exact the lanes are not compared: neither equal nor different texts say anything.
    """
    plain = trace.baseline
    if not plain or "running" in (trace.finish, plain.finish) or not trace.output_ids or not plain.output_ids:
        return None
    rule = RULES.get(trace.provenance.rule)  # the rule that ran: none where nothing drafted
    if rule and not rule.exact:
        return f"{rule.title} changes the output, so the lanes are not compared."
    shared = first_difference(trace.output_ids, plain.output_ids)
    if shared is None:
        return "Both lanes wrote the same tokens."
    found = difference(trace)
    if found is None:
        return f"Both lanes wrote the same first {count(shared, 'token')}; one of them went on."
    if not trace.settings.greedy:
        return "The lanes drew different random numbers, so their texts differ; the distribution is the same."
    return f"The lanes differ from token {shared + 1} on{_why(found)}."


def _why(found: Difference) -> str:
    gap, dtype = found.plain_gap, found.dtype
    if gap is None:
        return ""
    apart = f"{gap:.3g} apart" if gap else "exactly equal"
    if found.cause == "near-tie":
        cause = f"a near-tie, which {dtype} rounds differently in passes of different width"
    else:
        cause = f"more than rounding in {dtype} explains, so this is a fault"
    return f", where the two best scores of the plain lane are {apart}: {cause}"


def _doubt(trace: Trace) -> str | None:
    """A warning where other work disturbed the clock, so that no one believes a figure of chance."""
    ratio = unsteadiness(trace.baseline.rounds) if trace.baseline else None
    if ratio is None or ratio < UNSTEADY or len(trace.baseline.output_ids) < FEWEST:
        return None
    return (
        f"The machine was busy with other work (plain steps took {ratio:.2f} times their median on average), so do "
        "not trust the times of this run; the counts stand."
    )


def _gain(speculative: Totals, plain: Totals | None) -> str | None:
    gain = speedup(speculative, plain)
    if gain is None:
        return None
    if gain < 1:
        return why_slower(speculative, plain)
    return f"Measured {gain:.2f} times as fast as plain decoding."
