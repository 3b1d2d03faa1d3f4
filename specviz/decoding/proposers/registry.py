"""The methods by name."""

from collections.abc import Callable

from specviz.decoding.proposers.base import Context, Proposer
from specviz.decoding.proposers.composite import Composite
from specviz.decoding.proposers.draft_model import DraftModel
from specviz.decoding.proposers.prompt_lookup import PromptLookup
from specviz.trace.schema import Method

MakeProposer = Callable[[Context], Proposer]

PROPOSERS: dict[Method, MakeProposer] = {
    "draft-model": DraftModel,
    "prompt-lookup": PromptLookup,
    "composite": Composite,
}
