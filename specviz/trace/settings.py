"""What a setting may be: one plain sentence per bad field, for the page, the command line and the engine."""

from collections.abc import Sequence
from typing import Any, get_args

from specviz.trace.choices import DraftLength, Method, Rule, Settings
from specviz.trace.errors import SpecvizError

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
    "confidence": ("The confidence", False, 0, 1),
    "ngram_max": ("The longest n-gram", True, 1, 16),
    "ngram_min": ("The shortest n-gram", True, 1, 16),
    "exit_layer": ("The exit layer", True, 1, 1000),
    "typical_epsilon": ("Typical epsilon", False, 0, 1),
    "typical_delta": ("Typical delta", False, 0, 10),
}
_OFF = {"top_k": "0 turns it off", "top_p": "1 turns it off", "temperature": "0 is greedy"}
_CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "method": ("method", get_args(Method)),
    "rule": ("rule", get_args(Rule)),
    "draft_length": ("draft length policy", get_args(DraftLength)),
    "ngram_tie": ("tie rule", ("latest", "first")),
}
MAX_STOPS, MAX_STOP_LENGTH = 16, 200
MAX_NODES, MAX_DEPTH = 64, 16
BAD_TREE = "The tree must be whole numbers above 0, such as 3 2 1: children per node at each depth."


def check_settings(settings: Settings) -> dict[str, str]:
    """Field name -> what is wrong and what to do, for every bad field; empty if all is well."""
    problems = {}
    for name in LIMITS:
        value = getattr(settings, name)
        if name == "exit_layer" and value is None:
            continue
        if problem := _number(name, value):
            problems[name] = problem
    for name, (title, choices) in _CHOICES.items():
        value = getattr(settings, name)
        if value not in choices:
            problems[name] = f"There is no {title} {str(value)[:40]!r}; choose one of {', '.join(choices)}."
    if not problems.keys() & {"ngram_min", "ngram_max"} and settings.ngram_min > settings.ngram_max:
        problems["ngram_min"] = "The shortest n-gram must not be longer than the longest one."
    if problem := _tree(settings.tree):
        problems["tree"] = problem
    if "top_p" not in problems and settings.top_p == 0:
        problems["top_p"] = "Top-p must be above 0 (1 turns it off)."
    if problem := _stops(settings.stop):
        problems["stop"] = problem
    return problems


def require_valid(settings: Settings) -> None:
    """Raise SpecvizError with the first problem of `check_settings`, its field named."""
    for name, sentence in check_settings(settings).items():
        raise SpecvizError(sentence, field=name)


def require_tokens(settings: Settings) -> None:
    """Raise SpecvizError if no token may come out, for those who measure: of none there is nothing to tell."""
    if settings.max_new_tokens < 1:
        title, _, _, most = LIMITS["max_new_tokens"]
        sentence = (
            f"{title} must be a whole number from 1 to {most:,} here, as without one there is nothing to measure."
        )
        raise SpecvizError(sentence, field="max_new_tokens")


def tree_widths(text: Any) -> tuple[int, ...] | None:
    """Children per node at each depth from a text such as "3 2 1" or "3, 2, 1"; empty for a chain (no text or None).

    None, for which `BAD_TREE` is the sentence, for anything else than whole numbers above 0 in a text. Whether the
    tree is too large is for `check_settings` to say.
    """
    if text is None:
        return ()
    if not isinstance(text, str):
        return None
    words = text.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() for word in words):
        return None
    widths = tuple(int(word[:9]) for word in words)  # enough to be too large; Python refuses thousands of digits
    return widths if all(widths) else None


def node_count(widths: Sequence[int]) -> int:
    """Nodes of a tree with so many children per node at each depth; 0 for a chain."""
    nodes, level = 0, 1
    for width in widths:
        level *= width
        nodes += level
    return nodes


def exit_layer(asked: int | None, layers: int) -> int:
    """How many of a target's `layers` layers draft: `asked`, or a quarter of them for None.

    Raises SpecvizError for less than one, or if none is left to check the draft.
    """
    if layers < 2:
        raise SpecvizError(
            "Early exit needs a target with at least two layers; choose another method.", field="exit_layer"
        )
    if asked is None:
        return max(1, layers // 4)
    if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked < layers:
        raise SpecvizError(
            f"The exit layer must be a whole number from 1 to {layers - 1}: the target has {layers} layers, and at "
            "least one must be left to check the draft.",
            field="exit_layer",
        )
    return asked


def _tree(widths: Any) -> str | None:
    if not isinstance(widths, tuple | list) or any(isinstance(w, bool) or not isinstance(w, int) for w in widths):
        return "A tree is a list of whole numbers: children per node at each depth, such as 3 2 1."
    if any(not 1 <= w <= MAX_NODES for w in widths) or len(widths) > MAX_DEPTH:
        return f"A tree has 1 to {MAX_NODES} children per node and at most {MAX_DEPTH} depths."
    if (nodes := node_count(widths)) > MAX_NODES:
        return f"This tree has {nodes} nodes; give one of at most {MAX_NODES}."
    return None


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
