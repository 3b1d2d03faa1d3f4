"""What a calibration is made of: pair, method and rule, kinds of text, gammas, and how much of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.models.catalog import CatalogEntry
from specviz.trace.choices import Method, Settings
from specviz.trace.methods import METHODS
from specviz.ui.checks import PAGE_LIMITS, read_settings
from specviz.ui.controls import CHOICE, NO_PAIR, Controls
from specviz.ui.engine import Engine
from specviz.ui.tuning import Tuning, interleaved

CHOICES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)
MOST_PROMPTS, MOST_REPEATS = 6, 5
_SWEPT = {"gamma", "draft_length", "confidence", "tree"}  # the calibration itself chooses these


@dataclass(frozen=True, slots=True)
class Preset:
    """How much to measure."""

    gammas: tuple[int, ...]
    tokens: int
    prompts: int
    repeats: int


PRESETS = {
    "Quick": Preset((1, 2, 4, 8), 24, 3, 1),
    "Usual": Preset((1, 2, 3, 4, 6, 8), 48, 4, 2),
    "Thorough": Preset((1, 2, 3, 4, 5, 6, 7, 8), 96, 6, 3),
}
_FIRST = "Quick"


class TuneControls(Controls):
    """Lays itself out in the current Blocks."""

    def __init__(self, engine: Engine, entries: list[CatalogEntry]) -> None:
        preset = PRESETS[_FIRST]
        super().__init__(entries, Settings(max_new_tokens=preset.tokens), prefix="sv-tune")
        self._engine, self._kinds = engine, engine.prompt_kinds()

    def amount(self) -> None:
        """How much to measure: a preset, and what it sets."""
        preset = PRESETS[_FIRST]
        self._add("preset", gr.Radio, choices=list(PRESETS), value=_FIRST, label="How much to measure")
        self._add("gammas", gr.CheckboxGroup, choices=list(CHOICES), value=list(preset.gammas),
                  label="Gammas to measure")  # fmt: skip
        kinds = [(kind.capitalize(), kind) for kind in self._kinds]
        self._add("kinds", gr.CheckboxGroup, choices=kinds, value=self._kinds, label="Kinds of text")
        with gr.Row():
            self._number("max_new_tokens", f"Tokens (at most {PAGE_LIMITS['max_new_tokens'][2]})", 1)
            self._number("temperature", "Temperature (0: greedy)", 0.1)
        self._add("prompts", gr.Slider, minimum=1, maximum=MOST_PROMPTS, step=1, value=preset.prompts,
                  label="Prompts of each kind")  # fmt: skip
        self._add("repeats", gr.Slider, minimum=1, maximum=MOST_REPEATS, step=1, value=preset.repeats,
                  label="Repeats of each prompt")  # fmt: skip

    def wire(self) -> None:
        """A preset fills in the amounts; a choice of pair, method or rule takes controls in and out."""
        super().wire()
        filled = [self.inputs[name] for name in ("gammas", "max_new_tokens", "prompts", "repeats")]
        self.inputs["preset"].input(_amounts, self.inputs["preset"], filled, **CHOICE)

    def order(self, named: Mapping[str, Any]) -> tuple[Tuning | None, dict[str, str]]:
        """What was ordered, or the sentences by control that say what is wrong. named: raw values by control."""
        gammas = [gamma for gamma in CHOICES if gamma in _listed(named.get("gammas"))]
        chosen = {name: value for name, value in named.items() if name not in _SWEPT}
        settings, problems = read_settings({**chosen, "gamma": max(gammas, default=1), "prompt": ""})
        entry = self._entry(named.get("pair"))
        if entry is None:
            problems["pair"] = NO_PAIR
        elif why := self._ways.closed_methods(entry.key).get(METHODS[settings.method].title):
            problems["method"] = why
        if not gammas:
            problems["gammas"] = "Choose at least one gamma; plain decoding is measured beside it."
        kinds = [kind for kind in self._kinds if kind in _listed(named.get("kinds"))]
        if not kinds:
            problems["kinds"] = "Choose at least one kind of text."
        prompts = _amount(named, "prompts", "The number of prompts", MOST_PROMPTS, problems)
        repeats = _amount(named, "repeats", "Repeats", MOST_REPEATS, problems)
        if problems or entry is None:
            return None, problems
        sets = [self._engine.prompt_set(kind)[:prompts] for kind in kinds]
        return Tuning(entry.key, settings, tuple(gammas), interleaved(sets), repeats), {}

    def _of_method(self, method: Method) -> None:
        self._hidden |= _SWEPT
        super()._of_method(method)

    def _shape(self, *chosen: Any) -> dict[Any, Any]:
        swept = {self._places[name]: gr.update(visible=False) for name in _SWEPT}
        return super()._shape(*chosen) | swept


def _amounts(name: Any) -> list[Any]:
    """Gammas, tokens, prompts and repeats of a preset."""
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if preset is None:
        return [gr.skip()] * 4
    return [list(preset.gammas), preset.tokens, preset.prompts, preset.repeats]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _amount(named: Mapping[str, Any], name: str, title: str, most: int, problems: dict[str, str]) -> int:
    """A whole number from 1 to `most`; else 1, and a sentence in `problems`."""
    value = named.get(name)
    if isinstance(value, bool) or value not in range(1, most + 1):
        problems[name] = f"{title} must be a whole number from 1 to {most}."
        return 1
    return int(value)
