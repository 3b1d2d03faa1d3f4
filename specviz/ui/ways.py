"""The ways to draft that a pair offers, and the settings that each of them uses."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from specviz.models.catalog import CatalogEntry
from specviz.trace.choices import DraftLength, Method, Rule, Settings
from specviz.trace.methods import METHODS, RULES, used_settings
from specviz.trace.settings import tree_widths

_LENGTHS: dict[DraftLength, str] = {
    "constant": "always gamma",
    "confidence": "stop when unsure",
    "heuristic": "+2 after a full accept, -1 after a rejection",
}


class Ways:
    """Which methods each pair can be used with, by the pair's key."""

    def __init__(self, entries: Sequence[CatalogEntry]) -> None:
        self._reasons: dict[str, Mapping[Method, str | None]] = {e.key: e.methods() for e in entries if e.available}

    def open_methods(self, pair: Any) -> list[Method]:
        """Methods that the pair can be used with, in the order of METHODS; all of them if there is no such pair."""
        reasons = self._of(pair)
        return [method for method in METHODS if reasons.get(method) is None]

    def closed_methods(self, pair: Any) -> dict[str, str]:
        """Title of each method that the pair cannot be used with -> the reason."""
        return {METHODS[method].title: reason for method, reason in self._of(pair).items() if reason is not None}

    def draft_lengths(self, method: Method) -> list[tuple[str, DraftLength]]:
        """The draft length policies of a method as (label, key)."""
        confident = "confidence" in METHODS[method].uses
        return [(label, key) for key, label in _LENGTHS.items() if confident or key != "confidence"]

    def used(self, method: Method, rule: Rule, draft_length: DraftLength, tree: Any) -> frozenset[str]:
        """Settings that take part in this combination; a tree that cannot be read counts as none."""
        chosen = Settings(method=method, rule=rule, draft_length=draft_length, tree=tree_widths(tree) or ())
        return used_settings(method, rule, chosen)

    def _of(self, pair: Any) -> Mapping[Method, str | None]:
        return self._reasons.get(pair, {}) if isinstance(pair, str) else {}


def rule_choices() -> list[tuple[str, Rule]]:
    """The rules as (label, key); a rule that is not exact says so before it is chosen."""
    return [(info.title if info.exact else f"{info.title} (changes the output)", key) for key, info in RULES.items()]


def rule_note(rule: Rule) -> str:
    """HTML of one line on a rule: what it does, who uses it, and whether it changes the output."""
    info = RULES[rule]
    mark = "" if info.exact else "<mark>changes the output</mark> "
    return f"{mark}{html.escape(info.about)} Used by: {html.escape(info.used_by)}."
