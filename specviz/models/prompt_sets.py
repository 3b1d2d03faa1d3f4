"""Sets of prompts for measurements, by kind (assets/prompts), and prompts from a file of one's own."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from specviz.models.catalog import ASSETS
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import PromptKind, PromptText

_KNOWN = frozenset({"name", "kind", "text", "chat", "origin"})
MAX_BYTES = 4 * 1024 * 1024


def kinds() -> list[PromptKind]:
    """The kinds of which there is a set, in the order of `PromptKind`."""
    return [kind for kind in get_args(PromptKind) if _path(kind).is_file()]


def load_set(kind: str) -> list[PromptText]:
    """The prompts of a kind, in the file's order. Raises SpecvizError with the kinds there are."""
    if kind not in kinds():
        raise SpecvizError(f"There is no set of prompts {kind[:40]!r}; choose one of {', '.join(kinds())}.")
    return from_file(_path(kind))


def from_file(path: str | Path) -> list[PromptText]:
    """Prompts of a file: TOML like assets/prompts/code.toml, a JSON list of texts or of the same tables, or one text.

    A table has `text` and may have name, kind, chat and origin; what stands at the top of a TOML file holds for all.
    Raises SpecvizError if the file cannot be read or holds something else.
    """
    path = Path(path)
    text = _read(path)
    if path.suffix == ".toml":
        whole = _parsed(tomllib.loads, text, path)
        rows, shared = whole.pop("prompt", []), whole
    elif path.suffix == ".json":
        rows, shared = _parsed(json.loads, text, path), {}
    else:
        rows, shared = [text], {}
    if not isinstance(rows, list) or not rows:
        raise SpecvizError(f"{path.name} holds no prompts; give a list of tables named prompt, each with a text.")
    prompts = [_prompt(row, shared, f"{path.stem} {place}", path) for place, row in enumerate(rows, start=1)]
    _require_distinct([p.name for p in prompts], path)
    return prompts


def _prompt(row: Any, shared: Mapping[str, Any], name: str, path: Path) -> PromptText:
    own = row if isinstance(row, Mapping) else {"text": row}
    table = {"name": name, "kind": "other"} | {k: v for k, v in (*shared.items(), *own.items()) if k in _KNOWN}
    texts = [table.get(key, "") for key in ("name", "text", "origin")]
    if not all(isinstance(t, str) for t in texts) or not table.get("text") or table["kind"] not in get_args(PromptKind):
        raise SpecvizError(
            f"{path.name}: {name} is no prompt; it needs a text, and its kind is one of "
            f"{', '.join(get_args(PromptKind))}."
        )
    if path.suffix == ".toml":  # TOML drops the line break after the opening quotes; the one before the closing ones
        table["text"] = table["text"].removesuffix("\n")
    return PromptText(**table | {"chat": bool(table.get("chat", False))})


def _require_distinct(names: Sequence[str], path: Path) -> None:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SpecvizError(f"{path.name} has two prompts named {twice[:40]!r}; give each its own name.")


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
        if len(data) > MAX_BYTES:
            raise SpecvizError(f"{path.name} is larger than {MAX_BYTES >> 20} MB; give fewer prompts.")
        return data.decode()
    except OSError as error:
        raise SpecvizError(f"Cannot read {path.name}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise SpecvizError(f"{path.name} is not text in UTF-8; save it as such.") from None


def _parsed(parse: Callable[[str], Any], text: str, path: Path) -> Any:
    try:
        return parse(text)
    except ValueError as error:  # of tomllib and of json
        raise SpecvizError(f"{path.name} is damaged: {error}.") from None


def _path(kind: str) -> Path:
    return ASSETS / "prompts" / f"{kind}.toml"
