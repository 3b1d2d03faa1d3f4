"""The one place that makes prompt ids: plain, target and draft all start from the same list."""

import operator
from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from specviz.models.pair import Pair
from specviz.models.pairing import begin_id
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Settings

_PLACE = "\ue000prompt\ue001"  # private-use characters: no template contains them


def prompt_ids(pair: Pair, prompt: str | Sequence[int], settings: Settings) -> list[int]:
    """Ids of a prompt. Raises SpecvizError if it is empty, too long for the target, or cannot be encoded."""
    ids = _encode(pair, prompt, settings) if isinstance(prompt, str) else _listed(prompt)
    _require_known(pair, ids)
    if not ids:
        ids = _begin(pair)
    limit = pair.target_info.context
    if limit is not None and len(ids) >= limit:
        raise SpecvizError(
            f"The prompt has {len(ids)} tokens, but the target's context is {limit}; shorten the prompt to at most "
            f"{limit - 1} tokens.",
            field="prompt",
        )
    return ids


def _encode(pair: Pair, text: str, settings: Settings) -> list[int]:
    tokenizer = pair.tokenizer
    if tokenizer is None:
        raise SpecvizError("This pair has no tokenizer; give the prompt as a list of token ids.", field="prompt")
    with pair.tokenizer_lock:
        if settings.chat:
            return _encode_chat(pair, text, settings.control_tokens)
        ids = _plain_ids(tokenizer, text, settings.control_tokens)
        begin = begin_id(tokenizer)
        return ids if begin is None or ids[:1] == [begin] else [begin, *ids]


def _encode_chat(pair: Pair, text: str, control_tokens: bool) -> list[int]:
    """The target's template around the text. Only the template's own control tokens count, unless asked."""
    if control_tokens or not _spells_control(pair.tokenizer, text):
        return _plain_ids(pair.tokenizer, _render(pair, text), True)
    before, found, after = _render(pair, _PLACE).partition(_PLACE)
    if not found:
        raise SpecvizError(f"The chat template of {pair.target_info.name} does not show the user's text.", field="chat")
    parts = ((before, True), (text, False), (after, True))
    return [i for part, control in parts for i in _plain_ids(pair.tokenizer, part, control)]


def _render(pair: Pair, text: str) -> str:
    try:
        return pair.tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True
        )
    except (TemplateError, TypeError, KeyError, ValueError) as error:
        name = pair.target_info.name
        raise SpecvizError(
            f"The chat template of {name} cannot show this text ({error}); switch it off.", field="chat"
        ) from None


def _plain_ids(tokenizer: Any, text: str, control_tokens: bool) -> list[int]:
    """Encode without adding anything. Unless `control_tokens`, text that spells one stays text."""
    if not text:
        return []
    return tokenizer(text, add_special_tokens=False, split_special_tokens=not control_tokens)["input_ids"]


def _spells_control(tokenizer: Any, text: str) -> bool:
    return any(t.content in text for t in tokenizer.added_tokens_decoder.values() if t.special)


def _begin(pair: Pair) -> list[int]:
    bos = getattr(pair.tokenizer, "bos_token_id", None)
    if bos is None:
        raise SpecvizError("The prompt is empty and this model has no begin token; type at least one character.",
                           field="prompt")  # fmt: skip
    return [bos]


def _listed(prompt: Sequence[int]) -> list[int]:
    try:
        return [operator.index(i) for i in prompt]
    except TypeError:
        raise SpecvizError(
            "The prompt must be one text, or one list of token ids; run several prompts one by one.", field="prompt"
        ) from None


def _require_known(pair: Pair, ids: list[int]) -> None:
    """Raise SpecvizError if an id stands for no token of the target."""
    for i in ids:
        if not 0 <= i < pair.width or (pair.allowed is not None and not pair.allowed[i]):
            raise SpecvizError(f"Token id {i} is outside the vocabulary of {pair.width} entries.", field="prompt")
