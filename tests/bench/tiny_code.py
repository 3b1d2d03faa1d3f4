"""Measure every method of tiny-code on held-out prompts and write the figures into its model card.

python tests/bench/tiny_code.py [--tokens 48] [--repeats 2] [--only prompt-lookup]

For each temperature and prompt all ways decode in turn, with plain decoding before and after them, `repeats`
times (so that a slow minute meets all of them); decode time only, all warm. The speedup of a prompt is the ratio of
its medians. Tables: assets/models/tiny-code/speed.json and the block between the speed markers of README.md beside it.
"""

import argparse
import json
import statistics
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import specviz
from specviz.analysis.acceptance import acceptance_table
from specviz.analysis.tree import tried_first
from specviz.decoding.race import warm_up
from specviz.trace.methods import METHODS
from specviz.training.card import replace_block, table

CARD = Path(__file__).resolve().parents[2] / "assets" / "models" / "tiny-code"
WAYS: list[dict[str, Any]] = [
    *({"method": "draft-model", "gamma": gamma} for gamma in range(1, 9)),
    {"method": "draft-model", "tree": (2, 2)},
    {"method": "draft-model", "tree": (3, 2, 1)},
    *({"method": "prompt-lookup", "gamma": gamma} for gamma in (2, 4, 8)),
    *({"method": "composite", "gamma": gamma} for gamma in (2, 4)),
    *({"method": "early-exit", "exit_layer": layers, "gamma": gamma} for layers in (2, 4) for gamma in (1, 2)),
    *({"method": "medusa", "gamma": gamma} for gamma in (1, 2, 4)),
    {"method": "medusa", "tree": (2, 2)},
    {"method": "medusa", "tree": (3, 2, 1)},
    *({"method": "cross-tokenizer", "gamma": gamma} for gamma in (1, 2, 4)),
]
EDIT_WAYS: list[dict[str, Any]] = [{"method": "prompt-lookup", "gamma": gamma} for gamma in (4, 8)]


@dataclass
class Tally:
    """What the runs of one way over all prompts add up to."""

    speedups: list[float] = field(default_factory=list)
    rounds: list[Any] = field(default_factory=list)
    emitted: int = 0

    def row(self, way: dict[str, Any], temperature: float, kind: str) -> dict[str, Any]:
        """One line of speed.json; shares of decoding time, rates as in the trace's definitions."""
        rates = acceptance_table(self.rounds)
        betas = [d.beta for r in self.rounds for d in tried_first(r)]  # of siblings the first, as on the page
        total = sum(r.timing.total for r in self.rounds)
        low, middle, high = np.percentile(self.speedups, [25, 50, 75]).tolist()
        return way | {
            "temperature": temperature, "kind": kind, "beta": statistics.mean(betas) if betas else None,
            "first": rates.positions[0].conditional.value if rates else None,
            "tokens_per_pass": self.emitted / len(self.rounds),
            "draft_share": sum(sum(r.timing.draft) for r in self.rounds) / total,
            "verify_share": sum(r.timing.verify for r in self.rounds) / total,
            "speedup": middle, "speedup_quartiles": [low, high],
        }  # fmt: skip


def seconds_per_token(trace: specviz.Trace) -> float:
    """Decode time per emitted token; prefill and recording are not on this clock."""
    return sum(r.timing.total for r in trace.rounds) / len(trace.output_ids)


def measure(
    pair: specviz.Pair, prompts: list[str], ways: list[dict[str, Any]], base: specviz.Settings, repeats: int, kind: str
) -> list[dict[str, Any]]:
    """A row per way."""
    tallies = [Tally() for _ in ways]
    settings = [replace(base, **way) for way in ways]
    for way in settings:
        warm_up(pair, prompts[0], way)
    for number, prompt in enumerate(tqdm(prompts, desc=f"T = {base.temperature:g}, {kind}")):
        times: list[list[float]] = [[] for _ in ways]
        plain = [_plain(pair, prompt, base, number)]
        for _ in range(repeats):
            for place, way in enumerate(settings):
                trace = specviz.speculate(pair, prompt, replace(way, seed=number)).finish()
                times[place].append(seconds_per_token(trace))
                if len(times[place]) == 1:
                    tallies[place].rounds += trace.rounds
                    tallies[place].emitted += len(trace.output_ids)
            plain.append(_plain(pair, prompt, base, number))
        for tally, own in zip(tallies, times, strict=True):
            tally.speedups.append(statistics.median(plain) / statistics.median(own))
    return [tally.row(way, base.temperature, kind) for tally, way in zip(tallies, ways, strict=True)]


