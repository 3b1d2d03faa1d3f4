"""Record the runs that the page opens on: python tests/bench/record_traces.py --target DIR --draft DIR

Run by hand on an idle machine; writes assets/traces/*.json.gz. Every figure in them is measured there.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import specviz  # noqa: E402
from specviz.analysis.summary import end_sentence  # noqa: E402
from specviz.decoding.race import race  # noqa: E402

RUNS = {
    "1-code": {
        "title": "Code: a palindrome check, greedy",
        "about": "Code is easy to guess: most drafts are accepted, so three draft steps pay for themselves.",
        "prompt": "Write a Python function that checks whether a string is a palindrome. Code only.",
        "settings": specviz.Settings(gamma=3, max_new_tokens=56, chat=True),
    },
    "2-prose": {
        "title": "Prose: the tides for a child, sampled at T = 0.7",
        "about": "Sampling: a draft is accepted with probability min(1, p/q), and a rejected token is redrawn "
        "from the residual. The text follows the target's distribution exactly.",
        "prompt": "Explain to a ten-year-old why there are tides. Four sentences.",
        "settings": specviz.Settings(gamma=3, max_new_tokens=96, temperature=0.7, seed=1, chat=True),
    },
    "3-loss": {
        "title": "A loss: eight drafts a round at T = 1.2",
        "about": "A hot temperature and long drafts: most drafted tokens are thrown away, and the time that they "
        "took makes the run slower than plain decoding.",
        "prompt": "Write the first lines of a strange fairy tale about a lighthouse and a snail.",
        "settings": specviz.Settings(gamma=8, max_new_tokens=72, temperature=1.2, seed=2, chat=True),
    },
}


def main() -> None:
    """Record all runs, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(RUNS))
    parser.add_argument("--target", required=True)
    parser.add_argument("--draft", required=True)
    parser.add_argument("--names", nargs=2, default=["Qwen2.5-Coder-1.5B-Instruct", "Qwen2.5-Coder-0.5B-Instruct"],
                        dest="models", metavar=("TARGET", "DRAFT"))  # fmt: skip
    parser.add_argument("--source", default="dequantised from GGUF files in the Python package index, bfloat16")
    options = parser.parse_args()
    pair = specviz.load_pair(target=options.target, draft=options.draft)
    for info, name in zip((pair.target_info, pair.draft_info), options.models, strict=True):
        info.name, info.source = name, options.source
    pair.name = "qwen2.5-coder"
    for name in options.names:
        run = RUNS[name]
        with race(pair, run["prompt"], run["settings"]) as racing:
            for _ in racing:
                pass
        trace = racing.trace
        trace.title, trace.about = run["title"], run["about"]
        path = specviz.save_trace(trace, ROOT / "assets" / "traces" / f"{name}.json.gz")
        print(
            f"{path.name}: {path.stat().st_size / 1e3:.0f} kB. {end_sentence(trace)}\n{trace.output_text}\n", flush=True
        )


if __name__ == "__main__":
    main()
