"""Names and folders to models: embedded, local folder, hub. Every failure is one plain sentence."""

import copy
import errno
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch

from specviz.models.catalog import DTYPES, PARTS, CatalogEntry, find, local_folder, may_download
from specviz.models.foreign import Foreign
from specviz.models.medusa import MedusaHeads, load_heads
from specviz.models.pair import Pair
from specviz.models.pairing import logits_width
from specviz.trace.errors import SpecvizError

TRUST_VARIABLE = "SPECVIZ_TRUST_REMOTE_CODE"
_NO_NETWORK = ("ConnectError", "ConnectTimeout", "ReadTimeout", "ConnectionError", "ProxyError")  # names of errors
_PATHS = re.compile(r"(?<![\w:/])/[^\s'\"]+")


def load_pair(
    key: str | None = None,
    *,
    target: str | None = None,
    draft: str | None = None,
    medusa: str | None = None,
    dtype: str | None = None,
    device: str | None = None,
    strict: bool = True,
) -> Pair:
    """Load a named pair (assets/pairs.toml), or a target and what drafts for it by folder or hub name.

    draft: a draft whose vocabulary is another one drafts through the strings that both share. medusa: heads made for
    this target. dtype: "float32", "bfloat16" or "float16"; by default bfloat16 where the device computes in it, else
    float32. device: "cpu", "cuda", ...; by default a GPU if there is one.
    strict=False: what cannot take part is left out and `pair.problems` says why; so are, always, the heads and the
    draft with another tokenizer of a named pair. Raises SpecvizError.
    """
    if key is not None and (target or draft or medusa):
        raise SpecvizError("Give a named pair, or a target and what drafts for it, not both.", field="pair")
    kind, device = place(dtype, device)
    entry, problems = _named(key) if key is not None else _unnamed(target, draft, medusa), {}
    main, own = load_model(entry.target, kind, device), load_tokenizer(entry.tokenizer or entry.target)

    def part(need: str, load: Callable[[str], Any], must: bool) -> Any:
        """What `load` makes of the entry's folder or name; None, perhaps with a problem, if there is none."""
        if (name := getattr(entry, need)) is None:
            return None
        try:
            if key is not None and (why := entry.lacks(need)):
                raise SpecvizError(why)
            return load(name)
        except SpecvizError as error:
            if must:
                raise
            problems[need] = f"No {PARTS[need]} {'are' if need == 'medusa' else 'is'} used: {error}"

    must = strict and key is None  # a named pair works without its extra parts
    second, theirs = part("draft", lambda name: _load_draft(name, entry, kind, device), strict) or (None, None)
    heads = part("medusa", lambda name: _load_medusa(name, main, kind, device), must)
    foreign = part("foreign", lambda name: _load_foreign(name, main, own, kind, device), must)
    pair = Pair(
        main,
        second,
        own,
        draft_tokenizer=theirs,
        medusa=heads,
        foreign=foreign,
        name=key,
        names=(entry.target, entry.draft or "none"),
        sources=(_source(entry.target), entry.draft and _source(entry.draft)),
        strict=strict,
    )
    pair.problems |= problems
    return pair


def load_model(name: str, dtype: torch.dtype, device: str) -> Any:
    """One causal language model, in evaluation mode, on `device`. Raises SpecvizError."""
    from transformers import AutoModelForCausalLM

    model = _from_pretrained(AutoModelForCausalLM, name, dtype=dtype)
    if not getattr(model, "is_quantized", False):  # quantised modules are placed by their own loader
        model = _told(name, model.to, device)
    return model.requires_grad_(False).eval()


def load_skeleton(name: str, dtype: torch.dtype) -> Any:
    """The model that `load_model` would load, from its configuration alone: on the meta device, so without weights.

    Raises SpecvizError as `load_model` does.
    """
    from transformers import AutoConfig, GenerationConfig

    model = skeleton(name, _from_pretrained(AutoConfig, name), dtype)
    with suppress(SpecvizError):  # a folder without that file keeps what the model made of its configuration
        model.generation_config = _from_pretrained(GenerationConfig, name)
    return model


