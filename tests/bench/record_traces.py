"""Record the runs that the page opens on.

python tests/bench/record_traces.py embedded          the runs of tiny-code, one per method on one prompt
python tests/bench/record_traces.py qwen --target DIR [--draft DIR] [NAME ...]

Run by hand on an idle machine; writes assets/traces/*.json.gz. Every figure in them is measured there.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import specviz  # noqa: E402
from specviz.analysis.summary import end_sentence  # noqa: E402
from specviz.decoding.race import race  # noqa: E402

EDIT = """Add a docstring to every function. Change nothing else. Code only.

def read_users(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def write_users(path, users):
    with open(path, "w", encoding="utf-8") as file:
        for user in users:
            file.write(user + "\\n")
"""
QWEN: dict[str, dict[str, Any]] = {
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
    "4-edit": {
        "title": "Prompt lookup: editing a file, greedy",
        "about": "No draft model at all: an edit repeats most of the text it edits, so copying from the prompt is "
        "right again and again. The arrow shows where each draft was copied from.",
        "prompt": EDIT,
        "settings": specviz.Settings(gamma=6, max_new_tokens=160, chat=True, method="prompt-lookup"),
    },
}
PROMPT = """def read_users(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file]


def read_groups(path):"""
SAME = specviz.Settings(gamma=3, max_new_tokens=64, temperature=0.8, seed=5)
EMBEDDED: dict[str, dict[str, Any]] = {
    name: {"title": title, "about": about, "prompt": PROMPT, "settings": replace(SAME, **way)}
    for name, title, about, way in [
        ("5-draft-model", "tiny-code: draft model", "A one-layer draft of the embedded toy, three tokens a round.", {}),
        (
            "6-prompt-lookup",
            "tiny-code: prompt lookup",
            "The same prompt without a draft model: a round without a match is plain decoding.",
            {"method": "prompt-lookup"},
        ),
        (
            "7-early-exit",
            "tiny-code: early exit",
            "The target's own first layers draft. The lens below says what every other exit would have done.",
            {"method": "early-exit", "exit_layer": 3, "gamma": 2},
        ),
        (
            "8-medusa",
            "tiny-code: a Medusa tree",
            "Heads on the target's last hidden state guess the next tokens at once; the target judges a tree of "
            "them in one pass, each branch masked from the others.",
            {"method": "medusa", "tree": (3, 2, 1)},
        ),
        (
            "9-cross-tokenizer",
            "tiny-code: a draft with another tokenizer",
            "A draft that cuts text elsewhere proposes only tokens that both vocabularies share.",
            {"method": "cross-tokenizer"},
        ),
        (
            "9-draft-tree",
            "tiny-code: a tree of the draft model",
            "Siblings drawn without replacement: when the first is rejected the second is tried with what is left.",
            {"tree": (2, 2, 1)},
        ),
    ]
}


def main() -> None:
    """Record all runs of a group, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", choices=["embedded", "qwen"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target")
    parser.add_argument("--draft")
    parser.add_argument("--names", nargs=2, default=["Qwen2.5-Coder-1.5B-Instruct", "Qwen2.5-Coder-0.5B-Instruct"],
                        dest="models", metavar=("TARGET", "DRAFT"))  # fmt: skip
    parser.add_argument("--source", default="dequantised from GGUF files in the Python package index, bfloat16")
    options = parser.parse_args()
    runs = EMBEDDED if options.group == "embedded" else QWEN
    if options.group == "embedded":
        pair = specviz.load_pair("tiny-code")
    else:
        pair = specviz.load_pair(target=options.target, draft=options.draft)
        for info, name in zip((pair.target_info, pair.draft_info), options.models, strict=True):
            if info is not None:
                info.name, info.source = name, options.source
        pair.name = "qwen2.5-coder"
    for name in options.names or runs:
        _record(pair, name, runs[name])


def _record(pair: specviz.Pair, name: str, run: dict[str, Any]) -> None:
    with race(pair, run["prompt"], run["settings"]) as racing:
        for _ in racing:
            pass
    trace = racing.trace
    trace.title, trace.about = run["title"], run["about"]
    path = specviz.save_trace(trace, ROOT / "assets" / "traces" / f"{name}.json.gz")
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB. {end_sentence(trace)}\n{trace.output_text}\n", flush=True)


if __name__ == "__main__":
    main()
