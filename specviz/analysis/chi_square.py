"""Pearson's chi-square test of counts against known chances, and the noise that sampling alone leaves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

LEAST_EXPECTED = 5.0  # cells that expect fewer draws are pooled (Cochran 1954)


@dataclass(frozen=True, slots=True)
class Fit:
    """How counts agree with chances.

    chi_square, df, p_value: None with fewer than two cells to compare. A draw of no chance makes p_value 0.
    total_variation: half the sum of |frequency - chance|, in [0, 1]. noise: what it is on average if the chances are
    right.
    """

    chi_square: float | None
    df: int | None
    p_value: float | None
    total_variation: float
    noise: float


def fit(counts: Sequence[int], chances: Sequence[float], outside: int = 0) -> Fit | None:
    """Compare counts by cell with its chances, which sum to 1. outside: draws in no cell. None without a draw."""
    draws = sum(counts) + outside
    if not draws:
        return None
    observed, chance = np.asarray(counts, dtype=float), np.asarray(chances, dtype=float)
    apart = (float(np.abs(observed / draws - chance).sum()) + outside / draws) / 2
    noise = _noise(tuple(chances), draws)
    observed, expected = _pooled(observed, chance * draws)
    if len(expected) < 2:
        return Fit(None, None, 0.0 if outside else None, apart, noise)
    statistic, df = float(((observed - expected) ** 2 / expected).sum()), len(expected) - 1
    return Fit(statistic, df, 0.0 if outside else chi_square_tail(statistic, df), apart, noise)


def chi_square_tail(statistic: float, df: int) -> float:
    """Chance that a chi-square variable with `df` degrees of freedom exceeds `statistic`.

    The finite sums for whole degrees of freedom (Abramowitz and Stegun 1964, 26.4.4 and 26.4.5); all terms are
    positive, so nothing cancels.
    """
    half = statistic / 2
    if half <= 0:
        return 1.0
    odd = df % 2
    powers = [k + 0.5 * odd for k in range(df // 2)]  # of `half`: odd df begin with 1/2
    tail = math.erfc(math.sqrt(half)) if odd else 0.0
    tail += math.fsum(math.exp(k * math.log(half) - half - math.lgamma(k + 1)) for k in powers)
    return min(1.0, tail)


def _pooled(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells that expect too few draws as one; if that one expects too few as well, it joins the smallest other."""
    common = expected >= LEAST_EXPECTED
    o, e = observed[common], expected[common]
    rest_o, rest_e = observed[~common].sum(), expected[~common].sum()
    if rest_e >= LEAST_EXPECTED or not e.size:
        return np.append(o, rest_o), np.append(e, rest_e)
    smallest = int(e.argmin())
    o[smallest], e[smallest] = o[smallest] + rest_o, e[smallest] + rest_e
    return o, e


@lru_cache(maxsize=1024)
def _noise(chances: tuple[float, ...], draws: int) -> float:
    """Expected total variation of `draws` draws from `chances`: half the sum of the cells' mean absolute deviations."""
    return sum(_mean_deviation(draws, chance) for chance in chances) / (2 * draws)


def _mean_deviation(draws: int, chance: float) -> float:
    """E|X - np| of a binomial X (De Moivre 1730; Diaconis and Zabell 1991, eq. 1.1)."""
    if not 0 < chance < 1:
        return 0.0
    m = min(math.floor(draws * chance) + 1, draws)
    ways = math.lgamma(draws + 1) - math.lgamma(m + 1) - math.lgamma(draws - m + 1)
    return 2 * m * math.exp(ways + m * math.log(chance) + (draws - m + 1) * math.log1p(-chance))
