"""A run in plain sentences: how it ended, what it gained, whether the lanes agree."""

from specviz.analysis.speed import FEWEST, UNSTEADY, speedup, unsteadiness, why_slower
from specviz.analysis.totals import Totals
from specviz.analysis.words import count
from specviz.trace.methods import RULES
from specviz.trace.schema import Finish, Trace

# largest gap of the two best scores that rounding explains, by dtype (5 rows against 1: 2.6e-5, 0.11, 0.03 measured)
_NEAR_TIE = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.1}
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
    if shared == min(len(trace.output_ids), len(plain.output_ids)):
        return f"Both lanes wrote the same first {count(shared, 'token')}; one of them went on."
    if not trace.settings.greedy:
        return "The lanes drew different random numbers, so their texts differ; the distribution is the same."
    return f"The lanes differ from token {shared + 1} on{_tie(plain, shared)}."


def first_difference(a: list[int], b: list[int]) -> int | None:
    """Index of the first place where two lists differ (or the end of the shorter); None if they are equal."""
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return None if len(a) == len(b) else min(len(a), len(b))


def _tie(plain: Trace, place: int) -> str:
    emitted = [e for record in plain.rounds for e in record.emitted]
    gap = emitted[place].gap
    if gap is None:
        return ""
    dtype = plain.provenance.target.dtype
    apart = f"{gap:.3g} apart" if gap else "exactly equal"
    if gap <= _NEAR_TIE.get(dtype, _NEAR_TIE["bfloat16"]):
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
