"""Findings on whether models can take part, and whether two of them can work together. One topic a function."""

import os
from typing import Any

import torch

from specviz.models.examined import Examined
from specviz.models.foreign import shared_ids
from specviz.models.loading import TRUST_VARIABLE, default_dtype
from specviz.models.memory import running_state
from specviz.models.pairing import compare_tokens, require_rows, width_notices
from specviz.trace.errors import SpecvizError
from specviz.trace.findings import Finding, Number

_OVERFLOWING = ("gemma2", "gemma3", "gpt_oss")  # beginnings of families known to leave float16's range
_MOST_MISSING = 0.01  # share of the parameters that files may lack: buffers and names differ a little
_SHOWN = 4  # ids named in a sentence


def files(model: Examined) -> list[Finding]:
    """Whether the weight files are there, whole, and of a kind that cannot run code."""
    stored = model.stored
    if stored is None:
        if model.loaded is not None:
            return []
        return [Finding("files", "note", f"What the files of {model.name} hold is not known before they are loaded.")]
    if stored.damaged:
        names = ", ".join(stored.damaged[:_SHOWN])
        what = f"{model.title} lacks whole weight files: {names} is missing, cut short or unreadable."
        return [Finding("files", "fault", what, "Download the model again, or save it as safetensors.")]
    if stored.pickled:
        what = f"{model.title} has its weights in Python pickles; they are read as weights only, no code in them runs."
        return [Finding("files", "note", what, "Prefer a copy in safetensors.")]
    wanted = model.info.parameters
    if not model.quantised and stored.numbers < (1 - _MOST_MISSING) * wanted:
        what = f"The files of {model.name} hold {stored.numbers:,} weights, its configuration asks for {wanted:,}."
        return [Finding("files", "warning", what, "The rest would be random: use the files that belong together.")]
    return [Finding("files", "ok", f"{model.title} has all its weights, as {stored.dtype} in safetensors.")]


def custom_code(model: Examined) -> list[Finding]:
    """A repository that brings Python of its own."""
    if not getattr(model.model.config, "auto_map", None):
        return []
    if os.environ.get(TRUST_VARIABLE) == "1":
        what = f"{model.title} brings Python code of its own, and {TRUST_VARIABLE}=1 lets it run."
        return [Finding("custom code", "warning", what, f"Unset {TRUST_VARIABLE} unless you trust its authors.")]
    what = f"{model.title} brings Python code of its own; it does not run, transformers' own code does."
    return [Finding("custom code", "note", what)]


def quantisation(model: Examined) -> list[Finding]:
    """Weights that are packed: other kernels, other times."""
    if not model.quantised:
        return []
    what = f"{model.title} is quantised ({model.quantised}); wider passes may take slower kernels than single steps."
    return [Finding("quantisation", "note", what, "Compare with plain decoding of the same quantised target only.")]


def precision(models: list[Examined], dtype: torch.dtype, device: str) -> list[Finding]:
    """What the models compute in, and where; they may differ once they are loaded."""
    found, name = [], str(dtype).removeprefix("torch.")
    for model in models:
        if dtype is torch.float16 and model.info.family.startswith(_OVERFLOWING):
            what = f"{model.title} is of the family {model.info.family}, which leaves the range of float16."
            found.append(Finding("dtype", "warning", what, "Choose bfloat16 or float32."))
    if dtype is torch.bfloat16 and default_dtype(device) is not torch.bfloat16:
        what = f"This {'GPU' if device.startswith('cuda') else 'processor'} has no arithmetic in bfloat16."
        found.append(Finding("dtype", "warning", f"{what} It is imitated, which is slow.", "Choose float32."))
    places = {(m.info.dtype, m.info.device) for m in models if m.loaded is not None}
    if len(places) > 1:
        what = "; ".join(f"{m.title} is in {m.info.dtype} on {m.info.device}" for m in models)
        found.append(Finding("dtype", "note", f"{what}.", "Load both alike if you compare speeds."))
    return found or [Finding("dtype", "ok", f"They compute in {name} on {device}.")]


def vocabulary(target: Examined, draft: Examined) -> list[Finding]:
    """Whether an id means the same to both. A warning if not, but some strings are spelt alike and can be proposed."""
    ours, theirs = target.tokenizer, draft.tokenizer
    try:
        require_rows(target, draft.model)
        specials = compare_tokens(ours, theirs) if ours is not None and theirs is not None else []
    except SpecvizError as error:
        return _another(target, draft, str(error))
    if ours is None or theirs is None:
        what = "There are no two tokenizers to compare, so ids are taken to mean the same to both."
    else:
        what = f"The ids of the target's {_tokens(target):,} tokens mean the same to the draft."
    level = "ok" if target.width == draft.width else "note"
    found = [Finding("vocabulary", level, " ".join([what, *width_notices(target, draft.model)]))]
    if specials:
        found.append(Finding("special tokens", "note", specials[0], "Expect fewer accepted drafts around them."))
    return found


def family(target: Examined, draft: Examined) -> list[Finding]:
    """The first criterion: of one family, by type of model (the vocabulary is a topic of its own)."""
    ours, theirs = target.info.family, draft.info.family
    if ours == theirs:
        return [Finding("family", "ok", f"Both are models of the type {ours}.")]
    what = f"The target is a model of the type {ours}, the draft one of the type {theirs}."
    return [Finding("family", "note", what, "Relatives agree more often: measure the acceptance.")]


