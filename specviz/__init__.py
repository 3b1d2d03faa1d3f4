"""specviz: real speculative decoding, one round at a time, with every number measured.

    import specviz
    pair = specviz.load_pair("tiny-code")
    run = specviz.speculate(pair, "def fib(n):", specviz.Settings(gamma=4, max_new_tokens=64))
    for round in run:
        print(round.emitted)

Names are loaded on first use, so that reading a trace does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specviz.decoding.loop import speculate
    from specviz.decoding.plain import decode_plain
    from specviz.decoding.run import Run
    from specviz.models.loading import load_pair
    from specviz.models.pair import Pair
    from specviz.trace.files import load_trace, save_trace
    from specviz.trace.schema import Settings, Trace

_HOMES = {
    "Pair": "specviz.models.pair",
    "Run": "specviz.decoding.run",
    "Settings": "specviz.trace.schema",
    "SpecvizError": "specviz.trace.errors",
    "Trace": "specviz.trace.schema",
    "decode_plain": "specviz.decoding.plain",
    "load_pair": "specviz.models.loading",
    "load_trace": "specviz.trace.files",
    "save_trace": "specviz.trace.files",
    "speculate": "specviz.decoding.loop",
}

__version__ = "0.1.0"
__all__ = [
    "Pair", "Run", "Settings", "SpecvizError", "Trace", "decode_plain", "load_pair", "load_trace",
    "save_trace", "speculate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'specviz' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
