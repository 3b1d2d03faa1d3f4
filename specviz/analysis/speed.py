"""Speed: decode time per token of the lanes, costs of a step, and why speculation pays or does not."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specviz.analysis.totals import Totals, ratio
from specviz.analysis.words import duration
from specviz.trace.schema import Round

UNSTEADY = 1.15  # above this the times of a run are not to be trusted
RESAMPLES, _SEED = 1000, 20221130
FEWEST = 8  # tokens of each lane below which no speedup is given


@dataclass(frozen=True, slots=True)
class Costs:
    """Times over that of one plain target step, measured in this run (Leviathan et al. 2023, section 3.3).

    c: mean draft step. v: mean target pass that checks `width` drafts at once. None where not measured.
    """

    c: float | None
    v: float | None
    width: int


def speedup(speculative: Totals, plain: Totals | None) -> float | None:
    """Plain seconds per token / speculative seconds per token; below 1 means slower.

    None unless both lanes have written FEWEST tokens: the time of one or two steps says nothing of a rate.
    """
    if not plain or min(plain.emitted, speculative.emitted) < FEWEST:
        return None
    if not plain.seconds_per_token or not speculative.seconds_per_token:
        return None
    return plain.seconds_per_token / speculative.seconds_per_token


def speedup_interval(speculative: Sequence[Round], plain: Sequence[Round]) -> tuple[float, float] | None:
    """95% bootstrap interval of the speedup over the rounds of both lanes of one run; None with too few tokens.

    It covers the luck of the drafts and the scatter of the clock within the run, not other runs or prompts.
    """
    if speedup(Totals.of(speculative), Totals.of(plain)) is None:
        return None
    draws = np.random.default_rng(_SEED)
    fast, slow = (_resampled_pace(rounds, draws) for rounds in (speculative, plain))
    low, high = np.quantile(slow / fast, [0.025, 0.975])
    return float(low), float(high)


def _resampled_pace(rounds: Sequence[Round], draws: np.random.Generator) -> np.ndarray:
    """Seconds per token of RESAMPLES draws of the rounds with replacement, [RESAMPLES]."""
    seconds = np.array([r.timing.total for r in rounds])
    tokens = np.array([len(r.emitted) for r in rounds])
    counts = draws.multinomial(len(rounds), np.full(len(rounds), 1 / len(rounds)), size=RESAMPLES)
    return (counts @ seconds) / (counts @ tokens)


def unsteadiness(plain: Sequence[Round]) -> float | None:
    """Mean over median of the plain steps: near 1 on a quiet machine, more where other work got in the way."""
    steps = [r.timing.total for r in plain]
    middle = float(np.median(steps)) if steps else 0.0
    return float(np.mean(steps)) / middle if middle else None


def costs(speculative: Sequence[Round], plain: Sequence[Round], gamma: int) -> Costs:
    """c and v(gamma). v takes the rounds that drafted exactly gamma tokens."""
    step = ratio(sum(r.timing.verify for r in plain), len(plain))
    drafts = [seconds for r in speculative for seconds in r.timing.draft]
    wide = [r.timing.verify for r in speculative if len(r.drafted) == gamma]
    if not step:
        return Costs(None, None, gamma)
    draft, verify = ratio(sum(drafts), len(drafts)), ratio(sum(wide), len(wide))
    return Costs(draft and draft / step, verify and verify / step, gamma)


def time_split(totals: Totals) -> dict[str, float] | None:
    """Seconds of the lane's clock by phase, in the order they run; None before the first round."""
    if not totals.seconds:
        return None
    return {
        "draft": totals.draft,
        "verify": totals.verify,
        "sampling": totals.sampling,
        "other": totals.other,
    }


def percents(parts: dict[str, float]) -> dict[str, int]:
    """Whole percentages that add up to 100 (largest remainder)."""
    whole = sum(parts.values())
    exact = {name: 100 * part / whole for name, part in parts.items()}
    floors = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(parts, key=lambda name: floors[name] - exact[name])
    for name in by_remainder[: 100 - sum(floors.values())]:
        floors[name] += 1
    return floors


def break_even(speculative: Totals, plain: Totals | None) -> float | None:
    """Tokens a round must yield to cost no more than plain decoding: round time / plain time per token."""
    if not plain or not plain.seconds_per_token or not speculative.rounds:
        return None
    return speculative.seconds / speculative.rounds / plain.seconds_per_token


def why_slower(speculative: Totals, plain: Totals | None) -> str | None:
    """One sentence on why speculation lost, from the measured split; None if it did not lose."""
    gain = speedup(speculative, plain)
    if gain is None or gain >= 1 or plain is None:
        return None
    return f"Slower than plain decoding: {_cause(speculative, plain)}. {_arithmetic(speculative, plain)}"


def _cause(speculative: Totals, plain: Totals) -> str:
    if not speculative.draft_rounds:
        return "nothing was drafted, so each pass yields one token, as in plain decoding"
    most = 1 + speculative.deepest / speculative.rounds  # tokens per pass if every draft had been accepted
    if most <= (break_even(speculative, plain) or 0):
        return "the drafts cost more than they could save even if every one were accepted"
    return f"too few drafts are accepted ({speculative.accepted} of at most {speculative.deepest})"


def _arithmetic(speculative: Totals, plain: Totals) -> str:
    rounds = speculative.rounds
    steps = speculative.draft_steps / rounds
    draft = f"{steps:.1f} draft steps take {duration(speculative.draft / rounds)}, " if steps else ""
    rest = duration((speculative.sampling + speculative.other) / rounds)
    verify = duration(speculative.verify / rounds)
    return (
        f"Per round, {draft}the target pass {verify} and the rest {rest}; a plain token "
        f"takes {duration(plain.seconds_per_token or 0)}. A round must yield "
        f"{break_even(speculative, plain):.2f} tokens to break even and yields "
        f"{speculative.tokens_per_pass:.2f}."
    )
