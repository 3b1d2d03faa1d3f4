"""A target, a draft and a tokenizer that work together, and what was found when they were put together."""

import threading
from functools import cached_property
from typing import Any

import torch

from specviz.models.forward import model_device, require_rollback
from specviz.models.info import model_info, provenance
from specviz.models.pairing import allowed_ids, compare_vocabularies, eos_ids, logits_width
from specviz.models.text import TokenText
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import ModelInfo, Provenance


class Pair:
    """Checked at construction; models are shared, never changed.

    target, draft: causal language models (draft may be None: plain decoding only). tokenizer: the target's;
    None shows ids as numbers. draft_tokenizer: the draft's own, compared with the target's; None means the same.
    names: what to call (target, draft). notices: sentences a user should see. draft_problem: why no draft is used.
    Raises SpecvizError if the target cannot take part, or the draft cannot and `strict` is set.
    """

    def __init__(
        self,
        target: Any,
        draft: Any | None = None,
        tokenizer: Any | None = None,
        *,
        draft_tokenizer: Any | None = None,
        name: str | None = None,
        names: tuple[str, str] = ("target", "draft"),
        sources: tuple[str | None, str | None] = (None, None),
        strict: bool = True,
    ) -> None:
        self.name, self.tokenizer = name, tokenizer
        self.target, self.draft = target.eval(), None
        self.notices: list[str] = []
        self.draft_problem: str | None = None
        self.target_info: ModelInfo = model_info(target, names[0], sources[0])
        self.draft_info: ModelInfo | None = None
        require_rollback(target, f"The target {names[0]}")
        self.width = logits_width(target)
        self.eos_ids = eos_ids(target, tokenizer)
        self.allowed = allowed_ids(tokenizer, self.width)
        if draft is not None:
            try:
                self._add_draft(draft.eval(), draft_tokenizer, names[1], sources[1])
            except SpecvizError as error:
                if strict:
                    raise
                self.draft_problem = f"No draft is used: {error}"

    @cached_property
    def text(self) -> TokenText:
        """Ids to text and display pieces."""
        return TokenText(self.tokenizer)

    @cached_property
    def devices(self) -> frozenset[torch.device]:
        """Where the models of the pair are."""
        return frozenset(model_device(m) for m in (self.target, self.draft) if m is not None)

    @cached_property
    def tokenizer_lock(self) -> threading.Lock:
        """Held while encoding: the tokenizer keeps "split special tokens" as a state of its own."""
        return threading.Lock()

    @property
    def has_chat_template(self) -> bool:
        """Whether the target's tokenizer brings a chat template."""
        return bool(getattr(self.tokenizer, "chat_template", None))

    def provenance(self, method: str, rule: str) -> Provenance:
        """Where a run's figures come from, dated now."""
        draft = self.draft_info if method != "plain" else None
        return provenance(method, rule, self.target_info, draft, self.name, self.notices)

    def _add_draft(self, draft: Any, tokenizer: Any | None, name: str, source: str | None) -> None:
        self.notices += compare_vocabularies(self, draft, tokenizer)
        if model_device(draft) != model_device(self.target):
            self.notices.append(f"The draft runs on {model_device(draft)}, the target on {model_device(self.target)}.")
        require_rollback(draft, f"The draft {name}")
        self.draft, self.draft_info = draft, model_info(draft, name, source)
        if self.draft_info.dtype != self.target_info.dtype:
            self.notices.append(f"The draft is in {self.draft_info.dtype}, the target in {self.target_info.dtype}.")
