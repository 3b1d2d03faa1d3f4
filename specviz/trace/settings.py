"""What a setting may be: one plain sentence per bad field, for the page, the command line and the engine."""

from typing import Any

from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Settings

# field: (what it is called, whole number?, least, most)
LIMITS: dict[str, tuple[str, bool, float, float]] = {
    "gamma": ("Gamma", True, 0, 64),
    "max_new_tokens": ("The number of tokens", True, 0, 8192),
    "temperature": ("The temperature", False, 0, 100),
    "top_k": ("Top-k", True, 0, 1_000_000),
    "top_p": ("Top-p", False, 0, 1),
    "min_p": ("Min-p", False, 0, 1),
    "repetition_penalty": ("The repetition penalty", False, 0.01, 10),
    "presence_penalty": ("The presence penalty", False, -10, 10),
    "frequency_penalty": ("The frequency penalty", False, -10, 10),
    "seed": ("The seed", True, 0, 10**15),
    "top_n": ("The number of recorded entries", True, 1, 20),
}
_OFF = {"top_k": "0 turns it off", "top_p": "1 turns it off", "temperature": "0 is greedy"}
MAX_STOPS, MAX_STOP_LENGTH = 16, 200


def check_settings(settings: Settings) -> dict[str, str]:
    """Field name -> what is wrong and what to do, for every bad field; empty if all is well."""
    problems = {}
    for name in LIMITS:
        if problem := _number(name, getattr(settings, name)):
            problems[name] = problem
    if "top_p" not in problems and settings.top_p == 0:
        problems["top_p"] = "Top-p must be above 0 (1 turns it off)."
    if problem := _stops(settings.stop):
        problems["stop"] = problem
    return problems


def require_valid(settings: Settings) -> None:
    """Raise SpecvizError with the first problem of `check_settings`, its field named."""
    for name, sentence in check_settings(settings).items():
        raise SpecvizError(sentence, field=name)


def _number(name: str, value: Any) -> str | None:
    title, whole, least, most = LIMITS[name]
    kind = "a whole number" if whole else "a number"
    off = f" ({_OFF[name]})" if name in _OFF else ""
    ends = f"{least:,} to {most:,}" if whole else f"{least:g} to {most:g}"
    sentence = f"{title} must be {kind} from {ends}{off}."
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return sentence
    return None if least <= value <= most else sentence  # NaN compares false


def _stops(stops: Any) -> str | None:
    if not isinstance(stops, tuple | list) or not all(isinstance(s, str) for s in stops):
        return "Stop strings must be a list of texts."
    if len(stops) > MAX_STOPS:
        return f"Give at most {MAX_STOPS} stop strings."
    if any(not s or len(s) > MAX_STOP_LENGTH for s in stops):
        return f"A stop string must have 1 to {MAX_STOP_LENGTH} characters."
    return None
