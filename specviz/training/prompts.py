"""Benchmark prompts from held-out files: the first tokens of a definition, chosen by hash, not by hand."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer

from specviz.training.corpus import SourceFile, stable_hash
from specviz.training.quality import snippets

PROMPTS = 20
MIN_TOKENS, MAX_TOKENS = 48, 64
MIN_BODY_TOKENS = 160  # the definition must go on well after the prompt ends


def cut(tokenizer: Tokenizer, text: str) -> str | None:
    """The first 48 to 64 tokens of `text`, ending with the longest whole line that fits if there is one."""
    ids = tokenizer.encode(text).ids
    if len(ids) < MIN_BODY_TOKENS:
        return None
    for end in range(MAX_TOKENS, MIN_TOKENS - 1, -1):
        part = tokenizer.decode(ids[:end], skip_special_tokens=False)
        rest = tokenizer.decode(ids[end:], skip_special_tokens=False)
        if rest.startswith("\n") and part.strip():
            return part
    return tokenizer.decode(ids[:MAX_TOKENS], skip_special_tokens=False)


def held_out_prompts(tokenizer: Tokenizer, files: list[SourceFile], count: int = PROMPTS) -> list[dict]:
    """`count` prompts in a fixed order, at most one per package until every package had its turn."""
    taken: dict[str, int] = {}
    ranked = []
    for file in sorted(files, key=lambda f: stable_hash("prompt:" + f.key)):
        candidates = [text for text in (cut(tokenizer, s) for s in snippets(file.text)) if text]
        if candidates:
            turn = taken[file.package] = taken.get(file.package, 0) + 1
            ranked.append((turn, len(ranked), file, candidates[stable_hash(file.key) % len(candidates)]))
    ranked.sort(key=lambda row: row[:2])
    return [
        {"text": text, "package": file.package, "file": file.path, "licence": file.licence}
        for _, _, file, text in ranked[:count]
    ]


def write_prompts(tokenizer: Tokenizer, held_out: Path, path: Path) -> list[dict]:
    """Read the held-out files and write the prompts as JSON."""
    files = [SourceFile(**entry) for entry in json.loads(held_out.read_text())]
    prompts = held_out_prompts(tokenizer, files)
    path.write_text(json.dumps(prompts, indent=1, ensure_ascii=False) + "\n")
    return prompts
