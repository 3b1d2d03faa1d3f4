"""Compare the rules on one pair: tokens per target pass at T = 1, by counts and by exact expectation.

python tests/bench/rules.py [--pair tiny-code] [--gamma 4] [--rounds 2000]

Every rule decodes the held-out prompts under fresh seeds until it has the rounds asked for. Intervals: 95 % bootstrap
over runs. The last column takes the drafts of the rejection runs and what each rule would accept of them on average,
from the recorded p and q (no chance in it but the drafts).
"""

import argparse
import itertools
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import specviz  # noqa: E402
from specviz.analysis.rules import rule_rows  # noqa: E402

PROMPTS = ROOT / "assets" / "models" / "tiny-code" / "held_out_prompts.json"
RULES = ("rejection", "block", "match", "greedy-draft")


def decode(pair: specviz.Pair, settings: specviz.Settings, rounds: int) -> list[specviz.Trace]:
    """Runs over the prompts, again and again with new seeds, until there are `rounds` rounds."""
    prompts = [p["text"] for p in json.loads(PROMPTS.read_text())]
    runs: list[specviz.Trace] = []
    for seed, prompt in enumerate(itertools.cycle(prompts)):
        own = specviz.Settings(**{f: getattr(settings, f) for f in settings.__slots__} | {"seed": seed})
        runs.append(specviz.speculate(pair, prompt, own).finish())
        if sum(len(run.rounds) for run in runs) >= rounds:
            return runs
    raise AssertionError("cycle does not end")


def interval(runs: list[specviz.Trace]) -> tuple[float, float, float]:
    """Tokens per target pass and its 95 % bootstrap interval over runs."""
    tokens = np.array([len(run.output_ids) for run in runs])
    passes = np.array([len(run.rounds) for run in runs])
    picks = np.random.default_rng(0).integers(len(runs), size=(4000, len(runs)))
    means = tokens[picks].sum(1) / passes[picks].sum(1)
    return tokens.sum() / passes.sum(), *np.percentile(means, [2.5, 97.5])


def expected(runs: list[specviz.Trace], rule: str) -> float | None:
    """Tokens accepted per round on average if `rule` had judged the drafts of these runs."""
    found = [
        row.expected
        for run in runs
        for record in run.rounds
        for row in rule_rows(record, run.settings)
        if row.rule == rule and row.expected is not None
    ]
    return float(np.mean(found)) if found else None


def main() -> None:
    """Print one line per rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pair", default="tiny-code")
    parser.add_argument("--gamma", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2000)
    options = parser.parse_args()
    pair = specviz.load_pair(options.pair, device="cpu")
    base: list[specviz.Trace] = []
    for rule in RULES:
        settings = specviz.Settings(options.gamma, 64, 1.0, rule=rule)
        runs = decode(pair, settings, options.rounds)
        base = base or runs
        middle, low, high = interval(runs)
        mean = expected(base, rule)
        accepted = "not comparable" if rule == "greedy-draft" or mean is None else f"{mean:.3f}"
        print(
            f"{rule:<13} {sum(len(r.rounds) for r in runs)} rounds: {middle:.3f} tokens per pass ({low:.3f} to {high:.3f}); "
            f"accepted of the same drafts {accepted}",
            flush=True,
        )


if __name__ == "__main__":
    main()
