"""`specviz train tiny-code`: corpus -> tokenizer -> target -> samples -> draft -> heads -> foreign -> export.

Every stage can be run alone and goes on where it stopped; SIGTERM or Ctrl-C ends it with a checkpoint.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.training import foreign_draft, stages
from specviz.training.export import export
from specviz.training.family import DEFAULT_WORK, Files
from specviz.training.parallel import run_in_ranks

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "models" / "tiny-code"
STAGES = ("corpus", "tokenizer", "restore", "stable", "decay", "samples", "draft", "heads", "foreign", "export")


@dataclass(frozen=True)
class Budget:
    """How much to train. Token counts include what earlier runs saw, except those of decay and heads."""

    stable_tokens: int = 24_000_000
    decay_tokens: int = 6_000_000
    draft_tokens: int = 6_000_000
    heads_tokens: int = 6_000_000
    foreign_tokens: int = 4_000_000
    sample_batches: int = 4
    processes: int = 2


def train(work: Path = DEFAULT_WORK, stage: str = "all", budget: Budget = Budget(), out: Path = ASSETS) -> None:
    """Run one stage or all of them in order; results go to `out`, everything else to `work`."""
    work.mkdir(parents=True, exist_ok=True)
    files = Files(work)

    def ranked(function: Callable[..., None], *arguments: object) -> None:
        run_in_ranks(budget.processes, work, function, files, *arguments)

    actions: dict[str, Callable[[], None]] = {
        "corpus": lambda: stages.make_corpus(files),
        "tokenizer": lambda: stages.make_tokenizer(files),
        "restore": lambda: stages.restore(files, out),
        "stable": lambda: ranked(stages.train_stable, budget.stable_tokens),
        "decay": lambda: ranked(stages.train_decay, budget.decay_tokens),
        "samples": lambda: ranked(stages.make_samples, budget.sample_batches),
        "draft": lambda: ranked(stages.train_draft, budget.draft_tokens),
        "heads": lambda: ranked(stages.train_heads, budget.heads_tokens),
        "foreign": lambda: ranked(foreign_draft.train_foreign, budget.foreign_tokens),
        "export": lambda: run_in_ranks(1, work, export, files, out),
    }
    # Training from nothing is what "all" means; "restore" is asked for by name.
    for name in [s for s in STAGES if s != "restore"] if stage == "all" else [stage]:
        actions[name]()


def parser() -> argparse.ArgumentParser:
    """The command line of `specviz train tiny-code`."""
    default = Budget()
    made = argparse.ArgumentParser(prog="specviz train tiny-code", description=__doc__.split("\n")[0])
    made.add_argument("--work", type=Path, default=DEFAULT_WORK, help="cache and checkpoints")
    made.add_argument("--out", type=Path, default=ASSETS, help="where the family is exported to")
    made.add_argument("--stage", choices=(*STAGES, "all"), default="all")
    made.add_argument("--tokens", type=int, default=default.stable_tokens, help="end of the constant phase")
    made.add_argument("--decay-tokens", type=int, default=default.decay_tokens)
    made.add_argument("--draft-tokens", type=int, default=default.draft_tokens)
    made.add_argument("--heads-tokens", type=int, default=default.heads_tokens)
    made.add_argument("--foreign-tokens", type=int, default=default.foreign_tokens)
    made.add_argument("--sample-batches", type=int, default=default.sample_batches)
    made.add_argument("--processes", type=int, default=default.processes, help="one thread each")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Parse `argv` and train."""
    options = parser().parse_args(argv)
    budget = Budget(
        stable_tokens=options.tokens,
        decay_tokens=options.decay_tokens,
        draft_tokens=options.draft_tokens,
        heads_tokens=options.heads_tokens,
        foreign_tokens=options.foreign_tokens,
        sample_batches=options.sample_batches,
        processes=options.processes,
    )
    train(options.work, options.stage, budget, options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
