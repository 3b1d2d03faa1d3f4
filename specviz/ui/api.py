"""The page's function for programs: one run, as the JSON of its trace."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import gradio as gr

from specviz.trace.errors import SpecvizError
from specviz.trace.files import to_plain
from specviz.ui.checks import read_settings
from specviz.ui.desk import Desk
from specviz.ui.engine import Engine
from specviz.ui.turns import POLL

_PATIENCE = 60.0  # seconds a call waits for its turn


def make_run_trace(engine: Engine, desk: Desk) -> Callable[..., dict[str, Any]]:
    """The endpoint on this engine; the first available pair is used."""

    def run_trace(
        prompt: str,
        gamma: int = 4,
        max_new_tokens: int = 64,
        temperature: float = 0.0,
        seed: int = 0,
        method: str = "draft-model",
        rule: str = "rejection",
        tree: str = "",
    ) -> dict[str, Any]:
        """Decode a prompt speculatively and plainly with the embedded pair.

        Args:
            prompt: The text to continue.
            gamma: Tokens drafted in a round, 1 to 16.
            max_new_tokens: Tokens to write at most, 1 to 512.
            temperature: 0 is greedy.
            seed: The same seed gives the same run.
            method: Who drafts: draft-model, prompt-lookup, composite, early-exit, medusa or cross-tokenizer.
            rule: What is accepted: rejection, greedy-draft, match, block or typical (which changes the output).
            tree: Children per node at each depth, such as "3 2 1", where the method drafts trees; empty is a chain.

        Returns:
            The trace: settings, provenance, rounds with every p and q, times; the plain lane is `baseline`.
        """
        values = {
            "prompt": prompt,
            "gamma": gamma,
            "max_new_tokens": max_new_tokens,
            "temperature": temperature,
            "seed": seed,
            "method": method,
            "rule": rule,
            "tree": tree,
        }
        try:
            return _run(engine, desk, values)
        except SpecvizError as error:
            sentence = str(error)
        raise gr.Error(sentence, print_exception=False)

    return run_trace


def _run(engine: Engine, desk: Desk, values: dict[str, Any]) -> dict[str, Any]:
    settings, problems = read_settings(values)
    if problems:
        raise SpecvizError(" ".join(problems.values()))
    key = next((entry.key for entry in engine.entries() if entry.available), None)
    if key is None:
        raise SpecvizError("No pair can be loaded here.")
    with desk.take_ticket() as ticket:
        deadline = monotonic() + _PATIENCE
        while ticket.ahead:
            if monotonic() > deadline:
                raise SpecvizError("Busy: other runs have the model. Try again in a minute.")
            sleep(POLL)
        with engine.race(ticket.pair(key), values["prompt"], settings, True) as race:
            for _ in race:
                pass
        return to_plain(race.trace)
