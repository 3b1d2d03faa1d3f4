"""Acceptance: by position, by round and over the run. Definitions in the words of the trace schema."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specviz.analysis.totals import ratio
from specviz.trace.schema import Round

RESAMPLES = 2000
LEVEL = 0.95
_SEED = 20230613  # any fixed number: the same run always shows the same interval


@dataclass(frozen=True, slots=True)
class Rate:
    """hits out of `of`, with the ends of a 95% bootstrap interval over the rounds of one run.

    low, high: None with fewer than two rounds, where resampling says nothing.
    """

    hits: int
    of: int
    low: float | None = None
    high: float | None = None

    @property
    def value(self) -> float | None:
        """hits / of in [0, 1]; None, never 0, where nothing was counted."""
        return ratio(self.hits, self.of)


@dataclass(frozen=True, slots=True)
class PositionRates:
    """Acceptance at one draft position, 1 for the first token of a round.

    conditional: accepted at i / judged at i (the hazard; its misses are the rejections at i).
    unconditional: accepted at i / rounds with drafts, as vLLM and llama.cpp report it.
    """

    position: int
    conditional: Rate
    unconditional: Rate


@dataclass(frozen=True, slots=True)
class AcceptanceTable:
    """Acceptance of one run. naive: all accepted / all drafted, rejected tails included."""

    draft_rounds: int
    positions: list[PositionRates]
    conditional: Rate
    naive: Rate


@dataclass(frozen=True, slots=True)
class RunningAcceptance:
    """Expected against realised acceptance after each round with drafts; all lists have one entry a round.

    expected: sum of min(1, p/q) over judged tokens. accepted: tokens accepted. spread: standard deviation of
    accepted - expected, the root of the sum of a(1 - a): the difference is a martingale, each judged token
    being a coin of known bias a = min(1, p/q).
    """

    rounds: list[int]
    expected: list[float]
    accepted: list[int]
    spread: list[float]


def acceptance_table(rounds: Sequence[Round]) -> AcceptanceTable | None:
    """Rates by position and overall, or None if no round has drafts."""
    patterns, counts = _patterns(rounds)
    if not counts.size:
        return None
    accepted, judged, drafted = patterns.T
    places = np.arange(1, drafted.max() + 1)[:, None]
    hits, tried = accepted >= places, judged >= places  # (positions, patterns)
    draws = _resample(counts)
    every = np.ones_like(counts)
    rows = [
        PositionRates(int(i), _rate(hits[k], tried[k], counts, draws), _rate(hits[k], every, counts, draws))
        for k, i in enumerate(places[:, 0])
    ]
    return AcceptanceTable(
        int(counts.sum()),
        rows,
        _rate(accepted, judged, counts, draws),
        _rate(accepted, drafted, counts, draws),
    )


def accepted_lengths(rounds: Sequence[Round]) -> list[int] | None:
    """How many rounds accepted 0, 1, 2, ... drafts; only rounds with drafts count. None if there are none."""
    lengths = [(r.accepted, len(r.drafted)) for r in rounds if r.drafted]
    if not lengths:
        return None
    widest = max(drafted for _, drafted in lengths)
    return np.bincount([accepted for accepted, _ in lengths], minlength=widest + 1).tolist()


def acceptance_over_run(rounds: Sequence[Round]) -> RunningAcceptance | None:
    """Running sums of expected and realised acceptance. None if no token was judged."""
    drafting = [r for r in rounds if r.judged]
    if not drafting:
        return None
    chances = [[d.accept_prob for d in r.drafted[: r.judged]] for r in drafting]
    variance = np.cumsum([sum(a * (1 - a) for a in row) for row in chances])
    return RunningAcceptance(
        [r.index for r in drafting],
        np.cumsum([sum(row) for row in chances]).tolist(),
        np.cumsum([r.accepted for r in drafting]).tolist(),
        np.sqrt(variance).tolist(),
    )


def _patterns(rounds: Sequence[Round]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct (accepted, judged, drafted) of the rounds with drafts, shape (k, 3), and their counts.

    Rates depend on a round through these three numbers only, so resampling rounds is resampling the counts
    of at most a few dozen patterns: exact, and as fast for 4,000 rounds as for 40.
    """
    rows = [(r.accepted, r.judged, len(r.drafted)) for r in rounds if r.drafted]
    if not rows:
        return np.empty((0, 3), int), np.empty(0, int)
    return np.unique(np.array(rows), axis=0, return_counts=True)


def _resample(counts: np.ndarray) -> np.ndarray:
    """Bootstrap counts of the patterns, shape (RESAMPLES, patterns): rounds drawn with replacement."""
    total = int(counts.sum())
    return np.random.default_rng(_SEED).multinomial(total, counts / total, size=RESAMPLES)


def _rate(hits: np.ndarray, tried: np.ndarray, counts: np.ndarray, draws: np.ndarray) -> Rate:
    """The rate of `hits` in `tried` (both per pattern, any numbers) and its percentile interval."""
    rate = Rate(int(counts @ hits), int(counts @ tried))
    if counts.sum() < 2 or not rate.of:
        return rate
    above, below = draws @ hits, draws @ tried
    valid = below > 0  # a resample that never reached this position says nothing of it
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(above[valid] / below[valid], [tail, 1 - tail])
    return Rate(rate.hits, rate.of, float(low), float(high))