def ends(target: Examined, draft: Examined | None) -> list[Finding]:
    """Ids that end a text: the target's count."""
    if not target.ends:
        what = "The target names no end-of-sequence id, so only the budget or a stop string ends a text."
        return [Finding("end of sequence", "note", what, "Set a stop string, or mind the number of tokens.")]
    if draft is None or not draft.ends or draft.ends == target.ends or _strings(draft) == _strings(target):
        return [Finding("end of sequence", "ok", f"Texts end with {_named(target)}.")]
    what = f"The target ends texts with {_named(target)}, the draft with {_named(draft)}; the target's ends count."
    return [Finding("end of sequence", "note", what, "Expect a rejection where a text ends.")]


def chat_template(target: Examined, draft: Examined | None) -> list[Finding]:
    """The target's template makes the prompt of both; a draft without one was hardly trained for chat."""
    ours = getattr(target.tokenizer, "chat_template", None)
    theirs = ours if draft is None else getattr(draft.tokenizer, "chat_template", None)
    if not ours and not theirs:
        return [Finding("chat template", "ok", "There is no chat template: prompts are plain text.")]
    if not theirs:
        what, do = "The target has a chat template, the draft has none.", "Choose a draft that was trained for chat."
        return [Finding("chat template", "note", f"{what} Expect fewer accepted drafts in chat.", do)]
    if not ours:
        what = "The draft has a chat template, the target has none: prompts are plain text."
        return [Finding("chat template", "note", what, "Choose the target's own base model as a draft.")]
    if ours != theirs:
        what = "The chat templates differ; the target's makes the prompt of both."
        return [Finding("chat template", "note", what, "Expect fewer accepted drafts in chat.")]
    return [Finding("chat template", "ok", "Chat prompts are made with the target's template.")]


def context(target: Examined, draft: Examined | None, asked: int) -> list[Finding]:
    """Lengths of text that the models have positions for."""
    ours, theirs = target.info.context, draft.info.context if draft else None
    about = "tokens that the model has positions for"
    numbers = [Number("target", about, ours), *([Number("draft", about, theirs)] if draft else [])]
    common = {"numbers": tuple(numbers), "unit": "count"}
    if ours and asked > ours:
        what = f"A context of {asked:,} tokens was asked for, the target has {ours:,}: its runs end there."
        return [Finding("context", "warning", what, "Ask for less, or choose another target.", **common)]
    if theirs and theirs < min(ours or asked, asked):
        what = f"The draft's context is {theirs:,} tokens, shorter than the {min(ours or asked, asked):,} of a run."
        do = f"Beyond {theirs:,} tokens nothing is drafted: keep texts shorter, or choose another draft."
        return [Finding("context", "warning", what, do, **common)]
    if theirs and (ours is None or theirs < ours):
        what = f"The draft's context of {theirs:,} tokens is the shorter one, but {asked:,} are all that is asked for."
        return [Finding("context", "note", what, f"Beyond {theirs:,} tokens nothing would be drafted.", **common)]
    return [Finding("context", "ok", f"A context of {asked:,} tokens is within what the models take.", **common)]


def cache(model: Examined, asked: int) -> list[Finding]:
    """Whether the memory of the text can be rolled back, and what the configuration says of it that does not count."""
    if why := running_state(model.model):
        return [_not_rolled_back(f"{model.title} cannot take part: {why}, so a rejected draft would stay in it.")]
    try:
        model.room(asked)
    except SpecvizError as error:
        return [_not_rolled_back(str(error).removesuffix(" Choose a model with attention layers only."))]
    found, config = [], model.model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None)
    if window and (kinds is None or "sliding_attention" in kinds):
        count = f"{kinds.count('sliding_attention')} of {len(kinds)}" if kinds else "all"
        what = f"{model.title} looks back {window:,} tokens in {count} layers; they keep all keys, so rollback is exact"
        found.append(Finding("cache", "note", f"{what} and the window saves no memory."))
    static = getattr(getattr(model.model, "generation_config", None), "cache_implementation", None)
    if static:
        what = f"{model.title} asks for the cache {str(static)[:40]!r}; specviz keeps buffers of its own instead."
        found.append(Finding("cache", "note", what))
    return found or [Finding("cache", "ok", f"{model.title} keeps keys and values only, which can be rolled back.")]


def _not_rolled_back(sentence: str) -> Finding:
    return Finding("cache", "fault", sentence, "Choose a model with attention layers only.")


def _another(target: Examined, draft: Examined, reason: str) -> list[Finding]:
    """The vocabularies differ: what both spell alike can still be proposed."""
    reason = reason.partition(" Choose ")[0]
    do = "Choose a draft of the same family."
    if target.tokenizer is None or draft.tokenizer is None:
        return [Finding("vocabulary", "fault", reason, do)]
    shared = shared_ids(target.tokenizer, draft.tokenizer)
    count = sum(d < draft.width and t < target.width for d, t in shared.items())
    if not count:
        reason = f"{reason} They share no string, so nothing can be proposed."
        return [Finding("vocabulary", "fault", reason, do)]
    about = "tokens whose bytes both vocabularies have one token for"
    what = f"{reason} They spell {count:,} tokens alike, which the method cross-tokenizer can propose."
    return [Finding("vocabulary", "warning", what, do, (Number("shared tokens", about, count),), "count")]


def _tokens(model: Examined) -> int:
    return model.width if model.allowed is None else int(model.allowed.sum())


def _strings(model: Examined) -> set[Any]:
    """What the ids that end a text are called; without a tokenizer the ids themselves."""
    return {model.tokenizer.convert_ids_to_tokens(i) if model.tokenizer else i for i in model.ends}


def _named(model: Examined) -> str:
    """The ids that end a text, with their strings."""
    ids = sorted(model.ends)
    names = [f"{i} ({model.tokenizer.convert_ids_to_tokens(i)!r:.40})" if model.tokenizer else str(i) for i in ids]
    return ", ".join(names[:_SHOWN]) + (f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else "")
