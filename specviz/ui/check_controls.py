"""What a check is made of: pair and rule; the place, its draws and the wrong rules; the texts to compare."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from specviz.trace.checked import FAULTS, FIRST_PROMPT, SAMPLED
from specviz.trace.errors import SpecvizError
from specviz.ui.checking import Draws, Texts
from specviz.ui.checks import PAGE_LIMITS, read_settings
from specviz.ui.controls import NO_PAIR, Controls
from specviz.ui.engine import Engine
from specviz.ui.prompt_choice import PromptChoice
from specviz.ui.ways import rule_choices

LEAST_DRAWS, MOST_DRAWS, FIRST_DRAWS = 500, 100_000, 10_000
_SHARED = ("rule", "gamma")
_PLACE = ("temperature", "top_k", "seed")


class CheckControls(Controls):
    """Lays itself out in the current Blocks. prompts: the choice of texts."""

    prompts: PromptChoice

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.entries(), SAMPLED, prefix="sv-check")
        self._engine = engine

    def both(self) -> None:
        """What draws and texts share."""
        self.pair()
        self._add("rule", gr.Radio, choices=rule_choices(), value=SAMPLED.rule, label="Rule under test")
        self._add("gamma", gr.Slider, minimum=1, maximum=8, step=1, value=SAMPLED.gamma,
                  label="Gamma: tokens drafted in a round")  # fmt: skip

    def draws(self) -> None:
        """One place, the rules that are wrong on purpose, and how much to draw."""
        wrong = [(info.title, key) for key, info in FAULTS.items()]
        with gr.Accordion("Draw one place", open=True):
            self._add("faults", gr.CheckboxGroup, choices=wrong, value=list(FAULTS), label="Wrong on purpose")
            self._add("prompt", gr.Textbox, value=FIRST_PROMPT, label="What comes after this text", lines=3)
            self._add("draws", gr.Slider, minimum=LEAST_DRAWS, maximum=MOST_DRAWS, step=500, value=FIRST_DRAWS,
                      label="Draws under each rule")  # fmt: skip
            looked = [("the next token", 1), ("the next two tokens", 2)]
            self._add("tokens", gr.Radio, choices=looked, value=2, label="A draw is")
            with gr.Row():
                self._number("temperature", "Temperature", 0.1)
                self._number("top_k", "Top-k (1 to 32)", 1)
            self._number("seed", "Seed", 1)

    def texts(self) -> None:
        """Greedy texts: which prompts, how long."""
        with gr.Accordion("Compare greedy texts", open=False) as self._more:
            self.prompts = PromptChoice(self._engine, "sv-check")
            self._place_for_problem("prompts")
            most = PAGE_LIMITS["max_new_tokens"][2]
            self._number("max_new_tokens", f"Tokens (at most {most})", 1)

    def draws_order(self, values: Mapping[Any, Any]) -> tuple[Draws | None, dict[str, str]]:
        """What to draw, or the sentences by control that say what is wrong. values: by control."""
        named = self.named(values)
        settings, problems = read_settings({name: named[name] for name in (*_SHARED, *_PLACE, "prompt")})
        pair = self._pair(named, problems)
        draws, tokens = named["draws"], named["tokens"]
        if isinstance(draws, bool) or draws not in range(LEAST_DRAWS, MOST_DRAWS + 1):
            problems["draws"] = f"Draws must be a whole number from {LEAST_DRAWS} to {MOST_DRAWS:,} on this page."
        if tokens not in (1, 2) or isinstance(tokens, bool):
            problems["tokens"] = "A draw is one token or two."
        if problems:
            return None, problems
        ticked = named["faults"] if isinstance(named["faults"], list) else []
        rules = (settings.rule, *(fault for fault in FAULTS if fault in ticked))
        return Draws(pair, named["prompt"], rules, int(draws), settings, int(tokens)), {}

    def texts_order(self, values: Mapping[Any, Any]) -> tuple[Texts | None, dict[str, str]]:
        """What to decode, or the sentences by control that say what is wrong. values: by control."""
        named = self.named(values)
        settings, problems = read_settings(
            {name: named[name] for name in (*_SHARED, "max_new_tokens")} | {"prompt": ""}
        )
        pair = self._pair(named, problems)
        try:
            prompts = self.prompts.prompts(dict(values))
        except SpecvizError as error:
            problems["prompts"] = str(error)
        if problems:
            return None, problems
        return Texts(pair, prompts, settings), {}

    def problem_updates(self, problems: dict[str, str]) -> dict[Any, Any]:
        """As of all controls; the folded texts open if a sentence is in them."""
        updates = super().problem_updates(problems)
        if {"prompts", "max_new_tokens"} & problems.keys():
            updates[self._more] = gr.update(open=True)
        return updates

    def _pair(self, named: Mapping[str, Any], problems: dict[str, str]) -> str:
        """The pair's key; a sentence in `problems` if there is none."""
        entry = self._entry(named["pair"])
        if entry is None:
            problems["pair"] = NO_PAIR
            return ""
        return entry.key
