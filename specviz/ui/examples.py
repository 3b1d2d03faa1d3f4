"""What the page shows before anyone runs anything: recorded runs and example prompts."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specviz.models.catalog import ASSETS
from specviz.trace.files import load_trace
from specviz.ui.writer import replay_lines

TRACES = ASSETS / "traces"
PROMPTS = ASSETS / "prompts" / "examples.toml"


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt to start from. chat: it needs a chat template."""

    title: str
    prompt: str
    chat: bool = False


def recorded_runs(folder: Path) -> dict[str, str]:
    """File name -> title of every recorded run, in the order of the names."""
    paths = sorted(folder.glob("*.json.gz"))
    return {p.name: load_trace(p).title or p.name.removesuffix(".json.gz") for p in paths}


@cache
def recorded_lines(path: Path) -> str:
    """The player's lines of a recorded run."""
    return replay_lines(load_trace(path), "recorded")


def example_prompts() -> list[Example]:
    """The example prompts, in the file's order."""
    tables = tomllib.loads(PROMPTS.read_text(encoding="utf-8"))["example"]
    return [Example(t["title"], t["prompt"], t.get("chat", False)) for t in tables]
