"""Names and folders to models: embedded, local folder, hub. Every failure is one plain sentence."""

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from specviz.models.catalog import find, local_folder, may_download
from specviz.models.pair import Pair
from specviz.trace.errors import SpecvizError

TRUST_VARIABLE = "SPECVIZ_TRUST_REMOTE_CODE"
_PATHS = re.compile(r"(?<![\w:/])/[^\s'\"]+")
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_pair(
    key: str | None = None,
    *,
    target: str | None = None,
    draft: str | None = None,
    dtype: str | None = None,
    device: str | None = None,
    strict: bool = True,
) -> Pair:
    """Load a named pair (assets/pairs.toml), or a target and a draft by folder or hub name.

    dtype: "float32", "bfloat16" or "float16"; by default bfloat16 where the device computes in it, else float32.
    device: "cpu", "cuda", ...; by default a GPU if there is one.
    strict=False: a draft that cannot take part is left out and `pair.draft_problem` says why.
    Raises SpecvizError.
    """
    device, tokenizer = _device(device), None
    if key is not None:
        if target or draft:
            raise SpecvizError("Give a named pair, or a target and a draft, not both.", field="pair")
        entry = find(key)
        if not entry.available:
            raise SpecvizError(f"{entry.title} cannot be loaded: {entry.why_not}", field="pair")
        target, draft, tokenizer = entry.target, entry.draft, entry.tokenizer
    if not target:
        raise SpecvizError("Name a pair, or a target model by folder or hub name.", field="target")
    kind = _dtype(dtype, device)
    main = load_model(target, kind, device)
    own = load_tokenizer(tokenizer or target)
    common = {"name": key, "names": (target, draft or "none"), "sources": (_source(target), draft and _source(draft))}
    try:
        second = load_model(draft, kind, device) if draft else None
        theirs = load_tokenizer(draft) if draft and not tokenizer else None
    except SpecvizError as error:
        if strict:
            raise
        pair = Pair(main, None, own, **common)
        pair.draft_problem = f"No draft is used: {error}"
        return pair
    return Pair(main, second, own, draft_tokenizer=theirs, strict=strict, **common)


def load_model(name: str, dtype: torch.dtype, device: str) -> Any:
    """One causal language model, in evaluation mode, on `device`. Raises SpecvizError."""
    from transformers import AutoModelForCausalLM

    model = _from_pretrained(AutoModelForCausalLM, name, dtype=dtype)
    if not getattr(model, "is_quantized", False):  # quantised modules are placed by their own loader
        model = _told(name, model.to, device)
    return model.requires_grad_(False).eval()


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a model. Raises SpecvizError."""
    from transformers import AutoTokenizer

    return _from_pretrained(AutoTokenizer, name)


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
    if name not in _DTYPES:
        raise SpecvizError(f"The dtype must be one of {', '.join(_DTYPES)}.", field="dtype")
    if name == "float16" and device == "cpu":
        raise SpecvizError("float16 is very slow or missing on a CPU; choose bfloat16 or float32.", field="dtype")
    return _DTYPES[name]


def _source(name: str) -> str:
    folder = local_folder(name)
    return "local folder" if folder else "hub"


def _from_pretrained(kind: Any, name: str, **options: Any) -> Any:
    where = _where(name)
    options |= {"local_files_only": isinstance(where, Path), "trust_remote_code": os.environ.get(TRUST_VARIABLE) == "1"}
    return _told(name, _load_once_or_twice, kind, where, options)


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


def _where(name: str) -> Path | str:
    if not name or not name.strip():
        raise SpecvizError("The model's name is empty; give a folder or a hub name like owner/model.", field="target")
    if (folder := local_folder(name)) is not None:
        return folder
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if name.count("/") > 1 or name.startswith((".", "/", "~")) or "\\" in name:
        raise SpecvizError(f"There is no model folder {name[:100]!r}.", field="target")
    if not may_download():
        raise SpecvizError(f"{name[:100]} is not on this machine and downloads are switched off.", field="target")
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
        return f"{name} was not found on the hub (or is private: then set HF_TOKEN)."
    if _damaged(error):
        return f"The download of {name} was damaged twice; try again later."
    if "Unrecognized configuration class" in text or "does not recognize this architecture" in text:
        return f"{name} is not a causal language model that transformers knows; choose another model."
    if any(k in kinds for k in ("ConnectionError", "ConnectTimeout", "LocalEntryNotFoundError", "OfflineModeIsEnabled",
                                "ConnectError", "ProxyError")) or "couldn't connect" in text:  # fmt: skip
        return f"The hub cannot be reached, so {name} cannot be loaded; check the network or use an embedded pair."
    first = _PATHS.sub("…", text.strip().splitlines()[0])[:160] if text.strip() else kind
    return f"{name} cannot be loaded ({kind}: {first})."
