"""A smaller model of the same vocabulary drafts, one token a step (Leviathan et al. 2023; Chen et al. 2023)."""

from collections.abc import Sequence

from specviz.decoding.clock import Clock
from specviz.decoding.proposers.base import Proposal
from specviz.decoding.sampling import Processor, sample
from specviz.models.forward import Stepper
from specviz.models.pair import Pair


class DraftModel:
    """Drafts with `pair.draft`. Its cache always holds a prefix of the sequence; what it lacks (one token, or
    two after a full accept) is fed together with the next round's first step."""

    def __init__(self, pair: Pair, capacity: int) -> None:
        context = pair.draft_info.context or capacity
        self._limit = context
        self._stepper = Stepper(pair.draft, min(capacity, context))
        self._ends = pair.eos_ids

    def prefill(self, ids: Sequence[int]) -> None:
        if ids and len(ids) < self._limit:
            self._stepper.absorb(ids)

    def propose(
        self, sequence: Sequence[int], budget: int, uniforms: Sequence[float], processor: Processor, clock: Clock
    ) -> Proposal:
        proposal = Proposal()
        room = self._limit - len(sequence) + 1  # the last draft is proposed, never fed
        if room < budget:
            budget = max(0, room)
            proposal.note = f"the draft model's context of {self._limit} tokens is full"
        unseen = list(sequence[self._stepper.length :])
        for step in range(budget):
            logits = self._stepper.feed(unseen)
            scores = processor.scores(logits, proposal.ids, first=len(proposal.ids), who="draft")
            q = processor.probabilities(scores)[0]
            token = sample(q, uniforms[step])
            proposal.ids.append(token)
            proposal.q.append(q)
            proposal.scores.append(scores[0])
            unseen = [token]
            clock.step()
            if token in self._ends:
                break  # nothing can follow an end-of-sequence token
        return proposal

    def settle(self, length: int) -> None:
        self._stepper.rollback(max(0, self._stepper.length - length))
