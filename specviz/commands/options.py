"""Options that several actions share: which pair, and which settings."""

import argparse
import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.models.catalog import DTYPES
from specviz.trace.errors import SpecvizError
from specviz.trace.methods import METHODS, OPTIONAL, RULES, used_settings
from specviz.trace.schema import Settings
from specviz.trace.settings import BAD_TREE, require_valid, tree_widths

if TYPE_CHECKING:
    from specviz.models.pair import Pair

DEFAULT_PAIR = "tiny-code"
HELP = {
    "gamma": "tokens drafted per round; 0 is plain decoding",
    "max_new_tokens": "how many tokens to emit at most",
    "temperature": "0 is greedy",
    "top_k": "keep the k most likely tokens; 0 turns it off",
    "top_p": "keep the most likely tokens that reach this mass; 1 turns it off",
    "min_p": "drop tokens below this share of the most likely one; 0 turns it off",
    "repetition_penalty": "above 1 makes tokens of prompt and output less likely",
    "presence_penalty": "subtracted from logits of tokens in the output",
    "frequency_penalty": "the same, times their count",
    "seed": "same seed, same settings: same text",
    "top_n": "entries of each distribution that the trace keeps (1-20)",
    "confidence": "with --draft-length confidence: stop after a token to which the draft gave less",
    "ngram_max": "prompt lookup: longest n-gram to look for",
    "ngram_min": "prompt lookup: shortest n-gram to look for",
    "typical_epsilon": "typical acceptance: a token stands above min(epsilon, delta exp(-entropy))",
    "typical_delta": "the same rule's delta",
}
CHOICES = {
    "method": ("who drafts", METHODS),
    "rule": ("what is accepted", RULES),
    "draft_length": ("how long a draft is", ("constant", "confidence", "heuristic")),
    "ngram_tie": ("prompt lookup: which of several places", ("latest", "first")),
}


def flag(name: str) -> str:
    """The option of a setting: --max-new-tokens for max_new_tokens."""
    return f"--{name.replace('_', '-')}"


def add_pair_options(parser: argparse.ArgumentParser, many: bool = False) -> None:
    """Which models, in which precision, where; read by `load`. many: several pairs and several precisions."""
    several = {"nargs": "+"} if many else {}
    parser.add_argument(
        "--pair", **several, help=f"a named pair, e.g. {DEFAULT_PAIR} (the default unless --target is given)"
    )
    parser.add_argument("--target", help="target model: folder or hub name")
    parser.add_argument("--draft", help="draft model: folder or hub name")
    parser.add_argument("--medusa", help="folder or file of Medusa heads for the target")
    parser.add_argument(
        "--dtype", choices=DTYPES, **several, help="default: bfloat16 where the device computes in it, else float32"
    )
    parser.add_argument("--device", help="cpu, cuda, ...; default: a GPU if there is one")


def add_settings_options(parser: argparse.ArgumentParser, leave_out: Collection[str] = ()) -> None:
    """One option per setting, read by `settings`; without those that an action declares in its own way."""
    defaults = Settings()
    for name, text in HELP.items():
        if name not in leave_out:
            value = getattr(defaults, name)
            parser.add_argument(flag(name), type=type(value), default=value, help=f"{text} (default {value})")
    for name, (text, choices) in CHOICES.items():
        if name not in leave_out:
            value = getattr(defaults, name)
            parser.add_argument(flag(name), choices=list(choices), default=value, help=f"{text} (default {value})")
    parser.add_argument("--exit-layer", type=int, help="early exit: layers that draft (default: a quarter of them)")
    parser.add_argument("--tree", metavar="WIDTHS", help='children per node at each depth, e.g. "3 2 1"')
    parser.add_argument("--stop", action="append", default=[], help="a text that ends the output; may be repeated")
    if "chat" not in leave_out:
        parser.add_argument("--chat", action="store_true", help="put the prompt into the target's chat template")
    parser.add_argument(
        "--control-tokens", action="store_true", help="text like <|im_end|> counts as the control token"
    )


def require_readable(*paths: Path, folders: bool = False) -> None:
    """Raise SpecvizError for a file (or with `folders` a folder) that cannot be read, its path named as it was given.

    What reads it names the last part only, because the page says the same and must not show where its server is.
    """
    for path in paths:
        why = "Permission denied"
        try:
            if path.is_dir() and not folders:
                why = "Is a directory"
            elif path.stat() and os.access(path, os.R_OK):
                continue
        except OSError as error:
            why = error.strerror
        raise SpecvizError(f"Cannot read {path}: {why}.")


def require_one_pair(options: argparse.Namespace) -> None:
    """Raise SpecvizError if the options of a pair contradict each other."""
    if options.pair and options.target:
        raise SpecvizError("Give --pair or --target, not both.")
    if options.draft and not options.target:
        raise SpecvizError("Give --target too: --draft alone does not say which model to check against.")


def load(options: argparse.Namespace, **changes: Any) -> "Pair":
    """The pair that was asked for; `changes` (pair, dtype ...) stand in for options. Raises SpecvizError."""
    asked = argparse.Namespace(**vars(options) | changes)
    require_one_pair(asked)
    from specviz.models.loading import load_pair

    return load_pair(
        None if asked.target else asked.pair or DEFAULT_PAIR,
        target=asked.target, draft=asked.draft, medusa=asked.medusa, dtype=asked.dtype, device=asked.device,
    )  # fmt: skip


def settings(options: argparse.Namespace, **changes: Any) -> Settings:
    """The settings that were asked for, checked; `changes` stand in for options. Raises SpecvizError."""
    widths = tree_widths(options.tree)
    if widths is None:
        raise SpecvizError(BAD_TREE, field="tree")
    asked = vars(options)
    given = {name: asked[name] for name in (*HELP, *CHOICES, "exit_layer", "chat", "control_tokens") if name in asked}
    made = replace(Settings(tree=widths, stop=tuple(options.stop)), **given | changes)
    require_valid(made)
    return made


def ignored(settings: Settings) -> list[str]:
    """One sentence that names what was given but takes no part in this run; empty if all does."""
    used, plain = used_settings(settings.method, settings.rule, settings), Settings()
    if settings.gamma == 0:
        used = frozenset({"gamma"})  # nothing drafts
    elif settings.draft_length == "confidence" and "confidence" not in used:
        used -= {"draft_length"}  # this method has no such policy
    given = [name for name in sorted(OPTIONAL - used) if getattr(settings, name) != getattr(plain, name)]
    names = ", ".join(map(flag, given))
    return [f"This combination of settings does not use {names}."] if names else []
