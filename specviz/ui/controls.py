"""The controls of a run, each with a place for one plain sentence when its value is bad."""

import html
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.models.catalog import CatalogEntry
from specviz.trace.schema import Settings
from specviz.ui.checks import PAGE_LIMITS
from specviz.ui.examples import Example, example_prompts

QUIET = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
_IN_MORE = {"min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "stop", "control_tokens"}
# sampled, as the embedded toy repeats itself when greedy, and one-hot p and q show little
_DEFAULT = Settings(temperature=0.8)


class Controls:
    """inputs: field name -> control. problems: field name -> the place below it for a sentence.

    `prompt`, `pair`, `settings` and `more` lay out their part where they are called; `wire` comes last.
    """

    def __init__(self) -> None:
        self.inputs: dict[str, Component] = {}
        self.problems: dict[str, gr.HTML] = {}
        self._examples: list[tuple[gr.Button, Example]] = []
        self._more: gr.Accordion | None = None

    def prompt(self) -> None:
        """The prompt and its examples."""
        examples = example_prompts()
        self._add("prompt", gr.Textbox, value=examples[0].prompt, label="Prompt", lines=4, max_lines=10)
        with gr.Row(elem_classes="sv-examples"):
            self._examples = [(gr.Button(e.title, size="sm", min_width=60), e) for e in examples]

    def pair(self, entries: list[CatalogEntry]) -> None:
        """The pairs that can be chosen, and those that cannot with the reason."""
        usable = [(f"{e.title} · {e.about}", e.key) for e in entries if e.available]
        self._add("pair", gr.Radio, choices=usable, value=usable[0][1] if usable else None, label="Pair")
        if missing := [f"{e.title}: {e.why_not}" for e in entries if not e.available]:
            lines = "".join(f"<li>{html.escape(line)}</li>" for line in missing)
            note = f"<details><summary>Not available here: {len(missing)}</summary><ul>{lines}</ul></details>"
            gr.HTML(note, elem_classes="sv-missing", apply_default_css=False)

    def settings(self) -> None:
        """What shapes the run."""
        _, least, most = PAGE_LIMITS["gamma"]
        bounds = {"minimum": least, "maximum": most, "step": 1}
        self._add("gamma", gr.Slider, value=_DEFAULT.gamma, label="Gamma: tokens drafted in a round", **bounds)
        with gr.Row():
            self._number("temperature", "Temperature (0: greedy)", 0.1)
            self._number("max_new_tokens", f"Tokens (at most {PAGE_LIMITS['max_new_tokens'][2]})", 1)
        with gr.Row():
            self._number("top_k", "Top-k (0: off)", 1)
            self._number("top_p", "Top-p (1: off)", 0.05)
        self._number("seed", "Seed", 1)
        self._add("chat", gr.Checkbox, value=False, label="Use the target's chat template")

    def more(self) -> None:
        """Settings that few runs need, folded away."""
        with gr.Accordion("More settings", open=False) as self._more:
            self._number("min_p", "Min-p (0: off)", 0.05)
            self._number("repetition_penalty", "Repetition penalty (1: off)", 0.05)
            self._number("presence_penalty", "Presence penalty (0: off)", 0.1)
            self._number("frequency_penalty", "Frequency penalty (0: off)", 0.1)
            self._add("stop", gr.Textbox, label="Stop strings, one a line", lines=2, info="\\n is a new line")
            self._add("control_tokens", gr.Checkbox, value=False, label="Read control tokens in the prompt")

    def wire(self) -> None:
        """Example buttons fill in the prompt."""
        for button, example in self._examples:
            fields = [self.inputs["prompt"], self.inputs["chat"]]
            button.click(lambda chosen=example: (chosen.prompt, chosen.chat), None, fields, **QUIET)

    def problem_updates(self, problems: dict[str, str]) -> dict[Component, Any]:
        """Updates that show these sentences and hide all others; the folded part opens if one is in it."""
        updates: dict[Component, Any] = {
            place: gr.update(value=html.escape(problems.get(name, "")), visible=name in problems)
            for name, place in self.problems.items()
        }
        if _IN_MORE & problems.keys():
            updates[self._more] = gr.update(open=True)
        return updates

    def _add(self, name: str, make: Any, **options: Any) -> None:
        with gr.Column(min_width=120, elem_classes="sv-field"):
            self.inputs[name] = make(elem_id=f"sv-{name.replace('_', '-')}", **options)
            self.problems[name] = gr.HTML(
                visible=False,
                html_template="<p class='sv-problem' role='alert'>${value}</p>",
                apply_default_css=False,
            )

    def _number(self, name: str, label: str, step: float) -> None:
        """A number box without limits of its own: Python checks, and the sentence stands below."""
        self._add(name, gr.Number, value=getattr(_DEFAULT, name), label=label, step=step)
