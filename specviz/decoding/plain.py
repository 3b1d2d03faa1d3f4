"""decode_plain(): one target pass per token, the same records and the same processing as speculative decoding."""

from collections.abc import Sequence

from specviz.decoding.loop import start_plain
from specviz.decoding.run import Run
from specviz.models.pair import Pair
from specviz.trace.schema import Settings


def decode_plain(pair: Pair, prompt: str | Sequence[int], settings: Settings | None = None) -> Run:
    """Start a plain run: each round is one target pass and one token of origin "plain". Errors as `speculate`."""
    return start_plain(pair, prompt, settings or Settings())
