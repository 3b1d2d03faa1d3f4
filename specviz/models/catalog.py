"""Named pairs (assets/pairs.toml), and where on this machine their files are."""

import json
import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from specviz.trace.choices import Method
from specviz.trace.errors import SpecvizError
from specviz.trace.methods import METHODS

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FOLDER_VARIABLE = "SPECVIZ_MODELS"
DTYPES = ("float32", "bfloat16", "float16")  # precisions that a pair can be loaded in, by torch's names
_WEIGHTS = ("model.safetensors", "pytorch_model.bin", "medusa_lm_head.safetensors", "medusa_lm_head.pt")
PARTS = {"draft": "draft", "medusa": "Medusa heads", "foreign": "draft with another tokenizer"}  # beside the target


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A pair that can be chosen by name. why_not: a sentence if it cannot be loaded here and now.

    tokenizer: the one of both models, if it is not in the target's folder. medusa: a folder of heads for the target.
    foreign: a draft with a tokenizer of its own.
    """

    key: str
    title: str
    about: str
    target: str
    draft: str | None = None
    tokenizer: str | None = None
    medusa: str | None = None
    foreign: str | None = None
    embedded: bool = False
    why_not: str | None = None

    @property
    def available(self) -> bool:
        """Whether it can be loaded here and now."""
        return self.why_not is None

    @property
    def others(self) -> list[str]:
        """What the pair has beside a target and a draft of the same vocabulary."""
        return [name for name in (self.medusa, self.foreign) if name]

    def methods(self) -> dict[Method, str | None]:
        """Each method, and a sentence why this pair cannot use it here and now (None: it can)."""
        return {name: self.why_not or self.lacks(info.needs) for name, info in METHODS.items()}

    def lacks(self, need: str | None) -> str | None:
        """A sentence why the part that a method needs ("draft", ...) cannot be had here and now; None if it can."""
        if need is None:
            return None
        if (name := getattr(self, need)) is None:
            return f"{self.title} has no {PARTS[need]}; choose another pair or method."
        missing = _missing([name], self.key, self.embedded)
        return missing and f"{self.title} lacks its {PARTS[need]}: {missing}"


def entries() -> list[CatalogEntry]:
    """All named pairs, in the file's order, each with whether it can be loaded here."""
    return [_entry(key, table) for key, table in _tables().items()]


def find(key: str) -> CatalogEntry:
    """The entry of that name. Raises SpecvizError with the names there are."""
    tables = _tables()
    if key not in tables:
        raise SpecvizError(f"There is no pair named {key[:60]!r}; choose one of {', '.join(tables)}.", field="pair")
    return _entry(key, tables[key])


def local_folder(name: str) -> Path | None:
    """The folder of a model named like `owner/model` or `family/part`, if its files are on this machine.

    Looks in assets/models, then below SPECVIZ_MODELS (by full name, then by its last part), then in the
    hub's cache. Touches no network.
    """
    for folder in _candidates(name):
        if any((folder / name).is_file() for name in ("config.json", "tokenizer.json", *_WEIGHTS)):
            return folder
    return _hub_snapshot(name)


def may_download() -> bool:
    """Whether the hub may be asked; off when the user set HF_HUB_OFFLINE."""
    return os.environ.get("HF_HUB_OFFLINE", "0").upper() not in ("1", "ON", "YES", "TRUE")


def _candidates(name: str) -> list[Path]:
    found = [ASSETS / "models" / name]
    if extra := os.environ.get(FOLDER_VARIABLE):
        found += [Path(extra) / name, Path(extra) / name.rsplit("/", 1)[-1]]
    return found


def _hub_snapshot(name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return None
    folder = Path(config).parent if isinstance(config, str) else None
    return folder if folder and _has_weights(folder) else None


def _has_weights(folder: Path) -> bool:
    """Whether a download is whole: an interrupted one must go on, not pass for a local folder."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        shards = set(json.loads(index.read_text())["weight_map"].values())
        return all((folder / shard).exists() for shard in shards)
    return any((folder / name).exists() for name in _WEIGHTS)


def _entry(key: str, table: dict[str, Any]) -> CatalogEntry:
    why_not = _missing([table["target"], table["draft"]], key, table.get("embedded", False))
    return CatalogEntry(key, **table, why_not=why_not)


def _missing(names: list[str], key: str, embedded: bool) -> str | None:
    """Why a part of the pair `key` cannot be had here and now; None if all can."""
    missing = [name for name in names if local_folder(name) is None]
    if missing and embedded:
        return f"its files are missing from assets/models; run python -m specviz train {key}."
    if missing and not may_download():
        return f"{missing[0]} is not on this machine and downloads are switched off."
    return None


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads((ASSETS / "pairs.toml").read_text())
