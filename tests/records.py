"""A small trace by hand: two rounds, every verdict but "not judged"."""

from specviz.trace.schema import (
    Drafted,
    Emitted,
    ModelInfo,
    Piece,
    Prompt,
    Provenance,
    Round,
    Settings,
    Timing,
    Top,
    Trace,
)


def provenance() -> Provenance:
    model = ModelInfo("t", "llama", 10, 2, 97, "float32", "cpu")
    return Provenance(
        "2026-01-01T00:00:00+00:00", "0", "0", "0", "3", "machine", 1, "draft-model", "rejection", model, model
    )


def trace(baseline: bool = False) -> Trace:
    top = Top([2, 3], [0.5, 0.25], 0.25)
    first = Round(
        0, 1,
        [
            Drafted(2, 0.5, 0.5, 1.0, "accepted", 0.9, 1.0, 1.1, top, top, uniform=0.3),
            Drafted(3, 0.1, 0.8, 0.125, "rejected", 0.4, 1.0, 1.1, top, top, uniform=0.9, residual_top=top),
        ],
        [Emitted(2, "accepted", 0.5), Emitted(4, "resampled", 0.2)],
        Timing([0.001, 0.002], 0.01, 0.0005, 0.0001, 0.0002),
    )  # fmt: skip
    second = Round(1, 3, [], [Emitted(5, "plain", 0.5, p_top=top)], Timing([], 0.009, 0.0004, 0.0001))
    pieces = {1: Piece("a"), 2: Piece("=cmd()"), 3: Piece("c"), 4: Piece("<b>"), 5: Piece("</s>", "control")}
    out = Trace(
        Settings(gamma=2, max_new_tokens=3),
        provenance(),
        Prompt([1], "a"),
        pieces,
        [first, second],
        [2, 4, 5],
        "=cmd()<b></s>",
        0.1,
        "budget",
    )
    if baseline:
        lone = Round(0, 1, [], [Emitted(2, "plain", 0.5, p_top=top)], Timing([], 0.009, 0.0004, 0.0001))
        out.baseline = Trace(
            Settings(gamma=2, max_new_tokens=3),
            provenance(),
            Prompt([1], "a"),
            pieces,
            [lone],
            [2],
            "=cmd()",
            0.1,
            "stopped",
        )
    return out
