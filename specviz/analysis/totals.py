"""Running sums over the rounds of one lane; every figure of a run is a ratio of these."""

from collections.abc import Iterable
from dataclasses import dataclass

from specviz.analysis.tree import drafted_depth, tried_first
from specviz.trace.schema import Round


@dataclass(slots=True)
class Totals:
    """Sums over rounds. Times in seconds on the lane's clock, which leaves prefill and recording out.

    rounds: also the number of target passes, one a round. draft_rounds: rounds with at least one drafted
    token. drafted: tokens, in a tree all nodes; deepest: tokens that would stand if every round accepted all it
    can. judged: places up to and including the first that ends in a rejection, in a tree depths; what follows a
    rejection, or the end of the output ("cut"), is neither judged nor accepted. beta: sum of sum_x min(p, q) over
    judged places, in a tree of the first try at each.
    """

    rounds: int = 0
    draft_rounds: int = 0
    drafted: int = 0
    deepest: int = 0
    judged: int = 0
    accepted: int = 0
    emitted: int = 0
    beta: float = 0.0
    draft_steps: int = 0
    draft: float = 0.0
    verify: float = 0.0
    sampling: float = 0.0
    other: float = 0.0
    recording: float = 0.0

    @classmethod
    def of(cls, rounds: Iterable[Round]) -> "Totals":
        """Sums over all of `rounds`."""
        totals = cls()
        for record in rounds:
            totals.add(record)
        return totals

    def add(self, record: Round) -> None:
        """Count one more round."""
        judged = tried_first(record)
        self.rounds += 1
        self.draft_rounds += bool(record.drafted)
        self.drafted += len(record.drafted)
        self.deepest += drafted_depth(record)
        self.judged += len(judged)
        self.accepted += record.accepted
        self.emitted += len(record.emitted)
        self.beta += sum(d.beta for d in judged)
        self._add_times(record)

    def _add_times(self, record: Round) -> None:
        timing = record.timing
        self.draft_steps += len(timing.draft)
        self.draft += sum(timing.draft)
        self.verify += timing.verify
        self.sampling += timing.sampling
        self.other += timing.other
        self.recording += timing.recording

    @property
    def seconds(self) -> float:
        """The lane's own clock: seconds of decoding so far."""
        return self.draft + self.verify + self.sampling + self.other

    @property
    def alpha(self) -> float | None:
        """Mean beta over judged places (Leviathan et al. 2023, section 3); None without any."""
        return ratio(self.beta, self.judged)

    @property
    def tokens_per_pass(self) -> float | None:
        """Emitted tokens per target pass (block efficiency); None before the first pass."""
        return ratio(self.emitted, self.rounds)

    @property
    def seconds_per_token(self) -> float | None:
        """Decode seconds per emitted token; None before the first token."""
        return ratio(self.seconds, self.emitted)


def ratio(part: float, whole: float) -> float | None:
    """part / whole, or None where there is no whole: a rate over nothing is not a number."""
    return part / whole if whole else None
