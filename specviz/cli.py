"""python -m specviz  run | bench | sweep | check | doctor | replay | serve | train | schema"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from specviz.commands import bench, check, doctor, sweep
from specviz.commands.options import (
    add_pair_options,
    add_settings_options,
    ignored,
    load,
    require_readable,
    settings,
)
from specviz.commands.parser import Parser
from specviz.terminal_tables import safe
from specviz.trace.errors import SpecvizError


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
        print(f"specviz: {safe(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("specviz: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output left; Python would complain while flushing
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m specviz", description="See speculative decoding, round by round.")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    run = actions.add_parser("run", help="decode a prompt speculatively and show every round")
    _add_run_arguments(run)
    run.set_defaults(action=_run)
    for command in (bench, sweep, check, doctor):
        command.add(actions)
    replay = actions.add_parser("replay", help="show a recorded trace")
    replay.add_argument("file", type=Path, help="a trace (.json or .json.gz)")
    replay.add_argument("--csv", type=Path, metavar="DIR", help="also write rounds.csv and tokens.csv there")
    replay.set_defaults(action=_replay)
    serve = actions.add_parser("serve", help="open the page in the browser (the same as python app.py)")
    serve.set_defaults(action=_serve)
    schema = actions.add_parser("schema", help="print the JSON schema of a trace, or of a report")
    schema.add_argument("--report", action="store_true", help="of a report, which --json of other actions prints")
    schema.set_defaults(action=_schema)
    actions.add_parser("train", help="rebuild an embedded family: train tiny-code (see train tiny-code --help)")
    return parser


def _add_run_arguments(run: argparse.ArgumentParser) -> None:
    add_pair_options(run)
    run.add_argument("--prompt", help="the text to continue; read from standard input if left out")
    add_settings_options(run)
    run.add_argument("--no-plain", action="store_true", help="skip the plain lane, and with it the speedup")
    run.add_argument("--trace", type=Path, metavar="FILE", help="write the trace (.json, .json.gz)")


def _run(options: argparse.Namespace) -> int:
    from specviz.terminal import show_race, writable

    chosen = settings(options)
    prompt = sys.stdin.read() if options.prompt is None else options.prompt
    if options.trace:
        writable(options.trace)
    pair = load(options)
    from specviz.decoding.race import race

    with race(pair, prompt, chosen, plain=not options.no_plain) as running:
        show_race(running, notices=[*pair.notices, *ignored(chosen)], save_to=options.trace)
    return 0


def _replay(options: argparse.Namespace) -> int:
    from specviz.terminal import show_trace
    from specviz.trace.files import load_trace, rounds_csv, tokens_csv

    require_readable(options.file)
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

    from specviz.analysis.tables import report_schema
    from specviz.trace.files import json_schema

    print(json.dumps(report_schema() if options.report else json_schema(), indent=1, sort_keys=True))
    return 0


def _family(arguments: list[str]) -> list[str]:
    if not arguments or arguments[0] != "tiny-code":
        raise SpecvizError("Name the family to train: python -m specviz train tiny-code.")
    return arguments[1:]
