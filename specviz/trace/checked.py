"""What a check leaves behind: how often each continuation came out at one place, and places computed again."""

from dataclasses import dataclass
from typing import Literal

from specviz.trace.choices import Rule, Settings
from specviz.trace.measured import Decoded
from specviz.trace.schema import Piece, Provenance

# a place where the two tokens that follow are open, and draft and target differ, for the embedded pair
FIRST_PROMPT = "    return "
SAMPLED = Settings(gamma=2, temperature=1.0, top_k=8)  # few continuations, so that thousands of draws fill them

Fault = Literal["no-residual", "raw-q-residual", "one-uniform", "soft-q"]


@dataclass(frozen=True, slots=True)
class FaultInfo:
    """A rule with a mistake in it, to see what the test makes of it."""

    title: str
    about: str


FAULTS: dict[Fault, FaultInfo] = {
    "no-residual": FaultInfo(
        "No residual",
        "After a rejection the token is drawn from p itself, not from max(0, p - q): what the draft likes comes out "
        "too often.",
    ),
    "raw-q-residual": FaultInfo(
        "Residual from raw q",
        "The residual is max(0, p - q) with the draft's q before temperature and top-k, though the draft was drawn "
        "from the processed one.",
    ),
    "one-uniform": FaultInfo(
        "One uniform for the block",
        "Every drafted token is compared with the same random number, so a token that follows an accepted one is "
        "accepted too often.",
    ),
    "soft-q": FaultInfo(
        "Greedy draft, soft q",
        "The draft proposes its most likely token, but is judged as if it had drawn it from q.",
    ),
}


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a text, and the exact distribution of what follows it there.

    cells: every continuation of `tokens` tokens (shorter where the text ends) that has a chance; chances: the product
    of its p, in the order of `cells`; they sum to 1. settings: of p and q, and gamma. pieces: of every id in `cells`.
    """

    cells: tuple[tuple[int, ...], ...]
    chances: tuple[float, ...]
    tokens: int
    settings: Settings
    pieces: dict[int, Piece]
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class Tally:
    """What came out at a place after so many draws under one rule, or under one with a fault.

    counts: by cell of the place. outside: draws that gave a continuation of no chance.
    """

    rule: Rule | Fault
    draws: int
    counts: tuple[int, ...]
    outside: int = 0


@dataclass(frozen=True, slots=True)
class Recheck:
    """The first place where two greedy lanes wrote different ids, computed again in float32 over the whole prefix.

    place: index in the output. speculative, plain: the id that each lane wrote. Scores are logits after penalties:
    of these two ids, and the best of all. problem: why there are none.
    """

    place: int
    speculative: int
    plain: int
    speculative_score: float | None = None
    plain_score: float | None = None
    best_score: float | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """One prompt decoded by both lanes (`decoded.trace` and its baseline), and the recheck where they differ."""

    decoded: Decoded
    recheck: Recheck | None = None
