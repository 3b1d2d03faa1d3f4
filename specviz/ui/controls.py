"""The controls of a run, each with a place for one plain sentence when its value is bad."""

import html
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.models.catalog import CatalogEntry
from specviz.trace.choices import Method, Settings
from specviz.trace.methods import METHODS, OPTIONAL, RULES
from specviz.ui.checks import PAGE_LIMITS
from specviz.ui.examples import Example, example_prompts
from specviz.ui.ways import Ways, rule_choices, rule_note

QUIET = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
CHOICE = QUIET | {"trigger_mode": "always_last"}  # else gradio drops a choice made while another awaits its answer
Updates = dict[Any, Any]
NO_PAIR = "No pair is chosen, or it cannot be loaded here; the list below says why."
_IN_MORE = {"min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "stop", "control_tokens"}
# sampled, as the embedded toy repeats itself when greedy, and one-hot p and q show little
_DEFAULT = Settings(temperature=0.8)
# a short text below a control, with a mark for what must not be overlooked
_NOTE: dict[str, Any] = {
    "html_template": "<p>${value}</p>",
    "css_template": "p { margin: 0 2px; font-size: 12.5px; color: var(--body-text-color-subdued); } "
    "mark { display: inline-block; background: none; color: var(--body-text-color); font-weight: 600; "
    "border: 1px solid currentColor; border-radius: 4px; padding: 0 5px; }",
    "apply_default_css": False,
}


class Controls:
    """inputs: field name -> control. problems: field name -> the place below it for a sentence.

    `prompt`, `pair`, `ways`, `settings` and `more` lay out their part where they are called; `wire` comes last.
    Controls that the chosen method and rule do not use are taken out of the page.
    first: what stands in the controls at the beginning. prefix: of the ids of the elements, one for each set.
    """

    def __init__(self, entries: list[CatalogEntry], first: Settings = _DEFAULT, prefix: str = "sv") -> None:
        self.inputs: dict[str, Component] = {}
        self.problems: dict[str, gr.HTML] = {}
        self._entries, self._ways = entries, Ways(entries)
        self._first, self._prefix = first, prefix
        self._places: dict[str, gr.Column] = {}
        self._hidden: frozenset[str] = frozenset()
        self._examples: list[tuple[gr.Button, Example]] = []
        self._more: gr.Accordion | None = None

    def prompt(self) -> None:
        """The prompt and its examples."""
        examples = example_prompts()
        self._add("prompt", gr.Textbox, value=examples[0].prompt, label="Prompt", lines=4, max_lines=10)
        with gr.Row(elem_classes="sv-examples"):
            self._examples = [(gr.Button(e.title, size="sm", min_width=60), e) for e in examples]

    def pair(self) -> None:
        """The pairs that can be chosen, and those that cannot with the reason."""
        usable = [(f"{e.title} · {e.about}", e.key) for e in self._entries if e.available]
        self._add("pair", gr.Radio, choices=usable, value=usable[0][1] if usable else None, label="Pair")
        missing = {e.title: e.why_not for e in self._entries if not e.available}
        gr.HTML(_missing(missing), elem_classes="sv-missing", apply_default_css=False)

    def ways(self) -> None:
        """Who drafts and what is accepted, and the settings that only some of them use."""
        pair, rule = self.inputs["pair"].value, self._first.rule
        usable = self._ways.open_methods(pair)
        method = _known(self._first.method, usable, usable[0])
        self._add("method", gr.Radio, choices=_titles(usable), value=method, label="Method")
        self._note = gr.HTML(html.escape(METHODS[method].about), **_NOTE)
        self._closed = gr.HTML(_missing(self._ways.closed_methods(pair)), elem_classes="sv-missing",
                               apply_default_css=False)  # fmt: skip
        self._add("rule", gr.Radio, choices=rule_choices(), value=rule, label="Rule of acceptance")
        self._rule_note = gr.HTML(rule_note(rule), **_NOTE)
        self._hidden = OPTIONAL - self._ways.used(method, rule, self._first.draft_length, "")
        self._of_method(method)

    def _of_method(self, method: Method) -> None:
        """The settings that only some methods and rules use."""
        _, least, most = PAGE_LIMITS["gamma"]
        bounds = {"minimum": least, "maximum": most, "step": 1}
        choices = self._ways.draft_lengths(method)
        self._add("gamma", gr.Slider, value=self._first.gamma, label="Gamma: tokens drafted in a round", **bounds)
        self._add("draft_length", gr.Radio, choices=choices, value=self._first.draft_length, label="Draft length")
        self._number("confidence", "Stop below this probability", 0.05)
        with gr.Row():
            self._number("ngram_max", "Longest n-gram", 1)
            self._number("ngram_min", "Shortest n-gram", 1)
        ties = [("the latest", "latest"), ("the earliest", "first")]
        self._add("ngram_tie", gr.Radio, choices=ties, value=self._first.ngram_tie, label="Of equal matches take")
        # text, as an empty number box that comes back to the page holds a 0 (Gradio 6.31)
        self._add("exit_layer", gr.Textbox, value="", label="Layers that draft (empty: a quarter)", max_lines=1)
        self._add("tree", gr.Textbox, value="", label="Tree: children per node at each depth (empty: a chain)",
                  placeholder="3 2 1", max_lines=1)  # fmt: skip
        with gr.Row():
            self._number("typical_epsilon", "Epsilon", 0.01)
            self._number("typical_delta", "Delta", 0.05)

    def settings(self) -> None:
        """What shapes every run."""
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
        """Example buttons fill in the prompt; a choice of pair, method or rule takes controls in and out."""
        for button, example in self._examples:
            fields = [self.inputs["prompt"], self.inputs["chat"]]
            # in the browser: of two quick choices the last one stands, which a server answering both cannot promise
            chosen = json.dumps([example.prompt, example.chat])
            button.click(None, None, fields, js=f"() => {chosen}", **QUIET)
        pair, method, rule, length, tree = (self.inputs[n] for n in ("pair", "method", "rule", "draft_length", "tree"))
        shape = [self._note, self._rule_note, *(self._places[name] for name in sorted(OPTIONAL))]
        chosen = [method, rule, length, tree]
        pair.input(self._choose_pair, [pair, *chosen], [method, self._closed, length, *shape], **CHOICE)
        method.input(self._choose_method, chosen, [length, *shape], **CHOICE)
        gr.on([rule.input, length.input, tree.blur, tree.submit], self._shape, chosen, shape, **CHOICE)

    def _choose_pair(self, pair: Any, method: Any, *others: Any) -> Updates:
        """The methods of another pair; the chosen one stays if it is among them."""
        usable = self._ways.open_methods(pair)
        method = _known(method, usable, usable[0])
        methods = {
            self.inputs["method"]: gr.update(choices=_titles(usable), value=method),
            self._closed: _missing(self._ways.closed_methods(pair)),
        }
        return methods | self._choose_method(method, *others)

    def _choose_method(self, method: Any, rule: Any, length: Any, tree: Any) -> Updates:
        """The draft lengths of another method; the chosen one stays if it is among them."""
        choices = self._ways.draft_lengths(_known(method, METHODS, _DEFAULT.method))
        length = _known(length, [key for _, key in choices], _DEFAULT.draft_length)
        lengths = {self.inputs["draft_length"]: gr.update(choices=choices, value=length)}
        return lengths | self._shape(method, rule, length, tree)

    def _shape(self, method: Any, rule: Any, length: Any, tree: Any) -> Updates:
        """What stands on the page for these choices; they come from the browser, so they may be anything."""
        method, rule = _known(method, METHODS, _DEFAULT.method), _known(rule, RULES, _DEFAULT.rule)
        used = self._ways.used(method, rule, length, tree)
        places = {self._places[name]: gr.update(visible=name in used) for name in sorted(OPTIONAL)}
        return places | {self._note: html.escape(METHODS[method].about), self._rule_note: rule_note(rule)}

    def problem_updates(self, problems: dict[str, str]) -> Updates:
        """Updates that show these sentences and hide all others; the folded part opens if one is in it."""
        updates: Updates = {
            place: gr.update(value=html.escape(problems.get(name, "")), visible=name in problems)
            for name, place in self.problems.items()
        }
        if _IN_MORE & problems.keys():
            updates[self._more] = gr.update(open=True)
        return updates

    def named(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """Raw values by field name; values: by control."""
        return {name: values.get(control) for name, control in self.inputs.items()}

    def _entry(self, key: Any) -> CatalogEntry | None:
        """The pair that was chosen, if it can be loaded here."""
        return next((entry for entry in self._entries if entry.key == key and entry.available), None)

    def _add(self, name: str, make: Any, **options: Any) -> None:
        with gr.Column(visible=name not in self._hidden, min_width=120, elem_classes="sv-field") as self._places[name]:
            self.inputs[name] = make(elem_id=f"{self._prefix}-{name.replace('_', '-')}", **options)
            self._place_for_problem(name)

    def _place_for_problem(self, name: str) -> None:
        self.problems[name] = problem_place()

    def _number(self, name: str, label: str, step: float) -> None:
        """A number box without limits of its own: Python checks, and the sentence stands below."""
        self._add(name, gr.Number, value=getattr(self._first, name), label=label, step=step)


def problem_place() -> gr.HTML:
    """A place for one sentence, empty and hidden."""
    return gr.HTML(
        visible=False, html_template="<p class='sv-problem' role='alert'>${value}</p>", apply_default_css=False
    )


def _known(value: Any, known: Collection[str], default: str) -> Any:
    return value if isinstance(value, str) and value in known else default


def _titles(methods: Sequence[Method]) -> list[tuple[str, Method]]:
    return [(METHODS[method].title, method) for method in methods]


def _missing(reasons: Mapping[str, str | None]) -> str:
    """A folded list of what cannot be chosen here, each with its reason; nothing if all can."""
    if not reasons:
        return ""
    lines = "".join(f"<li>{html.escape(f'{title}: {reason}')}</li>" for title, reason in reasons.items())
    return f"<details><summary>Not available here: {len(reasons)}</summary><ul>{lines}</ul></details>"
