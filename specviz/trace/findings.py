"""What the doctor found out about a pair: plain data for the page, the command line and reports."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import ConfigDict

Level = Literal["ok", "note", "warning", "fault"]
Topic = Literal[
    "loading", "files", "custom code", "device", "dtype", "quantisation", "family", "vocabulary", "special tokens",
    "end of sequence", "chat template", "context", "cache", "experts", "size", "speed", "memory", "check", "verdict",
]  # fmt: skip
Unit = Literal["count", "number", "bytes"]
VERDICTS: dict[Level, str] = {
    "ok": "Fits",
    "note": "Fits, with notes",
    "warning": "Works only through the method cross-tokenizer",
    "fault": "Cannot work",
}
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Number:
    """One number behind a finding. about: its definition.

    computed: from shapes and files alone, before anything is loaded. measured: on this machine, with the pair loaded.
    """

    name: str
    about: str
    computed: float | None = None
    measured: float | None = None
    __pydantic_config__ = _STRICT


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, and what to do (empty if there is nothing to do, or if the sentence says it).

    level: "ok"; "note": works, and this should be known; "warning": works, but perhaps not as hoped; "fault": cannot
    work. Of the last finding, the verdict, the level means what `VERDICTS` says. numbers are all in `unit`.
    """

    topic: Topic
    level: Level
    sentence: str
    advice: str = ""
    numbers: tuple[Number, ...] = field(default=())
    unit: Unit = "number"
    __pydantic_config__ = _STRICT
