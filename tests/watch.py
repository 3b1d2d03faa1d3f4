"""A clock that only stub models move, so that times can be checked by arithmetic."""

from typing import Any

from tiny import table_model


class Watch:
    """Stands in for the clocks of the engine. now: seconds."""

    def __init__(self, monkeypatch: Any, *modules: str) -> None:
        self.now = 0.0
        for module in ("clock", "loop", *modules):
            monkeypatch.setattr(f"specviz.decoding.{module}.perf_counter", lambda: self.now)

    def model(self, seconds: float, seed: int = 0, first: float = 0.1, scale: float = 1.5, each: float = 0.0) -> Any:
        """A table model whose pass takes `seconds` and `each` per token, its first pass at every width `first` more."""
        seen = set()

        def hook(ids: list[int]) -> None:
            self.now += seconds + each * len(ids) + (0.0 if len(ids) in seen else first)
            seen.add(len(ids))

        return table_model(7, seed, scale, hook=hook)
