"""A recorded run as a row of places, and what it would have taken with drafts of other lengths.

The text of a run does not depend on how it was drafted, and what a draft model proposes at a place depends on the text
before it alone. So each judged draft says of its place whether the draft agrees there, in whatever round it is drafted
again. At a place that was not judged (the bonus token after a full accept) that is unknown: the replay goes both ways,
weighted with the measured hazard, and counts how often it did. Nothing is drawn by chance.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from specviz.analysis.hazard import hazards
from specviz.analysis.tree import drafts_trees
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import Decoded, PromptKind
from specviz.trace.schema import Drafted, Round, Trace

State = Hashable


@dataclass(frozen=True, slots=True)
class Place:
    """One place of the output. agrees: whether the draft stands there; None if that was not recorded.

    sure: probability that the proposer gave its token, None if not recorded. idle: a round began here and nothing could
    be drafted (no match, no hidden state yet).
    """

    agrees: bool | None = None
    sure: float | None = None
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """The places of one output. budget: tokens it might have had. chances: hazards by position, for unknown places.

    by_position: the draft depends on its position in the round and not on the text alone (Medusa's heads), or a round
    is judged as a whole: then no place is known and each has the hazard of its position.
    """

    prompt: str
    kind: PromptKind
    places: tuple[Place, ...]
    budget: int
    chances: tuple[float, ...]
    by_position: bool = False

    def chance(self, place: int, position: int) -> float:
        """Chance that the draft stands at `place` as token number `position` (from 0) of its round."""
        agrees = self.places[place].agrees
        if agrees is not None:
            return float(agrees)
        # an unknown place follows a full accept, so its like is the last position
        return self.chances[min(position, len(self.chances) - 1) if self.by_position else -1]

    def runs(self, start: int, most: int) -> Iterator[tuple[float, int]]:
        """(probability, drafts that would stand) for a round of at most `most` drafts that begins at `start`."""
        left = 1.0
        most = min(most, len(self.places) - start)
        for length in range(most):
            chance = self.chance(start + length, length)
            if chance < 1.0:
                yield left * (1.0 - chance), length
            left *= chance
            if not left:
                return
        yield left, most


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a policy may look at. places: from the round's first on. stands: drafts that would stand, for the oracle."""

    places: Sequence[Place]
    stands: int


@dataclass(frozen=True, slots=True)
class Policy:
    """How many tokens to draft, never more than `most`. start: its state when a run begins.

    drafts(state, ahead): the next round's length. learn(state, drafted, accepted): the state after a round.
    """

    title: str
    most: int
    start: State
    drafts: Callable[[State, Ahead], int]
    learn: Callable[[State, int, int], State] = lambda state, drafted, accepted: state


@dataclass(slots=True)
class Spent:
    """What a replay took, in expected numbers. rounds: by number of drafts. unknown: of the judged drafts, those at
    places that the run did not judge."""

    tokens: int
    rounds: Counter[int]
    judged: float = 0.0
    unknown: float = 0.0

    @property
    def passes(self) -> float:
        """Target passes, one a round."""
        return sum(self.rounds.values())

    @property
    def drafts(self) -> float:
        """Tokens drafted."""
        return sum(length * number for length, number in self.rounds.items())

    def seconds(self, round_seconds: Callable[[int], float]) -> float:
        """Time of all rounds, given that of a round by its number of drafts."""
        return sum(number * round_seconds(length) for length, number in self.rounds.items())


def constant(gamma: int) -> Policy:
    """Always gamma tokens."""
    return Policy(f"constant {gamma}", gamma, None, lambda state, ahead: gamma)


def recorded(decodes: Sequence[Decoded]) -> list[Recorded]:
    """The first repeat of every prompt as places (repeats write the same text); runs without a token are left out.

    Raises SpecvizError for trees, whose rounds have no single length, and if nothing was drafted.
    """
    if any(drafts_trees(d.trace.settings) for d in decodes):
        raise SpecvizError("A draft tree has no gamma to choose; measure a run whose drafts are chains.", field="tree")
    chances = tuple(hazards(decodes))
    if not chances:
        raise SpecvizError(
            "Nothing was drafted, so there is nothing to predict from; measure a run with gamma above 0.", field="gamma"
        )
    first: dict[str, Decoded] = {}
    for decoded in decodes:
        if decoded.trace.output_ids:
            first.setdefault(decoded.prompt, decoded)
    return [_recorded(decoded, chances) for decoded in first.values()]


def draft_limit(decodes: Sequence[Decoded]) -> int | None:
    """The longest draft, where it is a limit: gamma and the budget left room for more, and none was longer.

    Medusa has only so many heads, and of those beyond the longest draft nothing is known, so there it is always one.
    None where no limit shows, and where a policy ends drafts. Last rounds do not count: an end token ends drafts too.
    """
    longest = max((len(record.drafted) for d in decodes for record in d.trace.rounds), default=0)
    if not longest or any(d.trace.settings.draft_length != "constant" for d in decodes):
        return None
    if all(d.trace.settings.method == "medusa" for d in decodes):
        return longest
    shorter = sum(room > longest for d in decodes for room in _rooms(d.trace))
    return longest if shorter > 1 else None


def _rooms(trace: Trace) -> Iterator[int]:
    """Tokens that each round with drafts might have drafted, but for the last one."""
    left = _budget(trace)
    for record in trace.rounds[:-1]:
        if record.drafted:
            yield min(trace.settings.gamma, left - 1)
        left -= len(record.emitted)


def replay(run: Recorded, policy: Policy) -> Spent:
    """What the run would have taken under the policy: expected numbers, over both ways at unknown places."""
    end = len(run.places)
    spent = Spent(end, Counter())
    waiting: list[dict[State, float]] = [{} for _ in range(end)]
    waiting[0][policy.start] = 1.0
    for start, states in enumerate(waiting):
        for state, weight in states.items():
            for drafted, accepted, share in _outcomes(run, policy, state, start):
                spent.rounds[drafted] += weight * share
                judged = run.places[start : start + min(drafted, accepted + 1)]
                spent.judged += weight * share * len(judged)
                spent.unknown += weight * share * sum(place.agrees is None for place in judged)
                if start + accepted + 1 < end:
                    after = policy.learn(state, drafted, accepted) if drafted else state
                    later = waiting[start + accepted + 1]
                    later[after] = later.get(after, 0.0) + weight * share
    return spent


def _outcomes(run: Recorded, policy: Policy, state: State, start: int) -> Iterator[tuple[int, int, float]]:
    """(drafted, accepted, probability) of the round that begins at `start`."""
    most, left = min(policy.most, run.budget - start - 1), len(run.places) - start
    if run.places[start].idle or most <= 0:
        yield 0, 0, 1.0
        return
    for share, stands in run.runs(start, most):
        drafted = min(most, policy.drafts(state, Ahead(run.places[start : start + most], stands)))
        # a draft that agrees up to the end has drafted the end itself, and stops there
        drafted = min(drafted, left) if stands >= left else drafted
        yield drafted, min(drafted, stands), share


def _recorded(decoded: Decoded, chances: tuple[float, ...]) -> Recorded:
    trace = decoded.trace
    by_position = trace.settings.method == "medusa" or trace.settings.rule == "block"
    places = tuple(_places(trace, by_position))
    return Recorded(decoded.prompt, decoded.kind, places, _budget(trace), chances, by_position)


def _budget(trace: Trace) -> int:
    """Tokens that the output might have had."""
    written = len(trace.output_ids)
    return written if trace.finish in ("budget", "context") else max(written, trace.settings.max_new_tokens)


def _places(trace: Trace, by_position: bool) -> Iterator[Place]:
    left = len(trace.output_ids)
    for record in trace.rounds:
        for order in range(len(record.emitted)):
            idle = not order and not record.drafted and left > 1
            yield Place(idle=idle) if by_position else _place(record, order, idle)
        left -= len(record.emitted)


def _place(record: Round, order: int, idle: bool) -> Place:
    token = record.drafted[order] if order < len(record.drafted) else None
    if token is None or token.verdict not in ("accepted", "rejected"):
        return Place(idle=idle)
    return Place(token.verdict == "accepted", _sure(token))


def _sure(token: Drafted) -> float | None:
    """The proposer's own view of its token: q, or for greedy runs, where q is one-hot, the probability behind it."""
    if token.draft_top is None:
        return token.q if token.q < 1 else None
    return next((p for i, p in zip(token.draft_top.ids, token.draft_top.probs, strict=True) if i == token.id), None)
