"""A model as the doctor sees it: before loading only its shapes, after loading the model itself too."""

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from specviz.models.info import model_info
from specviz.models.loading import load_skeleton, load_tokenizer, skeleton
from specviz.models.memory import cache_bytes, weight_bytes
from specviz.models.pairing import allowed_ids, eos_ids, logits_width
from specviz.models.stored import Stored, read_stored
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import ModelInfo


class Examined:
    """One model of a pair. What it would take is computed from `shapes`, what it takes is measured on `loaded`.

    shapes: the model on the meta device; None if a loaded model is of no family that transformers knows. stored: what
    its files hold; None if that was not looked at. tokenizer: None shows ids as numbers.
    """

    def __init__(
        self,
        role: str,
        name: str,
        shapes: Any | None,
        tokenizer: Any | None,
        stored: Stored | None = None,
        loaded: Any | None = None,
    ) -> None:
        self.role, self.name = role, name[:100]
        self.shapes, self.loaded = shapes, loaded
        self.tokenizer, self.stored = tokenizer, stored
        self._rooms: dict[int, int] = {}

    @classmethod
    def read(cls, role: str, name: str, dtype: torch.dtype, tokenizer: str | None = None) -> "Examined":
        """From configuration, tokenizer (its own unless named) and headers of files. Raises SpecvizError."""
        shapes = load_skeleton(name, dtype)
        return cls(role, name, shapes, load_tokenizer(tokenizer or name), read_stored(name))

    @classmethod
    def of_loaded(cls, role: str, name: str, model: Any, tokenizer: Any | None) -> "Examined":
        """A loaded model, and its shapes made anew from its configuration, so that both can be compared."""
        try:
            shapes = skeleton(name, model.config, model.dtype)
        except SpecvizError:
            shapes = None
        return cls(role, name, shapes, tokenizer, loaded=model)

    @property
    def title(self) -> str:
        """What to call it at the start of a sentence."""
        return f"The {self.role} {self.name}"

    @property
    def model(self) -> Any:
        """The loaded model, or the shapes of one."""
        return self.shapes if self.loaded is None else self.loaded

    @cached_property
    def info(self) -> ModelInfo:
        """Its facts; the device is "meta" before loading."""
        return model_info(self.model, self.name)

    @cached_property
    def width(self) -> int:
        """Number of logits."""
        return logits_width(self.model)

    @cached_property
    def allowed(self) -> Tensor | None:
        """[width] bool: ids that stand for a token; None if all do."""
        return allowed_ids(self.tokenizer, self.width)

    @cached_property
    def ends(self) -> frozenset[int]:
        """Every id that it ends a text with."""
        return eos_ids(self.model, self.tokenizer)

    @property
    def quantised(self) -> str | None:
        """The method of quantisation; None if the weights are plain numbers."""
        settings = getattr(self.model.config, "quantization_config", None)
        if settings is None:
            return None
        method = settings.get("quant_method") if isinstance(settings, dict) else getattr(settings, "quant_method", None)
        return str(getattr(method, "value", method) or "unknown")[:40]

    @property
    def packing(self) -> float | None:
        """Bytes of the weights over what they would take as plain numbers: 1 unless quantised, then as in the files.

        None if shapes or files of a quantised model are not known.
        """
        if not self.quantised:
            return 1.0
        known = self.shapes is not None and self.stored is not None and self.stored.bytes
        return self.stored.bytes / weight_bytes(self.shapes) if known else None

    def capacity(self, context: int) -> int:
        """Tokens that its cache holds when a text may have `context` of them: no more than it has positions for."""
        return min(context, self.info.context or context)

    def weights(self) -> int | None:
        """Computed bytes of the weights; None if shapes or packing are not known."""
        if self.shapes is None or self.packing is None:
            return None
        return round(weight_bytes(self.shapes) * self.packing)

    def room(self, context: int) -> int | None:
        """Computed bytes of the key-value cache; None if the shapes are not known. Raises SpecvizError as
        `cache_bytes` does."""
        if self.shapes is None:
            return None
        if context not in self._rooms:
            self._rooms[context] = cache_bytes(self.shapes, self.capacity(context), self.title)
        return self._rooms[context]
