"""Which prompts a measurement is made on: some of a set, or one's own."""

from typing import Any

import gradio as gr

from specviz.trace.errors import SpecvizError
from specviz.trace.measured import PromptText
from specviz.ui.checks import MOST_CHARACTERS
from specviz.ui.controls import CHOICE
from specviz.ui.engine import Engine

_OWN = "own"
MOST_PROMPTS = 8


class PromptChoice:
    """Lays itself out in the current Blocks; prefix: of the ids of its elements. inputs: its controls."""

    def __init__(self, engine: Engine, prefix: str) -> None:
        self._engine = engine
        sets = engine.prompt_kinds()
        choices = [*((kind.capitalize(), kind) for kind in sets), ("My own text", _OWN)]
        self._kind = gr.Radio(choices, value=choices[0][1], label="Prompts", elem_id=f"{prefix}-prompts")
        self._count = gr.Slider(1, MOST_PROMPTS, value=4, step=1, label="How many of them", visible=bool(sets),
                                elem_id=f"{prefix}-prompt-count")  # fmt: skip
        self._text = gr.Textbox(label="Text", lines=4, max_lines=10, visible=not sets, elem_id=f"{prefix}-own")
        self.inputs = [self._kind, self._count, self._text]
        self._kind.input(self._show, self._kind, [self._count, self._text], **CHOICE)

    def prompts(self, values: dict[Any, Any]) -> list[PromptText]:
        """The prompts chosen. Raises SpecvizError with a sentence for a choice that holds none."""
        kind, number, text = (values.get(control) for control in self.inputs)
        if kind == _OWN:
            if not isinstance(text, str) or not text:
                raise SpecvizError("Write the text that the lanes shall continue, or choose a set of prompts.")
            if len(text) > MOST_CHARACTERS:
                raise SpecvizError(f"The text must have at most {MOST_CHARACTERS:,} characters; give a shorter one.")
            return [PromptText("own text", "other", text)]
        if not isinstance(number, int | float) or isinstance(number, bool) or not 1 <= number <= MOST_PROMPTS:
            raise SpecvizError(f"The number of prompts must be from 1 to {MOST_PROMPTS}.")
        return self._engine.prompt_set(str(kind))[: int(number)]

    def _show(self, kind: Any) -> list[Any]:
        return [gr.update(visible=kind != _OWN), gr.update(visible=kind == _OWN)]
