"""95% intervals over prompts: a prompt, with all its tokens and repeats, is one draw; what it holds is not independent.

A bootstrap over a dozen prompts covers the truth in 92% of measurements instead of 95% (five prompts: 84%), because it
neither corrects its variance for the number of prompts nor knows that a variance from few prompts is uncertain. So the
variance here is a cluster-robust one (of a share the linearised one of a ratio: Cochran 1977, Sampling Techniques,
sections 6.3 and 9A.2), and the quantile is Student's t with one degree of freedom fewer than prompts.
"""

from functools import cache
from math import cos, exp, pi, sin, sqrt, tan

import numpy as np

from specviz.analysis.acceptance import LEVEL

# the variance over prompts is at least this part of that of independent tokens: two prompts may agree by luck
_LEAST_EFFECT = 0.25


def share_interval(sums: np.ndarray, of: np.ndarray, squares: np.ndarray | None = None) -> np.ndarray:
    """Ends of the interval of sum(sums) / sum(of), a mean of values in [0, 1], from one entry a prompt, [..., prompts].

    squares: sums of the squared values; left out where values are hits (0 or 1). Wilson's interval of the effective
    number of counts, p(1 - p) / variance (Franco, Little, Louis and Slud 2019, J. Survey Statistics and Methodology
    7(3)): it stays in [0, 1] and means something at 0 and 1 too, where it takes the counts as independent. Returns
    [2, ...], NaN where fewer than two prompts have counts.
    """
    squares = sums if squares is None else squares
    total = of.sum(-1)
    prompts = (of > 0).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = sums.sum(-1) / total
        between = ((sums - p[..., None] * of) ** 2).sum(-1) * prompts / (prompts - 1) / total**2
        independent = (squares.sum(-1) / total - p**2) / total
        variance = np.maximum(between, _LEAST_EFFECT * independent)
        share = p * (1 - p)
        inverse = np.where(share > 0, variance / share, 1 / total)  # 1 / effective number of counts
    t = _quantiles(prompts)
    slack = t**2 * inverse
    middle = (p + slack / 2) / (1 + slack)
    half = np.sqrt(slack * np.maximum(share, 0) + slack**2 / 4) / (1 + slack)
    return np.clip(np.stack([middle - half, middle + half]), 0.0, 1.0)


def speedup_interval(times: np.ndarray) -> tuple[float, float] | None:
    """Factors by which the true speedup may lie below and above the measured one; None with fewer than two prompts.

    times: per prompt plain seconds, plain tokens, lane seconds, lane tokens, [prompts, 4]; all above 0. The variance of
    the logarithm is the jackknife's over prompts (Tukey 1958), which prompts of unequal length upset least.
    """
    prompts = len(times)
    if prompts < 2:
        return None
    others = np.log(times.sum(axis=0) - times) @ np.array([1.0, -1.0, -1.0, 1.0])  # log speedup without each prompt
    half = t_quantile(prompts - 1) * sqrt((prompts - 1) * float(np.var(others)))
    return exp(-half), exp(half)


@cache
def t_quantile(freedom: int) -> float:
    """Two-sided LEVEL quantile of Student's t, by bisection of its closed form (Abramowitz and Stegun 26.7.3-4)."""
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < LEVEL else (low, middle)
    return sqrt(freedom) * tan(low)


def _within(angle: float, freedom: int) -> float:
    """Chance that |t| stays below sqrt(freedom) tan(angle)."""
    odd = freedom % 2
    term, total = (cos(angle) if odd else 1.0), 0.0
    for k in range(freedom // 2):
        total += term
        term *= cos(angle) ** 2 * (2 * k + 1 + odd) / (2 * k + 2 + odd)
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def _quantiles(prompts: np.ndarray) -> np.ndarray:
    """t quantile for each number of prompts; NaN below two."""
    table = np.array([np.nan if n < 2 else t_quantile(n - 1) for n in range(int(prompts.max(initial=0)) + 1)])
    return table[prompts]
