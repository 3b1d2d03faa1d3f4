"""What the page shows before anyone runs anything: recorded runs and example prompts."""

import logging
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specviz.models.catalog import ASSETS
from specviz.trace.errors import SpecvizError
from specviz.trace.files import load_trace
from specviz.ui.writer import replay_lines

logger = logging.getLogger(__name__)
TRACES = ASSETS / "traces"
PROMPTS = ASSETS / "prompts" / "examples.toml"


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt to start from. chat: it needs a chat template."""

    title: str
    prompt: str
    chat: bool = False


def recorded_runs(folder: Path) -> dict[str, str]:
    """File name -> title of every recorded run that can be read, in the order of the names."""
    runs = {}
    for path in sorted(folder.glob("*.json.gz")):
        try:
            runs[path.name] = load_trace(path).title or path.name.removesuffix(".json.gz")
        except SpecvizError as error:
            logger.warning("%s is left out: %s", path.name, error)
    return runs


@cache
def recorded_lines(path: Path) -> str:
    """The player's lines of a recorded run."""
    return replay_lines(load_trace(path), "recorded")


def example_prompts() -> list[Example]:
    """The example prompts, in the file's order."""
    tables = tomllib.loads(PROMPTS.read_text(encoding="utf-8"))["example"]
    return [Example(t["title"], t["prompt"].removesuffix("\n"), t.get("chat", False)) for t in tables]
