"""The methods by name."""

from specviz.decoding.proposers.base import Proposer
from specviz.decoding.proposers.composite import Composite
from specviz.decoding.proposers.cross_tokenizer import CrossTokenizer
from specviz.decoding.proposers.draft_model import DraftModel
from specviz.decoding.proposers.early_exit import EarlyExit
from specviz.decoding.proposers.medusa import Medusa
from specviz.decoding.proposers.prompt_lookup import PromptLookup
from specviz.trace.choices import Method

PROPOSERS: dict[Method, type[Proposer]] = {
    "draft-model": DraftModel,
    "prompt-lookup": PromptLookup,
    "composite": Composite,
    "early-exit": EarlyExit,
    "medusa": Medusa,
    "cross-tokenizer": CrossTokenizer,
}
