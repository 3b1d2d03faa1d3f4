"""May these two work together? Vocabularies by content, special tokens, widths, ends of sequence."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from specviz.trace.errors import SpecvizError


def logits_width(model: Any) -> int:
    """Number of logits, which may exceed the number of tokens (padding)."""
    return int(model.config.get_text_config().vocab_size)


def eos_ids(model: Any, tokenizer: Any | None) -> frozenset[int]:
    """Every id that ends the text: the union of generation config, config and tokenizer. Target's only."""
    found: set[int] = set()
    for source in (getattr(model, "generation_config", None), model.config, tokenizer):
        value = getattr(source, "eos_token_id", None)
        if isinstance(value, int):
            found.add(value)
        elif isinstance(value, Iterable):
            found.update(int(v) for v in value)
    return frozenset(found)


def allowed_ids(tokenizer: Any | None, width: int) -> Tensor | None:
    """[width] bool: ids that stand for a token; None if all do or there is no tokenizer."""
    if tokenizer is None:
        return None
    allowed = torch.zeros(width, dtype=torch.bool)
    ids = torch.tensor([i for i in tokenizer.get_vocab().values() if i < width])
    allowed[ids] = True
    return None if bool(allowed.all()) else allowed


def special_ids(tokenizer: Any) -> set[int]:
    """Ids whose meaning is not in their text: special tokens, and all that were added to the vocabulary."""
    return set(tokenizer.added_tokens_decoder) | set(tokenizer.all_special_ids)


def begin_id(tokenizer: Any) -> int | None:
    """The begin-of-sequence id, if this tokenizer puts one before every text."""
    if getattr(tokenizer, "add_bos_token", False):
        return tokenizer.bos_token_id
    start = tokenizer("")["input_ids"][:1]
    return start[0] if start and start[0] == tokenizer.bos_token_id else None


def compare_vocabularies(pair: Any, draft: Any, tokenizer: Any | None) -> list[str]:
    """Notices about differences that do no harm. Raises SpecvizError if ids mean different strings.

    The body of the vocabulary and the special tokens are compared apart: bases and instruct variants often
    share the body only. Lengths alone prove nothing, padding is allowed.
    """
    require_rows(pair, draft)
    notices = width_notices(pair, draft)
    if tokenizer is not None and pair.tokenizer is not None:
        notices += compare_tokens(pair.tokenizer, tokenizer)
        if bool(tokenizer.chat_template) != bool(pair.tokenizer.chat_template):
            base = "draft" if pair.tokenizer.chat_template else "target"
            notices.append(f"The {base} has no chat template, the other one has: expect fewer accepted drafts in chat.")
    return notices


def require_rows(pair: Any, draft: Any) -> None:
    """Raise SpecvizError if the draft has no embedding for an id that the target uses."""
    needed = pair.width if pair.allowed is None else 1 + int(pair.allowed.nonzero()[-1])
    rows = draft.get_input_embeddings().weight.shape[0]
    if rows < needed:
        raise SpecvizError(
            f"The draft knows {rows} token ids, the target uses {needed}, so it could not read the target's text. "
            "Choose a draft of the same family."
        )


def width_notices(pair: Any, draft: Any) -> list[str]:
    """Notices about logits that one of the two lacks, or that stand for no token."""
    notices, width = [], logits_width(draft)
    if width != pair.width:
        notices.append(
            f"The target has {pair.width} logits, the draft {width}: the draft's are "
            f"{'cut' if width > pair.width else 'padded with probability 0'} to the target's width."
        )
    if pair.allowed is not None:
        unused = int((~pair.allowed).sum())
        notices.append(f"{unused} logits of the target stand for no token; they get probability 0 everywhere.")
    return notices


def compare_tokens(target: Any, draft: Any) -> list[str]:
    """Notices about special tokens that differ between two tokenizers. Raises SpecvizError if others do."""
    ours, theirs = _by_id(target), _by_id(draft)
    specials = special_ids(target) | special_ids(draft)
    for i in sorted(ours.keys() & theirs.keys()):
        if ours[i] != theirs[i] and i not in specials:
            raise SpecvizError(
                f"These two have different vocabularies: id {i} is {ours[i][:40]!r} for the target and "
                f"{theirs[i][:40]!r} for the draft. Choose a draft of the same family."
            )
    body = {i for i in ours.keys() ^ theirs.keys() if i not in specials}
    shared = len(ours.keys() & theirs.keys())
    if len(body) > shared:
        raise SpecvizError(
            f"These two have different vocabularies: they share only {shared} of {len(ours | theirs)} ids. "
            "Choose a draft of the same family."
        )
    different = [i for i in sorted(specials) if ours.get(i) != theirs.get(i)]
    if not different:
        return []
    i = different[0]
    return [
        f"{len(different)} special tokens differ (first: id {i} is {ours.get(i)!r} for the target, "
        f"{theirs.get(i)!r} for the draft); the target's meaning counts."
    ]


def _by_id(tokenizer: Any) -> dict[int, str]:
    return {i: t for t, i in tokenizer.get_vocab().items()}