def _plain(pair: specviz.Pair, prompt: str, base: specviz.Settings, seed: int) -> float:
    return seconds_per_token(specviz.decode_plain(pair, prompt, replace(base, seed=seed)).finish())


def edit_prompts(prompts: list[str]) -> list[str]:
    """Code-editing prompts: a piece of source, and its beginning once more, as when an editor rewrites a file."""
    made = []
    for text in prompts:
        lines = text.rstrip("\n").split("\n")
        again = "\n".join(lines[: max(2, len(lines) // 4)])
        made.append(f"# before\n{text.rstrip()}\n\n\n# after\n{again}")
    return made


def describe(row: dict[str, Any]) -> str:
    """How a way is called in the table."""
    shape = f"tree {' '.join(map(str, row['tree']))}" if row.get("tree") else f"gamma {row['gamma']}"
    exit_ = f", {row['exit_layer']} layers" if "exit_layer" in row else ""
    return f"{METHODS[row['method']].title}{exit_}, {shape}"


def markdown(rows: list[dict[str, Any]]) -> str:
    """The rows as a table; the quickest of each temperature in bold."""
    best = max(rows, key=lambda row: row["speedup"])
    body = []
    for row in rows:
        low, high = row["speedup_quartiles"]
        figure = f"{row['speedup']:.2f}× ({low:.2f} to {high:.2f})"
        rates = ["none drafted" if row[name] is None else f"{row[name]:.2f}" for name in ("beta", "first")]
        body.append([
            describe(row), *rates, f"{row['tokens_per_pass']:.2f}",
            f"{row['draft_share']:.0%} / {row['verify_share']:.0%}", f"**{figure}**" if row is best else figure,
        ])  # fmt: skip
    return table(["way", "beta", "accepted at position 1", "tokens per pass", "time: draft / verify", "speedup"], body)


def main() -> None:
    """Measure, write speed.json, and put the tables into the model card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--only", choices=list(METHODS), help="print one method's rows and write nothing")
    options = parser.parse_args()
    prompts = [p["text"] for p in json.loads((CARD / "held_out_prompts.json").read_text())][: options.prompts]
    pair = specviz.load_pair("tiny-code", device="cpu")
    ways = [way for way in WAYS if options.only in (None, way["method"]) and not pair.why_not(way["method"])]
    blocks, rows = [], []
    for temperature in (0.0, 1.0):
        base = specviz.Settings(max_new_tokens=options.tokens, temperature=temperature)
        found = measure(pair, prompts, ways, base, options.repeats, "continue")
        blocks.append(f"T = {temperature:g}, continuing held-out files:\n\n{markdown(found)}")
        edits = measure(pair, edit_prompts(prompts), EDIT_WAYS, base, options.repeats, "edit")
        blocks.append(
            f"T = {temperature:g}, code-editing prompts (a file, and its beginning again):\n\n{markdown(edits)}"
        )
        rows += found + edits
        print("\n\n".join(blocks[-2:]), flush=True)
    if options.only:
        return
    made = pair.provenance("draft-model", "rejection")
    today = datetime.now(UTC).date().isoformat()
    scope = (
        f"Measured {today} on {made.machine}, {made.threads} threads, torch {made.torch}, {pair.target_info.dtype}: "
        f"{len(prompts)} held-out prompts x {options.tokens} tokens, {options.repeats} repeats, all ways in turn, decoding "
        "only; rejection sampling. In trees beta is that of the first try at each depth. The speedup is the median over prompts, with quartiles; the best of each table is bold. "
        "Shares of time: drafting and the target's passes, the rest is sampling and bookkeeping."
    )
    (CARD / "speed.json").write_text(json.dumps({
        "date": today, "machine": made.machine, "threads": made.threads, "torch": made.torch,
        "transformers": made.transformers, "dtype": pair.target_info.dtype, "prompts": len(prompts),
        "tokens": options.tokens, "repeats": options.repeats, "rows": rows,
    }, indent=1) + "\n")  # fmt: skip
    card = CARD / "README.md"
    card.write_text(replace_block(card.read_text(), "speed", "\n\n".join([scope, *blocks])))


if __name__ == "__main__":
    main()
