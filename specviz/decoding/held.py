"""What a decode holds in memory beside its buffers: the weights that take part."""

from specviz.decoding.widths import draft_model
from specviz.models.memory import weight_bytes
from specviz.models.pair import Pair
from specviz.trace.methods import METHODS
from specviz.trace.schema import Settings


def weights_held(pair: Pair, settings: Settings) -> int:
    """Bytes of the weights of all models that a run with these settings uses, each tensor once."""
    drafts = settings.gamma > 0
    draft = draft_model(pair, settings) if drafts else None
    heads = pair.medusa if drafts and METHODS[settings.method].needs == "medusa" else None
    return weight_bytes(*(module for module in (pair.target, draft, heads) if module is not None))
