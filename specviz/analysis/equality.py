"""Greedy decoding must write the plain lane's ids: where two lanes first differ, and whether rounding explains it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from specviz.analysis.tables import Column, Table
from specviz.analysis.words import count
from specviz.trace.checked import Compared, Recheck
from specviz.trace.methods import RULES
from specviz.trace.schema import Piece, Trace

# largest gap of two scores that rounding explains, by dtype (5 rows against 1: 2.6e-5, 0.11, 0.03 measured)
NEAR_TIE = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.1}
Cause = Literal["near-tie", "fault"]
Verdict = Literal["same", "near-tie", "fault", "shorter", "not comparable"]

_SAID: dict[Verdict, str] = {
    "same": "the same tokens",
    "near-tie": "near-tie: rounding decides which of two equally good tokens is taken",
    "fault": "fault: more than rounding explains",
    "shorter": "the same tokens until one lane ended",
    "not comparable": "not comparable",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two lanes wrote different ids, counted from 0.

    Gaps are of the two best scores there (logits after penalties) in either lane, as recorded. recheck_gap: in
    float32, between the best score of all and the worse of the two ids' scores. cause: None if no gap is known.
    """

    place: int
    speculative: int
    plain: int
    speculative_gap: float | None
    plain_gap: float | None
    recheck_gap: float | None
    dtype: str
    cause: Cause | None


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first place where two lists differ (or the end of the shorter); None if they are equal."""
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return None if len(a) == len(b) else min(len(a), len(b))


def largest_tie(dtype: str) -> float:
    """The largest gap of two scores that rounding in `dtype` explains."""
    return NEAR_TIE.get(dtype, NEAR_TIE["bfloat16"])


def difference(trace: Trace, recheck: Recheck | None = None) -> Difference | None:
    """Where the lanes of a trace first differ and why; None if neither id differs as far as both lanes go.

    With the scores of a recheck these decide: the ids are a near-tie if in float32 neither is further from the best
    than rounding in the lanes' dtype explains. Without them the plain lane's gap decides.
    """
    plain = trace.baseline
    place = first_difference(trace.output_ids, plain.output_ids) if plain else None
    if place is None or place == min(len(trace.output_ids), len(plain.output_ids)):
        return None
    gaps = [_gap(lane, place) for lane in (trace, plain)]
    checked, dtype = _recheck_gap(recheck), plain.provenance.target.dtype
    deciding = gaps[1] if checked is None else checked
    cause: Cause | None = None
    if deciding is not None:
        cause = "near-tie" if deciding <= largest_tie(dtype) else "fault"
    return Difference(place, trace.output_ids[place], plain.output_ids[place], *gaps, checked, dtype, cause)


def verdict(compared: Compared) -> Verdict:
    """What a comparison of two greedy lanes came to."""
    trace = compared.decoded.trace
    rule = RULES.get(trace.provenance.rule)
    if not trace.baseline or not trace.settings.greedy or (rule and not rule.exact) or _broke_off(trace):
        return "not comparable"
    found = difference(trace, compared.recheck)
    if found is None:
        return "same" if trace.output_ids == trace.baseline.output_ids else "shorter"
    return found.cause or "not comparable"


def equality_table(comparisons: Sequence[Compared]) -> Table:
    """One row a prompt: the same tokens, or the first difference with what explains it."""
    dtypes = sorted({c.decoded.trace.provenance.target.dtype for c in comparisons})
    limits = " and ".join(f"{largest_tie(dtype):g} in {dtype}" for dtype in dtypes)
    columns = [
        Column("prompt", "Prompt"),
        Column("kind", "Kind"),
        Column("verdict", "Verdict"),
        Column("tokens", "Tokens", "count", "measured", "tokens that the speculative lane wrote"),
        Column("place", "First difference", "count", "measured", "number of the first token that differs, from 1"),
        Column("speculative", "Speculative token"),
        Column("plain", "Plain token"),
        Column("speculative_gap", "Gap, speculative", "number", "measured",
               "difference of the two best scores (logits after penalties) there in the speculative lane"),
        Column("plain_gap", "Gap, plain", "number", "measured", "the same in the plain lane"),
        Column("recheck_gap", "Gap in float32", "number", "measured",
               "the whole prefix computed again in float32: best score of all less the worse of the two tokens'"),
        Column("dtype", "Dtype"),
        Column("note", "Note"),
    ]  # fmt: skip
    note = f"Rounding explains a gap of at most {limits}." if dtypes else ""
    return Table("equality", "Greedy text against plain decoding", columns, [_row(c) for c in comparisons], note)


def equality_sentence(comparisons: Sequence[Compared]) -> str:
    """How many prompts gave the same tokens, near-ties and faults."""
    found = [verdict(c) for c in comparisons]
    same, ties, faults = (found.count(name) for name in ("same", "near-tie", "fault"))
    said = f"Of {count(len(found), 'prompt')}, {same} gave the same greedy tokens as plain decoding"
    other = len(found) - same - ties - faults
    parts = [said, f"{count(ties, 'near-tie')}", f"{count(faults, 'fault')}"]
    return ", ".join(parts) + (f", {other} could not be compared to the end." if other else ".")


def token_text(piece: Piece) -> str:
    """One token as a label: quoted text with what cannot be seen escaped, hex pairs of a part of a character."""
    if piece.kind == "bytes":
        return f"<{piece.text}>"
    return piece.text if piece.kind == "control" else repr(piece.text)


def _row(compared: Compared) -> dict[str, str | int | float | None]:
    decoded, recheck = compared.decoded, compared.recheck
    trace, found = decoded.trace, difference(decoded.trace, recheck)
    row = {
        "prompt": decoded.prompt,
        "kind": decoded.kind,
        "verdict": _SAID[verdict(compared)],
        "tokens": len(trace.output_ids),
        "dtype": trace.provenance.target.dtype,
        "note": _note(trace, recheck),
    }
    if found is None:
        return row
    return row | {
        "place": found.place + 1,
        "speculative": token_text(trace.pieces[found.speculative]),
        "plain": token_text(trace.baseline.pieces[found.plain]),
        "speculative_gap": found.speculative_gap,
        "plain_gap": found.plain_gap,
        "recheck_gap": found.recheck_gap,
    }


def _note(trace: Trace, recheck: Recheck | None) -> str:
    rule = RULES.get(trace.provenance.rule)
    changes = f"{rule.title} changes the output." if rule and not rule.exact else None
    failures = [lane.failure for lane in (trace, trace.baseline) if lane]
    return " ".join(filter(None, [changes, *failures, recheck and recheck.problem]))


def _broke_off(trace: Trace) -> bool:
    return any(lane.finish in ("running", "stopped", "failed") for lane in (trace, trace.baseline))


def _gap(lane: Trace, place: int) -> float | None:
    return [token.gap for record in lane.rounds for token in record.emitted][place]


def _recheck_gap(recheck: Recheck | None) -> float | None:
    if recheck is None or recheck.best_score is None:
        return None
    return recheck.best_score - min(recheck.speculative_score, recheck.plain_score)
