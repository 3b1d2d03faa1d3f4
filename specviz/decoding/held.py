"""What a decode holds in memory: the weights that take part, and its key-value buffers."""

from typing import Any

from specviz.decoding.widths import draft_model
from specviz.models.memory import cache_bytes, weight_bytes
from specviz.models.pair import Pair
from specviz.trace.methods import METHODS
from specviz.trace.schema import Trace
from specviz.trace.settings import node_count


class Held:
    """Counts bytes; remembers what one place in a model's buffers costs."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def bytes(self, pair: Pair, trace: Trace) -> int:
        """Weights of the models that this run's method uses, each tensor once, and their buffers at its limit."""
        settings = trace.settings
        drafts = settings.gamma > 0
        draft = draft_model(pair, settings) if drafts else None
        heads = pair.medusa if drafts and METHODS[settings.method].needs == "medusa" else None
        positions = len(trace.prompt.ids) + settings.max_new_tokens
        nodes = node_count(settings.tree) if drafts else 0
        models = [m for m in (pair.target, draft) if m is not None]
        buffers = sum(self._place(m) * (min(positions, _limit(m) or positions) + nodes) for m in models)
        return weight_bytes(*models, *([] if heads is None else [heads])) + buffers

    def _place(self, model: Any) -> int:
        """Bytes of one token's keys and values, from buffers that the model really filled."""
        if id(model) not in self._places:
            self._places[id(model)] = cache_bytes(model, 1)
        return self._places[id(model)]


def _limit(model: Any) -> int | None:
    return getattr(model.config.get_text_config(), "max_position_embeddings", None)
