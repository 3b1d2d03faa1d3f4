"""A target, what drafts for it, and a tokenizer that work together, and what was found when they were put together."""

import threading
from functools import cached_property
from typing import Any

import torch

from specviz.models.foreign import Foreign
from specviz.models.forward import model_device, require_rollback, tree_problem
from specviz.models.info import model_info, provenance
from specviz.models.medusa import MedusaHeads
from specviz.models.pairing import allowed_ids, compare_vocabularies, eos_ids, logits_width
from specviz.models.text import TokenText
from specviz.trace.choices import Method
from specviz.trace.errors import SpecvizError
from specviz.trace.methods import METHODS
from specviz.trace.schema import ModelInfo, Provenance

_LACKING = {
    "draft": "No draft model is loaded; choose a pair that has one.",
    "medusa": "No Medusa heads are loaded; choose a pair that has them.",
    "foreign": "No draft with another tokenizer is loaded; choose a pair that has one.",
}


class Pair:
    """Checked at construction; models are shared, never changed.

    target, draft: causal language models (draft may be None). tokenizer: the target's; None shows ids as numbers.
    draft_tokenizer: the draft's own, compared with the target's; None means the same. A draft of another vocabulary
    becomes `foreign`, if both tokenizers are known. medusa: heads for the target. foreign: a draft with another
    tokenizer, made for this target. names: what to call (target, draft). notices: sentences a user should see.
    problems: why something that was asked for is not there, by what methods need ("draft", "medusa", "foreign").
    Raises SpecvizError if the target cannot take part, or the draft cannot and `strict` is set.
    """

    def __init__(
        self,
        target: Any,
        draft: Any | None = None,
        tokenizer: Any | None = None,
        *,
        draft_tokenizer: Any | None = None,
        medusa: MedusaHeads | None = None,
        foreign: Foreign | None = None,
        name: str | None = None,
        names: tuple[str, str] = ("target", "draft"),
        sources: tuple[str | None, str | None] = (None, None),
        strict: bool = True,
    ) -> None:
        self.name, self.tokenizer, self.draft_tokenizer = name, tokenizer, draft_tokenizer
        self.target, self.draft = target.eval(), None
        self.medusa, self.foreign = medusa, foreign
        self.notices: list[str] = []
        self.problems: dict[str, str] = {}
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
                self.problems["draft"] = f"No draft is used: {error}"

    @cached_property
    def text(self) -> TokenText:
        """Ids to text and display pieces."""
        return TokenText(self.tokenizer)

    @cached_property
    def devices(self) -> frozenset[torch.device]:
        """Where the models of the pair are."""
        models = (self.target, self.draft, self.foreign and self.foreign.model)
        found = {model_device(model) for model in models if model is not None}
        return frozenset(found | ({self.medusa.weight.device} if self.medusa is not None else set()))

    @cached_property
    def tokenizer_lock(self) -> threading.Lock:
        """Held while encoding: the tokenizer keeps "split special tokens" as a state of its own."""
        return threading.Lock()

    @cached_property
    def tree_problem(self) -> str | None:
        """Why the target cannot judge a tree of drafts; None if it can."""
        return tree_problem(self.target)

    @cached_property
    def draft_tree_problem(self) -> str | None:
        """Why the draft cannot draft a tree; None if it can."""
        return tree_problem(self.draft)

    @property
    def has_chat_template(self) -> bool:
        """Whether the target's tokenizer brings a chat template."""
        return bool(getattr(self.tokenizer, "chat_template", None))

    @property
    def draft_problem(self) -> str | None:
        """Why the draft that was asked for is not used."""
        return self.problems.get("draft")

    @property
    def default_method(self) -> Method:
        """The method to begin with: a draft of the same vocabulary, else of another one, else none."""
        if self.draft is not None:
            return "draft-model"
        return "prompt-lookup" if self.foreign is None else "cross-tokenizer"

    def why_not(self, method: Method) -> str | None:
        """One sentence why this pair cannot use a method; None if it can."""
        need = METHODS[method].needs
        if need and getattr(self, need) is None:
            if need == "draft" and need not in self.problems and self.foreign is not None:
                return "The draft of this pair has a vocabulary of its own; choose the method cross-tokenizer."
            return self.problems.get(need, _LACKING[need])
        if method == "early-exit" and self.target_info.layers < 2:
            return f"{self.target_info.name} has a single layer, so there is none to leave out; choose another method."
        return None

    def provenance(self, method: str, rule: str) -> Provenance:
        """Where a run's figures come from, dated now; its draft is the model that drafts with this method, if any."""
        need = METHODS[method].needs if method in METHODS else None
        drafts = {"draft": self.draft_info, "foreign": self.foreign and self.foreign.info}
        return provenance(method, rule, self.target_info, drafts.get(need), self.name, self.notices)

    def _add_draft(self, draft: Any, tokenizer: Any | None, name: str, source: str | None) -> None:
        try:
            notices = compare_vocabularies(self, draft, tokenizer)
        except SpecvizError as error:
            if tokenizer is None or self.tokenizer is None or self.foreign is not None:
                raise
            self._add_foreign(draft, tokenizer, name, source, str(error))
            return
        self.notices += notices
        require_rollback(draft, f"The draft {name}")
        self.draft, self.draft_info = draft, model_info(draft, name, source)
        self._compare_places(self.draft_info)

    def _add_foreign(self, draft: Any, tokenizer: Any, name: str, source: str | None, reason: str) -> None:
        self.foreign = Foreign(draft, tokenizer, self.tokenizer, self.width, name, source)
        self.notices.append(
            f"{reason.partition('. ')[0]}. So the draft drafts through the {self.foreign.shared} strings that both "
            "have a token for: method cross-tokenizer."
        )
        self._compare_places(self.foreign.info)

    def _compare_places(self, draft: ModelInfo) -> None:
        """Notices if the draft is elsewhere, or in another precision."""
        target = self.target_info
        if draft.device != target.device:
            self.notices.append(f"The draft runs on {draft.device}, the target on {target.device}.")
        if draft.dtype != target.dtype:
            self.notices.append(f"The draft is in {draft.dtype}, the target in {target.dtype}.")
