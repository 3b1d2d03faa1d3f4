"""What other rules for the draft length would have done on one recorded run."""

from collections import Counter
from collections.abc import Sequence

from specviz.analysis.costs import CostModel
from specviz.analysis.replay import Ahead, Policy, Recorded, Spent, State, constant, draft_limit, recorded, replay
from specviz.analysis.tables import Column, Row, Table
from specviz.analysis.words import count
from specviz.trace.measured import Decoded

THRESHOLDS = (0.2, 0.4, 0.6, 0.8)
TIERS, DECAY = (1, 3, 7), 0.2
_COLUMNS = [
    Column("policy", "policy"),
    Column("tokens", "tokens", "count", "measured", "tokens of the recorded outputs: the same under every policy"),
    Column("drafts", "drafted", "number", "fitted", "tokens drafted, and for a draft model draft steps"),
    Column("passes", "target passes", "number", "fitted", "rounds, one pass each"),
    Column("tokens_per_pass", "tokens per pass", "number", "fitted", "tokens / target passes"),
    Column("seconds", "time", "seconds", "fitted", "rounds by their number of drafts, each timed by the cost model"),
    Column("speedup", "speedup", "times", "fitted", "time of as many plain tokens / this time"),
    Column(
        "unknown", "unknown", "percent", "fitted",
        "share of the judged drafts at places where the run recorded no verdict; there both ways are followed, "
        "weighted with the measured hazard. At 0 the row is an exact replay of the run's own verdicts",
    ),
]  # fmt: skip


def policy_table(decodes: Sequence[Decoded], model: CostModel) -> Table:
    """The table "policies": every policy replayed on the runs of one lane, none drafting longer than they did.

    Longer drafts than the recorded gamma are not replayed: what they would have met is not in the run. So constant
    gammas end at the recorded one, or at the longest draft that there can be (`draft_limit`), and the heuristic and the
    tiers are cut to it; the note says so. Each output starts
    a policy anew. Confidence needs the draft's own probability of its tokens; without it there are no such rows.
    Raises SpecvizError as `recorded`.
    """
    runs = recorded(decodes)
    asked, limit = decodes[0].trace.settings.gamma, draft_limit(decodes)
    gamma = asked if limit is None else min(asked, limit)
    policies = [constant(length) for length in range(1, gamma + 1)]
    if any(place.sure is not None for run in runs for place in run.places):
        policies += [confidence(gamma, threshold) for threshold in THRESHOLDS]
    policies += [heuristic(gamma), tiers(gamma), oracle(gamma)]
    rows: list[Row] = [{"policy": "plain decoding", **_figures(runs, constant(0), model)}]
    rows += [{"policy": policy.title, **_figures(runs, policy, model)} for policy in policies]
    cut = " and ".join(f"tier {tier}" for tier in TIERS if tier > gamma)
    short = f", where no round drafted more than {count(gamma, 'token')}" if gamma < asked else ""
    note = (
        f"Replayed on {count(len(runs), 'prompt')} recorded at gamma {asked}{short}. Longer drafts cannot be replayed: "
        f"the heuristic grows no further{f', and {cut} is cut to it' if cut else ''}. The tiers go by an exponential "
        f"mean of accepted drafts (weight {DECAY} for the newest round): the smallest tier above its rounded value, "
        "without warm-up, from the middle tier on."
    )
    return Table("policies", "Other draft lengths on the same run", _COLUMNS, rows, note)


def confidence(gamma: int, threshold: float) -> Policy:
    """Stop after a token to which the proposer gave less than `threshold` (transformers' assisted generation).

    A place without a recorded probability does not stop the draft.
    """

    def drafts(state: State, ahead: Ahead) -> int:
        unsure = (i + 1 for i, place in enumerate(ahead.places) if place.sure is not None and place.sure < threshold)
        return next(unsure, gamma)

    return Policy(f"stop below {threshold:g}", gamma, None, drafts)


def heuristic(gamma: int) -> Policy:
    """+2 after a full accept, -1 after a rejection, from gamma on (transformers' old default), at most gamma."""

    def learn(length: int, drafted: int, accepted: int) -> int:
        return min(gamma, length + 2) if accepted == drafted else max(1, length - 1)

    return Policy("+2 / -1", gamma, gamma, lambda length, ahead: length, learn)


def tiers(gamma: int) -> Policy:
    """SGLang-like: an exponential mean of the accepted drafts chooses one of TIERS for the next round."""

    def drafts(mean: float, ahead: Ahead) -> int:
        return min(gamma, next((tier for tier in TIERS if tier > round(mean)), TIERS[-1]))

    def learn(mean: float, drafted: int, accepted: int) -> float:
        return round((1 - DECAY) * mean + DECAY * accepted, 2)  # rounded, so that states meet again

    return Policy("tiers " + " / ".join(map(str, TIERS)), gamma, float(TIERS[1] - 1), drafts, learn)


def oracle(gamma: int) -> Policy:
    """Drafts exactly the tokens that will stand: as few passes as with gamma, and no draft in vain."""
    return Policy("oracle", gamma, None, lambda state, ahead: ahead.stands)


def _figures(runs: Sequence[Recorded], policy: Policy, model: CostModel) -> Row:
    total = Spent(0, Counter())
    for run in runs:
        spent = replay(run, policy)
        total.tokens += spent.tokens
        total.rounds += spent.rounds
        total.judged += spent.judged
        total.unknown += spent.unknown
    seconds = total.seconds(model.round_seconds)
    return {
        "tokens": total.tokens,
        "drafts": total.drafts,
        "passes": total.passes,
        "tokens_per_pass": total.tokens / total.passes,
        "seconds": seconds,
        "speedup": total.tokens * model.plain / seconds,
        "unknown": total.unknown / total.judged if total.judged else None,
    }
