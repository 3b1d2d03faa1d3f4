"""python -m specviz check: one place sampled under the rules, and greedy text against plain decoding."""

import argparse
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from specviz.commands.measuring import add_prompt_options, measured_settings, prompts
from specviz.commands.options import CHOICES, HELP, add_pair_options, add_settings_options, flag, load, settings
from specviz.commands.outputs import add_output_options, deliver, note, require_writable
from specviz.trace.checked import FAULTS, FIRST_PROMPT, SAMPLED
from specviz.trace.errors import SpecvizError

if TYPE_CHECKING:
    from specviz.models.pair import Pair
    from specviz.trace.checked import Compared, Place, Tally
    from specviz.trace.measured import PromptText
    from specviz.trace.schema import Settings

_TALLIES = 10  # rows of each rule in the table of growth
_OWN = ("gamma", "temperature", "top_k")


def add(actions: Any) -> None:
    """Register the action."""
    parser = actions.add_parser(
        "check", help="test that a rule keeps the target's distribution, and that greedy text is plain decoding's"
    )
    add_pair_options(parser)
    parser.add_argument(
        "--rule", nargs="+", choices=list(CHOICES["rule"][1]), default=["rejection"],
        help="what is accepted; several are all sampled, and the first decodes the greedy texts",
    )  # fmt: skip
    parser.add_argument("--broken", action="store_true", help="also sample rules that are wrong on purpose")
    parser.add_argument(
        "--draws", type=int, default=20_000,
        help="draws after the first --prompt, drafted by the draft model; 0 leaves this test out (default 20000)",
    )  # fmt: skip
    parser.add_argument("--tokens", type=int, choices=[1, 2], default=2, help="tokens of a draw (default 2)")
    parser.add_argument("--no-greedy", action="store_true", help="leave out the greedy texts")
    for name in _OWN:
        value = getattr(SAMPLED, name)
        parser.add_argument(flag(name), type=type(value), default=value, help=f"{HELP[name]} (default {value})")
    add_settings_options(parser, leave_out=("rule", "chat", *_OWN))
    add_prompt_options(parser)
    add_output_options(parser)
    parser.set_defaults(action=_check)


def _check(options: argparse.Namespace) -> int:
    from specviz.analysis.equality import verdict
    from specviz.analysis.lossless import failed, lossless_report

    require_writable(options)
    texts = prompts(options)
    made = settings if options.no_greedy else measured_settings  # draws have a length of their own
    chosen = made(options, rule=options.rule[0], chat=options.chat)
    if not options.draws and options.no_greedy:
        raise SpecvizError("Nothing is left to check: leave out --no-greedy, or give --draws.")
    pair = load(options)
    for notice in pair.notices:
        note(notice)
    place, tallies = _sampled(pair, chosen, options) if options.draws else (None, [])
    comparisons = [] if options.no_greedy else list(_compared(pair, texts, chosen))
    deliver(lossless_report(place, tallies, comparisons), options)
    wrong = bool(place and failed(place, tallies)) or any(verdict(c) == "fault" for c in comparisons)
    return 1 if wrong else 0


def _sampled(pair: "Pair", chosen: "Settings", options: argparse.Namespace) -> tuple["Place", list["Tally"]]:
    from tqdm import tqdm

    from specviz.decoding.lossless import EVERY, sample_place

    rules = [*dict.fromkeys(options.rule), *(FAULTS if options.broken else ())]
    prompt, every = (options.prompt or [FIRST_PROMPT])[0], max(EVERY, options.draws // _TALLIES)
    with (
        sample_place(pair, prompt, rules, options.draws, chosen, tokens=options.tokens, every=every) as sampling,
        tqdm(total=options.draws, unit="draw", leave=False, disable=None) as bar,
    ):
        tallies = []
        for tally in sampling:
            if tally is not None:
                tallies.append(tally)
                bar.update(tally.draws - bar.n)
        return sampling.place, tallies


def _compared(pair: "Pair", texts: list["PromptText"], chosen: "Settings") -> Iterator["Compared"]:
    from tqdm import tqdm

    from specviz.decoding.recheck import compare_greedy

    with (
        closing(compare_greedy(pair, texts, chosen)) as running,
        tqdm(total=len(texts), unit="prompt", leave=False, disable=None) as bar,
    ):
        for compared in running:
            if compared is not None:
                bar.update()
                yield compared
