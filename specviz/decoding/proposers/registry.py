"""The methods by name."""

from collections.abc import Callable

from specviz.decoding.proposers.base import Proposer
from specviz.decoding.proposers.draft_model import DraftModel
from specviz.models.pair import Pair

MakeProposer = Callable[[Pair, int], Proposer]  # (pair, capacity in tokens) -> a proposer for one run

PROPOSERS: dict[str, MakeProposer] = {
    "draft-model": DraftModel,
}