def skeleton(name: str, config: Any, dtype: torch.dtype) -> Any:
    """The model of a configuration on the meta device: every shape, no numbers. Raises SpecvizError."""
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        return _told(name, partial(AutoModelForCausalLM.from_config, dtype=dtype), copy.deepcopy(config)).eval()


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a model. Raises SpecvizError."""
    from transformers import AutoTokenizer

    return _from_pretrained(AutoTokenizer, name)


def place(dtype: str | None, device: str | None) -> tuple[torch.dtype, str]:
    """The precision and the device of a pair, chosen where None. Raises SpecvizError for what cannot be had here."""
    where = _device(device)
    return _dtype(dtype, where), where


def best_device() -> str:
    """A CUDA GPU if there is one, else the CPU. (Apple's GPU has no float64, which the exact rule needs.)"""
    return "cuda" if torch.cuda.is_available() else "cpu"


def default_dtype(device: str) -> torch.dtype:
    """bfloat16 where the device computes in it, else float32 (float16 overflows in some families)."""
    if device.startswith("cuda"):
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        native = device == "cpu" and any(
            on for name, on in torch.cpu.get_capabilities().items() if name.endswith("bf16")
        )
    return torch.bfloat16 if native else torch.float32


def _named(key: str) -> CatalogEntry:
    entry = find(key)
    if not entry.available:
        raise SpecvizError(f"{entry.title} cannot be loaded: {entry.why_not}", field="pair")
    return entry


def _unnamed(target: str | None, draft: str | None, medusa: str | None) -> CatalogEntry:
    if not target:
        raise SpecvizError("Name a pair, or a target model by folder or hub name.", field="target")
    return CatalogEntry("", target, "", target, draft, medusa=medusa)


def _load_draft(name: str, entry: CatalogEntry, dtype: torch.dtype, device: str) -> tuple[Any, Any | None]:
    """A draft and its own tokenizer, None if it shares the target's."""
    model = load_model(name, dtype, device)
    return model, None if entry.tokenizer else load_tokenizer(name)


def _load_foreign(name: str, target: Any, tokenizer: Any, dtype: torch.dtype, device: str) -> Foreign:
    model = load_model(name, dtype, device)
    return Foreign(model, load_tokenizer(name), tokenizer, logits_width(target), name, _source(name))


def _load_medusa(name: str, target: Any, dtype: torch.dtype, device: str) -> MedusaHeads:
    from huggingface_hub import snapshot_download

    where = locate(name)
    folder = where if isinstance(where, Path) else Path(_told(name, snapshot_download, where))
    hidden = int(target.config.get_text_config().hidden_size)
    return load_heads(folder, hidden, logits_width(target), dtype, device)


def _device(name: str | None) -> str:
    if name is None:
        return best_device()
    kind = name.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise SpecvizError(f"specviz runs on cpu and cuda, not on {name[:40]!r}.", field="device")
    if kind == "cuda" and not torch.cuda.is_available():
        raise SpecvizError("There is no CUDA GPU here; choose the device cpu.", field="device")
    return name


def _dtype(name: str | None, device: str) -> torch.dtype:
    if name is None:
        return default_dtype(device)
    if name not in DTYPES:
        raise SpecvizError(f"The dtype must be one of {', '.join(DTYPES)}.", field="dtype")
    if name == "float16" and device == "cpu":
        raise SpecvizError("float16 is very slow or missing on a CPU; choose bfloat16 or float32.", field="dtype")
    return getattr(torch, name)


def _source(name: str) -> str:
    folder = local_folder(name)
    return "local folder" if folder else "hub"


def _from_pretrained(kind: Any, name: str, **options: Any) -> Any:
    where = locate(name)
    local = isinstance(where, Path) or not _reachable(where)  # the hub's cache may hold what is needed
    options |= {"local_files_only": local, "trust_remote_code": os.environ.get(TRUST_VARIABLE) == "1"}
    return _told(name, _load_once_or_twice, kind, where, options)


def _reachable(name: str) -> bool:
    """Whether there is a way to the hub, asked once: a loader would try for half a minute a file, and log every time.

    Any answer will do, also that it has no such model: the loader finds out and `_explain` tells.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    try:
        get_hf_file_metadata(hf_hub_url(name, "config.json"))
    except Exception as error:
        return type(error).__name__ not in _NO_NETWORK
    return True


def _load_once_or_twice(kind: Any, where: Path | str, options: dict[str, Any]) -> Any:
    try:
        return kind.from_pretrained(where, **options)
    except OSError as error:
        if not _damaged(error):
            raise
    return kind.from_pretrained(where, force_download=True, **options)  # once more, from the start


def _told(name: str, action: Callable[..., Any], *arguments: Any) -> Any:
    """Do it, or raise SpecvizError. The old error is let go first: its frames hold half-loaded models."""
    try:
        return action(*arguments)
    except Exception as error:
        sentence = _explain(name, error)
    raise SpecvizError(sentence, field="target")


def _damaged(error: Exception) -> bool:
    return "consistency" in f"{type(error).__name__} {error}".lower()


def locate(name: str) -> Path | str:
    """The folder of a model on this machine, else its name on the hub. Raises SpecvizError if it cannot be either."""
    if not name or not name.strip():
        raise SpecvizError("The model's name is empty; give a folder or a hub name like owner/model.", field="target")
    if (folder := local_folder(name)) is not None:
        return folder
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if name.count("/") > 1 or name.startswith((".", "/", "~")) or "\\" in name:
        raise SpecvizError(f"There is no model folder {name[:100]!r}; check its path.", field="target")
    if not may_download():
        what = f"{name[:100]} is not on this machine and downloads are switched off"
        raise SpecvizError(f"{what}; give a folder, or unset HF_HUB_OFFLINE.", field="target")
    return name


def _explain(name: str, error: Exception) -> str:
    """One sentence for what a loader may raise; never a token, a path or a traceback."""
    name, text, kind = name[:100], str(error), type(error).__name__
    cause = error.__cause__ or error
    kinds = {kind, type(cause).__name__}
    link = f"https://huggingface.co/{name}"
    if "GatedRepoError" in kinds or "gated repo" in text:
        return f"{name} is gated: accept its terms at {link} and set HF_TOKEN, then try again."
    if "trust_remote_code" in text or "custom code" in text:
        return f"{name} needs its own Python code to run, which specviz does not run; choose another model."
    if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in text:
        return f"The disk is full while loading {name}; free some space and try again."
    if "out of memory" in text.lower() or isinstance(error, MemoryError):
        return f"There is not enough memory for {name}; choose a smaller model."
    if "RepositoryNotFoundError" in kinds or "is not a valid model identifier" in text or "404" in text:
        return f"{name} was not found on the hub; check the name, or set HF_TOKEN if it is private."
    if _damaged(error):
        return f"The download of {name} was damaged twice; try again later."
    if "Unrecognized configuration class" in text or "does not recognize this architecture" in text:
        return f"{name} is not a causal language model that transformers knows; choose another model."
    if kinds & {*_NO_NETWORK, "LocalEntryNotFoundError", "OfflineModeIsEnabled"} or "couldn't connect" in text:
        return f"The hub cannot be reached, so {name} cannot be loaded; check the network or use an embedded pair."
    first = _PATHS.sub("…", text.strip().splitlines()[0])[:160] if text.strip() else kind
    return f"{name} cannot be loaded ({kind}: {first}); check its files, or choose another model."
