"""Acceptance: by position, by round and over the run. Definitions in the words of the trace schema."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specviz.analysis.rules import survival
from specviz.analysis.totals import ratio
from specviz.analysis.tree import drafted_depth, tried_first
from specviz.trace.choices import Rule
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
    """Acceptance at one draft position, 1 for the first token of a round; in a tree the position is the depth.

    conditional: accepted at i / judged at i (the hazard; its misses are the rounds that ended at i). A depth is
    judged if any of its nodes was tried, and accepted if one of them was.
    unconditional: accepted at i / rounds with drafts, as vLLM and llama.cpp report it.
    """

    position: int
    conditional: Rate
    unconditional: Rate


@dataclass(frozen=True, slots=True)
class AcceptanceTable:
    """Acceptance of one run. naive: all accepted / all drafted, rejected tails and all nodes of trees included."""

    draft_rounds: int
    positions: list[PositionRates]
    conditional: Rate
    naive: Rate


@dataclass(frozen=True, slots=True)
class RunningAcceptance:
    """Expected against realised acceptance after each round with drafts; all lists have one entry a round.

    expected: sum of the acceptance probabilities of all judged tokens. accepted: tokens accepted. spread: standard
    deviation of accepted - expected, the root of the sum of a(1 - a): the difference is a martingale, each judged
    token being a coin of known bias a. Block verification judges a round as a whole, so there each round adds the
    mean and the variance of its accepted length.
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
    accepted, judged, deepest, drafted = patterns.T
    places = np.arange(1, deepest.max() + 1)[:, None]
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
    drafting = [r for r in rounds if r.drafted]
    if not drafting:
        return None
    most = max(map(drafted_depth, drafting))
    return np.bincount([r.accepted for r in drafting], minlength=most + 1).tolist()


def acceptance_over_run(rounds: Sequence[Round], rule: Rule = "rejection") -> RunningAcceptance | None:
    """Running sums of expected and realised acceptance under the rule of the run. None if no token was judged."""
    drafting = [r for r in rounds if r.judged]
    if not drafting:
        return None
    moments = np.array([_of_block(r) if rule == "block" else _of_coins(r) for r in drafting])
    expected, variance = moments.cumsum(axis=0).T
    accepted = np.cumsum([r.accepted for r in drafting])
    return RunningAcceptance(
        [r.index for r in drafting], expected.tolist(), accepted.tolist(), np.sqrt(variance).tolist()
    )


def _of_coins(record: Round) -> tuple[float, float]:
    """Mean and variance of the accepted tokens, judged token by judged token."""
    chances = [d.accept_prob for d in record.drafted if d.verdict in ("accepted", "rejected")]
    return sum(chances), sum(a * (1 - a) for a in chances)


def _of_block(record: Round) -> tuple[float, float]:
    """Mean and variance of the accepted tokens of a whole block, given its tokens.

    A round whose last token is an accepted draft is the end of the output: no more could stand, so no more is
    expected. What cannot be known is an end further on: where the block stopped before it, the text that would have
    ended the output was not written, and the chance to stand beyond it is counted though it could not.
    """
    ended = [token.origin for token in record.emitted[-1:]] == ["accepted"]
    most = record.accepted if ended else len(record.drafted)
    reach = survival([d.accept_prob for d in record.drafted])[:most]
    mean = sum(reach)
    return mean, sum((2 * i + 1) * chance for i, chance in enumerate(reach)) - mean**2


def _patterns(rounds: Sequence[Round]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct (accepted, judged, deepest, drafted) of the rounds with drafts, shape (k, 4), and their counts.

    accepted, judged and deepest are depths, drafted counts tokens. Rates depend on a round through these numbers
    only, so resampling rounds is resampling the counts of at most a few dozen patterns: exact, and as fast for
    4,000 rounds as for 40.
    """
    rows = [(r.accepted, len(tried_first(r)), drafted_depth(r), len(r.drafted)) for r in rounds if r.drafted]
    if not rows:
        return np.empty((0, 4), int), np.empty(0, int)
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
