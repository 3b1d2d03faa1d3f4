"""Acceptance over a set of prompts: by position, with intervals over prompts, and as prediction needs it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specviz.analysis.groups import grouped
from specviz.analysis.intervals import share_interval
from specviz.analysis.pace import rounds_of
from specviz.analysis.tables import Column, Row, Table
from specviz.analysis.totals import Totals, ratio
from specviz.analysis.tree import drafted_depth, tried_first
from specviz.analysis.words import count
from specviz.trace.measured import Decoded
from specviz.trace.schema import Round, Trace

FEW = 20  # judged tokens below which a position borrows from the one before it

_INTERVAL = "95% interval over prompts"
COLUMNS = [
    Column("position", "Position"),
    Column(
        "hazard", "Conditional", "percent", "measured",
        "accepted / judged at this position (the hazard). A round whose draft ended before the position, for budget, "
        f"context, low confidence or the end of the text, says nothing of it and is left out. {_INTERVAL}.",
        "hazard_low", "hazard_high",
    ),
    Column("accepted", "Accepted", "count", "measured", "drafted tokens accepted at this position"),
    Column("judged", "Judged", "count", "measured", "drafted tokens that were accepted or rejected at this position"),
    Column(
        "unconditional", "Unconditional", "percent", "measured",
        f"accepted at this position / rounds with drafts, as vLLM and llama.cpp report it. {_INTERVAL}.",
        "unconditional_low", "unconditional_high",
    ),
    Column("rounds", "Rounds", "count", "measured", "rounds with at least one drafted token"),
    Column(
        "beta", "Beta", "number", "exact",
        "mean over judged tokens of the sum over the vocabulary of min(p, q); over all positions it is alpha. "
        f"{_INTERVAL}.",
        "beta_low", "beta_high",
    ),
    Column(
        "naive", "Naive", "percent", "measured",
        f"all accepted / all drafted, rejected tails included: it falls as gamma grows. {_INTERVAL}.",
        "naive_low", "naive_high",
    ),
    Column("drafted", "Drafted", "count", "measured", "drafted tokens, in trees all nodes"),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tally:
    """Counts and sums by unit (a prompt, or a round of the only prompt). By position: [units, positions]."""

    hits: np.ndarray
    tried: np.ndarray
    betas: np.ndarray
    squares: np.ndarray  # of the betas
    rounds: np.ndarray  # [units], with drafts
    drafted: np.ndarray  # [units]


def acceptance_by_prompt(decodes: Sequence[Decoded]) -> Table:
    """Acceptance of the decodes of one lane: a row for each draft position (in trees: depth), then one for all.

    Intervals are over prompts (`share_interval`): repeats of a prompt stay together, and one that only copies another
    is left out. Of a single prompt they are over its rounds. No rows without drafts.
    """
    prompts = _by_prompt(decodes)
    tally = _tally(prompts if len(prompts) > 1 else [[record] for rounds in prompts for record in rounds])
    rows = [_position_row(tally, place) for place in range(tally.hits.shape[1])]
    if rows:
        rows.append(_all_row(tally))
    return Table("acceptance", "Acceptance by position", COLUMNS, rows, _note(decodes, len(prompts)))


def hazards(decodes: Sequence[Decoded]) -> list[float]:
    """Conditional acceptance by position, for prediction; empty if nothing was judged.

    From the first position with fewer than FEW judged tokens on, all positions share one rate: that of their tokens and
    of the last good position's together. (Counts never grow from one position to the next, so none after it is good.)
    """
    tally = _tally(_by_prompt(decodes))
    hits, tried = tally.hits.sum(axis=0), tally.tried.sum(axis=0)
    good = int((tried >= FEW).sum())
    last = max(good - 1, 0)
    tail = ratio(float(hits[last:].sum()), float(tried[last:].sum()))
    if tail is None:
        return []
    return (hits[:good] / tried[:good]).tolist() + [tail] * (len(hits) - good)


def alpha(decodes: Sequence[Decoded]) -> float | None:
    """Mean beta over all judged places (Leviathan et al. 2023, section 3); None without any."""
    return Totals.of(rounds_of(decodes)).alpha


def _by_prompt(decodes: Sequence[Decoded]) -> list[list[Round]]:
    """The rounds with drafts of each prompt that has any, all repeats together."""
    prompts = grouped(decodes, lambda decode: decode.prompt).values()
    return [rounds for repeats in prompts if (rounds := _drawn([decode.trace for decode in repeats]))]


def _drawn(repeats: Sequence[Trace]) -> list[Round]:
    """Rounds with drafts of a prompt but those of copies: its repeats draw alike unless numerics tell them apart."""
    kept: list[Round] = []
    seen: list[list[list[tuple[int, str]]]] = []
    for trace in sorted(repeats, key=lambda t: -len(t.rounds)):  # a stopped repeat is the begin of another
        drafts = [[(token.id, token.verdict) for token in record.drafted] for record in trace.rounds]
        if not any(earlier[: len(drafts)] == drafts for earlier in seen):
            seen.append(drafts)
            kept += [record for record in trace.rounds if record.drafted]
    return kept


def _tally(units: Sequence[Sequence[Round]]) -> _Tally:
    deepest = max((drafted_depth(record) for rounds in units for record in rounds), default=0)
    hits, tried, betas, squares = np.zeros((4, len(units), deepest))
    for unit, rounds in enumerate(units):
        for record in rounds:
            values = np.array([token.beta for token in tried_first(record)])
            hits[unit, : record.accepted] += 1
            tried[unit, : len(values)] += 1
            betas[unit, : len(values)] += values
            squares[unit, : len(values)] += values**2
    drafted = [sum(len(record.drafted) for record in rounds) for rounds in units]
    return _Tally(hits, tried, betas, squares, np.array([len(rounds) for rounds in units]), np.array(drafted))


def _position_row(tally: _Tally, place: int) -> Row:
    hits, tried = tally.hits[:, place], tally.tried[:, place]
    return {
        "position": place + 1,
        **_conditional(hits, tried, tally.betas[:, place], tally.squares[:, place]),
        **_share("unconditional", hits, tally.rounds),
        "rounds": int(tally.rounds.sum()),
    }


def _all_row(tally: _Tally) -> Row:
    hits, tried, betas, squares = (a.sum(axis=1) for a in (tally.hits, tally.tried, tally.betas, tally.squares))
    return {
        "position": "all",
        **_conditional(hits, tried, betas, squares),
        "rounds": int(tally.rounds.sum()),
        **_share("naive", hits, tally.drafted),
        "drafted": int(tally.drafted.sum()),
    }


def _conditional(hits: np.ndarray, tried: np.ndarray, betas: np.ndarray, squares: np.ndarray) -> Row:
    """The cells that every row has."""
    counts = {"accepted": int(hits.sum()), "judged": int(tried.sum())}
    return {**_share("hazard", hits, tried), **counts, **_share("beta", betas, tried, squares)}


def _share(key: str, sums: np.ndarray, of: np.ndarray, squares: np.ndarray | None = None) -> Row:
    """A mean and the ends of its interval: None without counts, and no ends where a single unit has any."""
    low, high = share_interval(sums, of, squares).tolist()
    ends = (None, None) if np.isnan(low) else (low, high)
    return {key: ratio(float(sums.sum()), float(of.sum())), f"{key}_low": ends[0], f"{key}_high": ends[1]}


def _note(decodes: Sequence[Decoded], prompts: int) -> str:
    if not prompts:
        return "Nothing was drafted."
    scope = f"{count(prompts, 'prompt')}, {count(len({d.repeat for d in decodes}), 'repeat')}"
    if prompts == 1:
        return f"{scope}. With one prompt the intervals are over its rounds and say nothing of other prompts."
    return f"{scope}. A repeat that drew the same tokens as another of its prompt is counted once."
