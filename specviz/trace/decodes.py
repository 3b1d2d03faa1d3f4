"""The decodes of a measurement in a folder: one trace each, and a list that says which lane and prompt it is of."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from specviz.trace.errors import SpecvizError
from specviz.trace.files import load_trace, save_trace
from specviz.trace.measured import Decoded, PromptKind, Reference
from specviz.trace.schema import Settings

LIST = "decodes.json"


@dataclass(frozen=True, slots=True)
class _Entry:
    file: str
    lane: str
    prompt: str
    kind: PromptKind = "other"
    repeat: int = 0
    memory: int | None = None
    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class _List:
    decodes: list[_Entry]
    references: list[Reference] = field(default_factory=list)
    __pydantic_config__ = ConfigDict(extra="forbid")


def save_decodes(decodes: Sequence[Decoded], references: Sequence[Reference], folder: str | Path) -> list[Path]:
    """Write every trace with its plain lane, and the list; returns the files of the traces."""
    folder, entries = Path(folder), []
    folder.mkdir(parents=True, exist_ok=True)
    for number, d in enumerate(decodes, start=1):
        name = "-".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:40] for part in (d.lane, d.prompt))
        file = f"{number:04}-{name}-{d.repeat}.json.gz"
        save_trace(d.trace, folder / file)
        entries.append(_Entry(file, d.lane, d.prompt, d.kind, d.repeat, d.memory))
    (folder / LIST).write_text(
        json.dumps(asdict(_List(entries, list(references))), indent=1, ensure_ascii=False) + "\n"
    )
    return [folder / entry.file for entry in entries]


def load_decodes(paths: Iterable[str | Path]) -> tuple[list[Decoded], list[Reference]]:
    """Decodes from folders that `save_decodes` wrote, and from single traces; references from folders only.

    A single trace whose folder has no list that names it is a lane named after its method and settings; traces of
    the same prompt ids are of one prompt, and equal lanes of it are repeats. Raises SpecvizError for a file that is
    no trace, or a trace without a plain lane, of which no speedup can be told.
    """
    listed: list[tuple[Path, _Entry | None]] = []
    references: list[Reference] = []
    for path in map(Path, paths):
        if path.is_dir():
            content = _read(path / LIST)
            listed += [(path / entry.file, entry) for entry in content.decodes]
            references += content.references
        else:
            known = _read(path.parent / LIST).decodes if (path.parent / LIST).is_file() else []
            listed.append((path, next((entry for entry in known if entry.file == path.name), None)))
    if not listed:
        raise SpecvizError("There are no decodes to read; name folders written by --traces, or traces.")
    return _decoded(listed), references


def settings_name(settings: Settings) -> str:
    """A lane in a few words: who drafts, how many tokens, by which rule if not the usual one."""
    if not settings.gamma:
        return "no draft"
    length = f"tree {' '.join(map(str, settings.tree))}" if settings.tree else f"gamma {settings.gamma}"
    policy = "" if settings.tree or settings.draft_length == "constant" else f" ({settings.draft_length})"
    rule = "" if settings.rule == "rejection" else f", {settings.rule}"
    return f"{settings.method}, {length}{policy}{rule}"


def _decoded(listed: Sequence[tuple[Path, _Entry | None]]) -> list[Decoded]:
    decodes, prompts = [], {}
    seen: Counter[tuple[str, str]] = Counter()
    for path, entry in listed:
        trace = load_trace(path)
        if trace.baseline is None:
            raise SpecvizError(f"{path.name} has no plain lane, so its speedup is unknown; record it with one.")
        if entry is None:
            prompt = prompts.setdefault(tuple(trace.prompt.ids), f"prompt {len(prompts) + 1}")
            lane = settings_name(trace.settings)
            entry = _Entry(path.name, lane, prompt, repeat=seen[lane, prompt])
            seen[entry.lane, entry.prompt] += 1
        decodes.append(Decoded(entry.lane, trace, entry.prompt, entry.kind, entry.repeat, entry.memory))
    return decodes


def _read(path: Path) -> _List:
    try:
        content = TypeAdapter(_List).validate_json(path.read_bytes())
    except OSError as error:
        raise SpecvizError(f"Cannot read {path}: {error.strerror or error}.") from None
    except ValidationError:
        raise SpecvizError(f"{path} is damaged; measure again with --traces.") from None
    if any(Path(entry.file).name != entry.file for entry in content.decodes):
        raise SpecvizError(f"{path} names files outside its folder; that is not read.")
    return content
