"""Our engine against transformers' generate: python tests/bench/engine.py --target DIR --draft DIR

Greedy, the same prompts, all four ways interleaved in one process, prefill included for all; our trace is on.
Transformers' assisted generation gets a constant gamma and no confidence cut. Prints tokens per second, the
ratios of medians, and what recording cost.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import specviz
from specviz.models.prompt import prompt_ids

PROMPTS = [
    "Write a Python function that merges two sorted lists.",
    "Explain in three sentences what a hash table is.",
    "List five uses of a paper clip.",
]


def ours(pair: specviz.Pair, ids: list[int], gamma: int, tokens: int) -> tuple[list[int], float]:
    """Output ids and the seconds that recording took."""
    trace = specviz.speculate(pair, ids, specviz.Settings(gamma, tokens)).finish()
    return trace.output_ids, sum(r.timing.recording for r in trace.rounds)


def theirs(pair: specviz.Pair, ids: list[int], gamma: int, tokens: int) -> tuple[list[int], float]:
    """Output ids of transformers' generate, assisted if gamma > 0."""
    inputs = torch.tensor([ids], device=pair.target.device)
    options = {"attention_mask": torch.ones_like(inputs), "max_new_tokens": tokens, "do_sample": False,
               "eos_token_id": sorted(pair.eos_ids)}  # fmt: skip
    if gamma:
        config = pair.draft.generation_config
        config.num_assistant_tokens, config.num_assistant_tokens_schedule = gamma, "constant"
        config.assistant_confidence_threshold = 0.0
        options["assistant_model"] = pair.draft
    return pair.target.generate(inputs, **options)[0, len(ids) :].tolist(), 0.0


def main() -> None:
    """Run all ways in turn on every prompt, `repeats` times, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True)
    parser.add_argument("--draft", required=True)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--gammas", type=int, nargs="+", default=[2, 4])
    options = parser.parse_args()
    pair = specviz.load_pair(target=options.target, draft=options.draft)
    ways = {(who.__name__, gamma): who for gamma in [0, *options.gammas] for who in (ours, theirs)}
    rates: dict[tuple[str, int], list[float]] = {way: [] for way in ways}
    recording = {gamma: [0.0, 0.0] for gamma in [0, *options.gammas]}
    for repeat in range(-1, options.repeats):  # the first turn is a warm-up with few tokens
        tokens = options.tokens if repeat >= 0 else 4
        for prompt in PROMPTS if repeat >= 0 else PROMPTS[:1]:
            ids = prompt_ids(pair, prompt, specviz.Settings(chat=pair.has_chat_template))
            texts = {}
            turn = list(ways.items())
            for (name, gamma), run in turn if repeat % 2 else reversed(turn):
                begun = time.perf_counter()
                texts[name, gamma], spent = run(pair, ids, gamma, tokens)
                seconds = time.perf_counter() - begun
                if repeat >= 0:
                    rates[name, gamma].append(len(texts[name, gamma]) / seconds)
                    if name == "ours":
                        recording[gamma][0] += spent
                        recording[gamma][1] += seconds
            same = len({tuple(t) for t in texts.values()}) == 1
            if repeat >= 0:
                print(
                    f"{prompt[:40]!r}: {'all ids equal' if same else 'ids differ (near-ties in ' + pair.target_info.dtype + ')'}",
                    flush=True,
                )
    for gamma in [0, *options.gammas]:
        a, b = (statistics.median(rates[name, gamma]) for name in ("ours", "theirs"))
        pairs = sorted(x / y for x, y in zip(rates["ours", gamma], rates["theirs", gamma], strict=True))
        print(f"gamma {gamma}: ours {a:.2f} tok/s, transformers {b:.2f} tok/s; ratio per prompt: median "
              f"{statistics.median(pairs):.3f} ({pairs[0]:.3f} to {pairs[-1]:.3f}); recording "
              f"{recording[gamma][0] / recording[gamma][1]:.2%} of our time")  # fmt: skip


if __name__ == "__main__":
    main()
