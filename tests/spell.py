"""Tokenizers over a small alphabet, so that random models write readable text, and a draft for a pair of them."""

from collections.abc import Sequence
from typing import Any

import torch
from tiny import build
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from specviz.models.foreign import Foreign
from specviz.models.pairing import logits_width

LETTERS = "abcdefghijklmnopqrstuvwxyz .,\n"
_NAMES = {" ": "Ġ", "\n": "Ċ", "\t": "ĉ"}


def spelled(
    alphabet: str = LETTERS,
    merges: Sequence[tuple[str, str]] = (),
    specials: Sequence[str] = (),
    bos: str | None = None,
) -> PreTrainedTokenizerFast:
    """Byte-level BPE that knows only `alphabet` and what `merges` make of it; `bos` is put before every text."""
    pairs = [tuple("".join(_NAMES.get(c, c) for c in part) for part in merge) for merge in merges]
    names = [_NAMES.get(c, c) for c in alphabet] + [left + right for left, right in pairs]
    backend = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, pairs))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    controls = [*specials, bos] if bos else specials
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in controls])
    if bos:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, backend.token_to_id(bos))]
        )
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=bos)


def foreign(target: Any, target_tokenizer: Any, tokenizer: Any, draft: Any | None = None, **changes: Any) -> Foreign:
    """A draft (a random one of the width that `tokenizer` needs, unless given) with a tokenizer of its own."""
    draft = draft or build(**{"family": "gpt2", "seed": 5, "vocab_size": len(tokenizer)} | changes)
    return Foreign(draft, tokenizer, target_tokenizer, logits_width(target), name="other")


def moved(model: Any, order: Sequence[int]) -> Any:
    """The same model with its vocabulary in another order: new id i is old id order[i]."""
    other = build(vocab_size=len(order))
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        for layer in (other.get_input_embeddings(), other.get_output_embeddings()):
            layer.weight.copy_(layer.weight[list(order)].clone())
    return other
