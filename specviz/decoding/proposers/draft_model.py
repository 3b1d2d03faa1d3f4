"""A smaller model of the same vocabulary drafts: a chain, one token a step (Leviathan et al. 2023; Chen et al. 2023),
or a tree whose siblings are drawn without replacement (SpecInfer, Miao et al. 2024; Jeon et al. 2024)."""

from collections.abc import Sequence

from torch import Tensor

from specviz.decoding.proposers.base import Context, Draft, Proposer
from specviz.models.forward import Stepper
from specviz.models.pair import Pair
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Settings
from specviz.trace.settings import node_count


class DraftModel(Proposer):
    """Drafts with `pair.draft`. Its cache always holds a prefix of the sequence; what it lacks (one token, or
    two after a full accept) is fed together with the next round's first step."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        pair = context.pair
        self._limit = pair.draft_info.context or context.capacity
        room = min(context.capacity, self._limit) + node_count(context.settings.tree)  # a tree holds all its branches
        self._stepper = Stepper(pair.draft, room)
        self._fed: list[int] = []  # nodes of the last tree that were fed, in feeding order
        self._lead = 0  # tokens of the sequence that were fed as the trunk of the last tree

    @classmethod
    def check(cls, pair: Pair, settings: Settings) -> None:
        if settings.tree and (problem := pair.draft_tree_problem):
            raise SpecvizError(f"This draft cannot draft trees: {problem}. Leave the tree empty.", field="tree")

    @property
    def bytes(self) -> int:
        return self._stepper.bytes

    def prefill(self, ids: Sequence[int]) -> None:
        if ids and len(ids) < self._limit:
            self._stepper.absorb(ids)

    def propose(self, sequence: Sequence[int], draft: Draft) -> None:
        room = self._limit - len(sequence) + 1  # the last draft is proposed, never fed
        draft.limit(room, f"the draft model's context of {self._limit} tokens is full")
        unseen = list(sequence[self._stepper.length :])
        if draft.widths:
            self._grow_tree(unseen, draft)
            return
        while draft.open:
            unseen = [draft.choose(self._stepper.feed(unseen))]

    def settle(self, length: int, path: Sequence[int]) -> None:
        if self._lead:
            kept = [self._lead + self._fed.index(node) for node in path if node in self._fed]
            self._stepper.keep_path([*range(self._lead), *kept])
            self._lead = 0
        self._stepper.rollback(max(0, self._stepper.length - length))

    def _grow_tree(self, unseen: list[int], draft: Draft) -> None:
        """One draft step per depth: all open nodes of a depth are fed at once."""
        self._lead, self._fed = len(unseen), []
        trunk = [i - 1 for i in range(self._lead)]
        logits = self._stepper.feed_tree(unseen, trunk)[-1:]
        nodes = draft.branch(logits, -1, draft.widths[0])
        draft.clock.step()
        for width in draft.widths[1:]:
            if not nodes:
                return
            logits = self._feed_nodes(nodes, draft)
            nodes = [n for row, node in enumerate(nodes) for n in draft.branch(logits[row : row + 1], node, width)]
            draft.clock.step()

    def _feed_nodes(self, nodes: Sequence[int], draft: Draft) -> Tensor:
        proposal = draft.proposal
        parents = [self._place(proposal.parents[node]) for node in nodes]
        self._fed += nodes
        return self._stepper.feed_tree([proposal.ids[node] for node in nodes], parents)

    def _place(self, node: int) -> int:
        """Where a node stands among the tokens of the tree: after the trunk; -1 is the trunk's last token."""
        return self._lead - 1 if node < 0 else self._lead + self._fed.index(node)
