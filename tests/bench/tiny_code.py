"""Measure tiny-code on held-out prompts and write the figures into its model card.

python tests/bench/tiny_code.py [--tokens 64] [--repeats 3]

For T = 0 and T = 1 and gamma 1-8: speculative and plain runs of each prompt alternate (A B A B), decode time
only, both warm; the speedup of a prompt is the ratio of its medians. Tables: assets/models/tiny-code/speed.json
and the block between the speed markers of README.md beside it.
"""

import argparse
import json
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import specviz
from specviz.decoding.race import warm_up

CARD = Path(__file__).resolve().parents[2] / "assets" / "models" / "tiny-code"
MARKS = "<!-- figures:speed -->", "<!-- /figures:speed -->"


def seconds_per_token(trace: specviz.Trace) -> float:
    """Decode time per emitted token; prefill and recording are not on this clock."""
    return sum(r.timing.total for r in trace.rounds) / len(trace.output_ids)


def measure(pair: specviz.Pair, prompts: list[str], settings: specviz.Settings, repeats: int) -> dict[str, float]:
    """Block efficiency, acceptance, mean beta and speedup (median over prompts, with quartiles)."""
    speedups, betas, emitted, passes, judged, accepted, steps, plain_steps = [], [], 0, 0, 0, 0, [], []
    for number, prompt in enumerate(prompts):
        own = specviz.Settings(**{f: getattr(settings, f) for f in settings.__slots__} | {"seed": number})
        fast, slow = [], []
        for _ in range(repeats):
            trace = specviz.speculate(pair, prompt, own).finish()
            plain = specviz.decode_plain(pair, prompt, own).finish()
            fast.append(seconds_per_token(trace))
            slow.append(seconds_per_token(plain))
            steps += [s for r in trace.rounds for s in r.timing.draft]
            plain_steps += [r.timing.total for r in plain.rounds]
        speedups.append(statistics.median(slow) / statistics.median(fast))
        betas += [d.beta for r in trace.rounds for d in r.drafted if d.verdict in ("accepted", "rejected")]
        emitted += len(trace.output_ids)
        passes += len(trace.rounds)
        judged += sum(r.judged for r in trace.rounds)
        accepted += sum(r.accepted for r in trace.rounds)
    low, middle, high = np.percentile(speedups, [25, 50, 75]).tolist()
    return {
        "temperature": settings.temperature, "gamma": settings.gamma, "beta": statistics.mean(betas),
        "acceptance": accepted / judged, "tokens_per_pass": emitted / passes, "c": statistics.median(steps) / statistics.median(plain_steps),
        "speedup": middle, "speedup_quartiles": [low, high],
    }  # fmt: skip


def table(rows: list[dict[str, float]]) -> str:
    """The rows as Markdown."""
    lines = ["| T | gamma | beta (exact) | accepted / judged | tokens per target pass | c | speedup: median (quartiles) |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in rows:
        low, high = r["speedup_quartiles"]
        lines.append(
            f"| {r['temperature']:g} | {r['gamma']} | {r['beta']:.2f} | {r['acceptance']:.2f} | {r['tokens_per_pass']:.2f} "
            f"| {r['c']:.2f} | {r['speedup']:.2f}× ({low:.2f} to {high:.2f}) |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, write speed.json, and put the table into the model card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    prompts = [p["text"] for p in json.loads((CARD / "held_out_prompts.json").read_text())][:20]
    pair = specviz.load_pair("tiny-code", device="cpu")
    rows = []
    for temperature in (0.0, 1.0):
        for gamma in range(1, 9):
            settings = specviz.Settings(gamma, options.tokens, temperature)
            warm_up(pair, prompts[0], settings)
            rows.append(measure(pair, prompts, settings, options.repeats))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    provenance = pair.provenance("draft-model", "rejection")
    (CARD / "speed.json").write_text(json.dumps({
        "date": datetime.now(UTC).date().isoformat(), "machine": provenance.machine, "threads": provenance.threads,
        "torch": provenance.torch, "transformers": provenance.transformers, "dtype": pair.target_info.dtype,
        "prompts": len(prompts), "tokens": options.tokens, "repeats": options.repeats, "rows": rows,
    }, indent=1) + "\n")  # fmt: skip
    text = (CARD / "README.md").read_text()
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    scope = (f"Measured {datetime.now(UTC).date()} on {provenance.machine}, {provenance.threads} threads, torch "
             f"{provenance.torch}, {pair.target_info.dtype}: {len(prompts)} held-out prompts x {options.tokens} tokens, "
             f"{options.repeats} alternating repeats each, decoding only. c is a draft step over a plain target step.")  # fmt: skip
    (CARD / "README.md").write_text(f"{before}{MARKS[0]}\n{scope}\n\n{table(rows)}\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
