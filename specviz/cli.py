"""python -m specviz  run | replay | serve | train | schema"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from specviz.trace.errors import SpecvizError
from specviz.trace.methods import METHODS, OPTIONAL, RULES, used_settings
from specviz.trace.schema import Settings
from specviz.trace.settings import BAD_TREE, require_valid, tree_widths

_HELP = {
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
_CHOICES = {
    "method": ("who drafts", METHODS),
    "rule": ("what is accepted", RULES),
    "draft_length": ("how long a draft is", ("constant", "confidence", "heuristic")),
    "ngram_tie": ("prompt lookup: which of several places", ("latest", "first")),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; 0 if all went well, 1 with one sentence on stderr if not, 130 after Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["train"]:
            from specviz.training.tiny_code import main as train

            return train(_family(arguments[1:]))
        options = _parser().parse_args(arguments)
        return options.action(options)
    except SpecvizError as error:
        print(f"specviz: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("specviz: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output left; Python would complain while flushing
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m specviz", description="See speculative decoding, round by round.")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    run = actions.add_parser("run", help="decode a prompt speculatively and show every round")
    _add_run_arguments(run)
    run.set_defaults(action=_run)
    replay = actions.add_parser("replay", help="show a recorded trace")
    replay.add_argument("file", type=Path, help="a trace (.json or .json.gz)")
    replay.add_argument("--csv", type=Path, metavar="DIR", help="also write rounds.csv and tokens.csv there")
    replay.set_defaults(action=_replay)
    serve = actions.add_parser("serve", help="open the page in the browser (the same as python app.py)")
    serve.set_defaults(action=_serve)
    schema = actions.add_parser("schema", help="print the JSON schema of a trace")
    schema.set_defaults(action=_schema)
    actions.add_parser("train", help="rebuild an embedded family: train tiny-code (see train tiny-code --help)")
    return parser


def _add_run_arguments(run: argparse.ArgumentParser) -> None:
    run.add_argument("--pair", help="a named pair, e.g. tiny-code (the default unless --target is given)")
    run.add_argument("--target", help="target model: folder or hub name")
    run.add_argument("--draft", help="draft model: folder or hub name")
    run.add_argument("--medusa", help="folder or file of Medusa heads for the target")
    run.add_argument("--prompt", help="the text to continue; read from standard input if left out")
    defaults = Settings()
    for name, text in _HELP.items():
        value = getattr(defaults, name)
        run.add_argument(
            f"--{name.replace('_', '-')}", type=type(value), default=value, help=f"{text} (default {value})"
        )
    for name, (text, choices) in _CHOICES.items():
        value = getattr(defaults, name)
        run.add_argument(
            f"--{name.replace('_', '-')}", choices=list(choices), default=value, help=f"{text} (default {value})"
        )
    run.add_argument("--exit-layer", type=int, help="early exit: layers that draft (default: a quarter of them)")
    run.add_argument("--tree", metavar="WIDTHS", help='children per node at each depth, e.g. "3 2 1"')
    run.add_argument("--stop", action="append", default=[], help="a text that ends the output; may be repeated")
    run.add_argument("--chat", action="store_true", help="put the prompt into the target's chat template")
    run.add_argument("--control-tokens", action="store_true", help="text like <|im_end|> counts as the control token")
    run.add_argument(
        "--dtype",
        choices=["float32", "bfloat16", "float16"],
        help="default: bfloat16 where the device computes in it, else float32",
    )
    run.add_argument("--device", help="cpu, cuda, ...; default: a GPU if there is one")
    run.add_argument("--no-plain", action="store_true", help="skip the plain lane, and with it the speedup")
    run.add_argument("--trace", type=Path, metavar="FILE", help="write the trace (.json, .json.gz)")


def _run(options: argparse.Namespace) -> int:
    from specviz.terminal import show_race, writable

    settings = _settings(options)
    prompt = sys.stdin.read() if options.prompt is None else options.prompt
    if options.trace:
        writable(options.trace)
    require_valid(settings)
    if options.pair and options.target:
        raise SpecvizError("Give --pair or --target, not both.")
    if options.draft and not options.target:
        raise SpecvizError("Give --target too: --draft alone does not say which model to check against.")
    from specviz.decoding.race import race
    from specviz.models.loading import load_pair

    pair = load_pair(
        None if options.target else options.pair or "tiny-code",
        target=options.target, draft=options.draft, medusa=options.medusa, dtype=options.dtype, device=options.device,
    )  # fmt: skip
    with race(pair, prompt, settings, plain=not options.no_plain) as running:
        show_race(running, notices=[*pair.notices, *_ignored(settings)], save_to=options.trace)
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    widths = tree_widths(options.tree)
    if widths is None:
        raise SpecvizError(BAD_TREE, field="tree")
    return Settings(
        **{name: getattr(options, name) for name in (*_HELP, *_CHOICES, "exit_layer")},
        tree=widths,
        stop=tuple(options.stop),
        chat=options.chat,
        control_tokens=options.control_tokens,
    )


def _ignored(settings: Settings) -> list[str]:
    """One sentence that names what was given but takes no part in this run; empty if all does."""
    used, plain = used_settings(settings.method, settings.rule, settings), Settings()
    if settings.gamma == 0:
        used = frozenset({"gamma"})  # nothing drafts
    elif settings.draft_length == "confidence" and "confidence" not in used:
        used -= {"draft_length"}  # this method has no such policy
    given = [name for name in sorted(OPTIONAL - used) if getattr(settings, name) != getattr(plain, name)]
    names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
    return [f"This combination of settings does not use {names}."] if names else []


def _replay(options: argparse.Namespace) -> int:
    from specviz.terminal import show_trace
    from specviz.trace.files import load_trace, rounds_csv, tokens_csv

    trace = load_trace(options.file)
    show_trace(trace)
    if options.csv:
        options.csv.mkdir(parents=True, exist_ok=True)
        (options.csv / "rounds.csv").write_text(rounds_csv(trace))
        (options.csv / "tokens.csv").write_text(tokens_csv(trace))
        print(f"tables: {options.csv / 'rounds.csv'}, {options.csv / 'tokens.csv'}")
    return 0


def _serve(options: argparse.Namespace) -> int:
    from specviz.ui.app import build, launch_options

    build().launch(**launch_options())
    return 0


def _schema(options: argparse.Namespace) -> int:
    import json

    from specviz.trace.files import json_schema

    print(json.dumps(json_schema(), indent=1, sort_keys=True))
    return 0


def _family(arguments: list[str]) -> list[str]:
    if not arguments or arguments[0] != "tiny-code":
        raise SpecvizError("Name the family to train: python -m specviz train tiny-code.")
    return arguments[1:]
