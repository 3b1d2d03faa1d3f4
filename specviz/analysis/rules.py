"""What every rule would make of the same recorded draft: chances of its tokens, and tokens accepted on average."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from specviz.analysis.tree import is_tree
from specviz.trace.choices import Rule, Settings
from specviz.trace.schema import Drafted, Round

Chances = list[float | None]


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule on one recorded chain; None where the trace does not hold what it takes.

    chances: for each drafted token, the chance that the rule accepts it once it is reached, given that token.
    means: the same on average over tokens drawn from q, at each place. For `greedy-draft` a token that q does not
    prefer has no chance (the rule would have drafted another one), but its place has a mean.
    expected: tokens of this draft that the rule accepts on average, given the drafted tokens.
    """

    rule: Rule
    chances: Chances
    means: Chances
    expected: float | None


def rule_rows(record: Round, settings: Settings) -> list[RuleRow]:
    """Every rule on the draft of this round; empty if it drafted nothing, or a tree.

    p and q are those of the run. Thresholds of typical acceptance are those of `settings`.
    """
    drafted = record.drafted
    if not drafted or is_tree(record):
        return []
    nothing: Chances = [None] * len(drafted)
    block = [d.block for d in drafted]
    return [
        _by_token("rejection", [min(1.0, d.p / d.q) if d.q else None for d in drafted], [d.beta for d in drafted]),
        _by_token("greedy-draft", [d.p if _preferred(d) else None for d in drafted], [d.best for d in drafted]),
        _by_token("match", [d.p for d in drafted], [d.match for d in drafted]),
        RuleRow("block", block, nothing, sum(survival(block)) if None not in block else None),
        _by_token("typical", [float(_is_typical(d, settings)) for d in drafted], nothing),
    ]


def survival(block: Sequence[float]) -> list[float]:
    """Chance that block verification accepts at least i tokens, i = 1..k, given the passing chances h_1..h_k.

    The longest passing prefix stands, so at least i tokens stand unless all of h_i..h_k fail (Sun et al. 2024,
    arXiv 2403.10444, algorithm 2).
    """
    fails = list(accumulate((1.0 - h for h in reversed(block)), mul))
    return [1.0 - all_fail for all_fail in reversed(fails)]


def _by_token(rule: Rule, chances: Chances, means: Chances) -> RuleRow:
    """A rule that goes from token to token and stops at the first rejection."""
    expected = None if None in chances else sum(accumulate(chances, mul))
    return RuleRow(rule, chances, means, expected)


def _preferred(token: Drafted) -> bool:
    return token.q_top.ids[:1] == [token.id]


def _is_typical(token: Drafted, settings: Settings) -> bool:
    """Medusa's criterion (Cai et al. 2024, arXiv 2401.10774, section 2.3.1), entropy in nats."""
    return token.p > settings.typical_threshold(token.entropy_p)
