"""What `bench` and `sweep` share: prompts, and a measurement with its progress on stderr."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.commands.options import require_readable, settings
from specviz.commands.outputs import note
from specviz.models.prompt_sets import from_file, kinds, load_set
from specviz.trace.errors import SpecvizError
from specviz.trace.measured import PromptText
from specviz.trace.schema import Settings
from specviz.trace.settings import require_tokens

if TYPE_CHECKING:
    from specviz.decoding.bench import LanePlan, Measurement


def add_measuring_options(parser: argparse.ArgumentParser) -> None:
    """Which prompts, how often, and what to keep; read by `prompts` and `run`."""
    add_prompt_options(parser)
    parser.add_argument("--repeats", type=int, default=3, help="times that each prompt is decoded (default 3)")
    parser.add_argument("--block", type=int, default=8, help="tokens before the next lane's turn (default 8)")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="write the trace of every decode there")


def add_prompt_options(parser: argparse.ArgumentParser) -> None:
    """Which prompts; read by `prompts`."""
    parser.add_argument("--kind", nargs="+", choices=kinds(), help="sets of prompts by kind (default: code)")
    parser.add_argument("--prompts", type=Path, metavar="FILE", help="prompts from a file (.toml, .json, or one text)")
    parser.add_argument("--prompt", action="append", help="a prompt; may be repeated")
    parser.add_argument("--chat", action="store_true", help="put prompts of --prompt into the chat template")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N prompts of each kind or file")


def prompts(options: argparse.Namespace) -> list[PromptText]:
    """The prompts that were asked for. Raises SpecvizError."""
    if options.limit is not None and options.limit < 1:
        raise SpecvizError("The limit must be a whole number above 0.")
    typed = [PromptText(f"prompt {n}", "other", text, options.chat) for n, text in enumerate(options.prompt or [], 1)]
    chosen = options.kind or ([] if options.prompts or typed else ["code"])
    sets = [load_set(kind) for kind in dict.fromkeys(chosen)]
    if options.prompts:
        require_readable(options.prompts)
        sets.append(from_file(options.prompts))
    return [*(prompt for group in sets for prompt in group[: options.limit]), *typed]


def measured_settings(options: argparse.Namespace, **changes: Any) -> Settings:
    """What `settings` gives, which must let a token out. Raises SpecvizError."""
    made = settings(options, **changes)
    require_tokens(made)
    return made


def run(
    lanes: Sequence["LanePlan"], texts: Sequence[PromptText], options: argparse.Namespace, references: bool = False
) -> "Measurement":
    """Measure to the end and return the measurement; Ctrl-C ends it early if something whole is there already.

    Raises SpecvizError if no lane came through.
    """
    from tqdm import tqdm

    from specviz.decoding.bench import measure
    from specviz.trace.decodes import save_decodes

    running = measure(lanes, texts, options.repeats, options.block, references)
    with tqdm(total=running.of, unit="decode", leave=False, disable=None) as bar:
        try:
            with running:
                for step in running:
                    bar.set_postfix_str(f"{step.lane}: {step.prompt}" if step else "warming up", refresh=False)
                    bar.update(running.done - bar.n)
        except KeyboardInterrupt:
            if not running.decoded:
                raise
    for label, sentence in running.failed.items():
        note(f"{label} dropped out: {sentence}")
    if not running.decoded:
        raise SpecvizError(next(iter(running.failed.values()), "Nothing was measured."))
    if running.done < running.of:
        note(f"stopped after {running.done} of {running.of} decodes.")
    if options.traces:
        save_decodes(running.decoded, running.references, options.traces)
    return running
