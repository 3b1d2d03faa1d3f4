"""Writes the figures of training.json into the model card, between markers, so they cannot drift."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path


def replace_block(text: str, name: str, body: str) -> str:
    """`text` with what stands between `<!-- figures:name -->` and `<!-- /figures:name -->` replaced."""
    start, end = f"<!-- figures:{name} -->", f"<!-- /figures:{name} -->"
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.S)
    if not pattern.search(text):
        raise ValueError(f"no block named {name!r} in the card")
    return pattern.sub(lambda _: f"{start}\n{body}\n{end}", text)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; every column but the first is right-aligned."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def training_block(figures: dict) -> str:
    """Sizes, tokens, losses and overlap of both models."""
    target, draft = figures["target"], figures["draft"]
    rows = [
        ["layers", str(target["layers"]), str(draft["layers"])],
        ["parameters", f"{target['parameters']:,}", f"{draft['parameters']:,}"],
        ["training tokens", f"{target['tokens']:,}", f"{draft['tokens']:,}"],
        ["of them before the last decay", f"{target['constant_tokens']:,}", ""],
        ["training time, hours", f"{target['hours']:.2f}", f"{draft['hours']:.2f}"],
        ["tokens per second", f"{target['tokens_per_second']:,}", f"{draft['tokens_per_second']:,}"],
    ]
    for label, key, form in (
        ("held-out loss, nats per token", "nats_per_token", ".3f"),
        ("held-out perplexity", "perplexity", ".2f"),
        ("held-out bits per byte", "bits_per_byte", ".3f"),
    ):
        rows.append([label, *(format(model["held_out"][key], form) for model in (target, draft))])
    rows += [
        ["beta with the target, held-out text", "", f"{draft['beta']:.3f}"],
        ["same arg max, held-out text", "", f"{draft['agree']:.3f}"],
        ["beta, on text the target samples at T = 1", "", f"{draft['beta_own_text']:.3f}"],
        ["same arg max, on that text", "", f"{draft['agree_own_text']:.3f}"],
    ]
    held = target["held_out"]
    note = (
        f"Measured {figures['date']} on the exported files over {held['tokens']:,} held-out tokens in windows"
        f" of {held['window']:,}; beta at temperature 1, no other processing."
    )
    return note + "\n\n" + table(["", "target", "draft"], rows)


def exits_block(figures: dict) -> str:
    """Early exits of the target."""
    rows = [
        [str(e["layers"]), f"{e['nats_per_token']:.3f}", f"{e['beta']:.3f}", f"{e['agree']:.3f}"]
        for e in figures["target"]["exits"]
    ]
    note = f"Over {figures['target']['exit_tokens']:,} of the held-out tokens, so the last loss differs from above."
    header = ["layers applied", "held-out loss, nats", "beta with all layers", "same arg max"]
    return note + "\n\n" + table(header, rows)


def medusa_block(figures: dict) -> str:
    """Size, training and overlap of the Medusa heads."""
    medusa = figures["medusa"]
    rows = [
        [str(head["head"]), *(f"{head[key]:.3f}" for key in ("beta", "agree", "beta_own_text", "agree_own_text"))]
        for head in medusa["heads"]
    ]
    note = (
        f"{len(rows)} heads of {medusa['layers']} residual block{'s' * (medusa['layers'] > 1)} each,"
        f" {medusa['parameters']:,} parameters in all, trained on {medusa['tokens']:,} tokens"
        f" in {medusa['hours']:.2f} hours. Held-out text: {figures['target']['exit_tokens']:,} tokens; own text: what"
        " the target samples at T = 1."
    )
    header = ["head", "beta, held-out text", "same arg max", "beta, own text", "same arg max"]
    return note + "\n\n" + table(header, rows)


def foreign_block(figures: dict) -> str:
    """The draft with another tokenizer."""
    foreign, held_out = figures["foreign"], figures["foreign"]["held_out"]
    return (
        f"{foreign['layers']} layer, {foreign['parameters']:,} parameters, {foreign['vocabulary']:,} tokens of its own,"
        f" of which {foreign['shared']:,} spell what a token of the target spells; trained on {foreign['tokens']:,}"
        f" tokens in {foreign['hours']:.2f} hours. Held-out loss {held_out['nats_per_token']:.3f} nats per token,"
        f" {held_out['bits_per_byte']:.3f} bits per byte."
    )


def data_block(figures: dict) -> str:
    """The packages, with versions, licences and how much of each was kept."""
    corpus = figures["corpus"]
    rows = [
        [
            f"{package['name']} {package['version']}",
            package["licence"],
            f"{package['files']:,}",
            f"{package['bytes'] / 1e6:.2f}",
            str(package["repeats"]),
        ]
        for package in corpus["packages"]
    ]
    note = (
        f"{corpus['train_files']:,} training files ({corpus['train_tokens']:,} tokens, repeats included) and"
        f" {corpus['held_out_files']:,} held-out files ({corpus['held_out_tokens']:,} tokens,"
        f" {corpus['held_out_bytes']:,} bytes)."
    )
    return note + "\n\n" + table(["package", "licence", "files kept", "MB kept", "weight"], rows)


BLOCKS: dict[str, Callable[[dict], str]] = {
    "training": training_block,
    "exits": exits_block,
    "medusa": medusa_block,
    "foreign": foreign_block,
    "data": data_block,
}


def fill_card(path: Path, figures: dict) -> None:
    """Rewrite the card's generated blocks; the prose around them is written by hand."""
    text = path.read_text()
    for name, block in BLOCKS.items():
        text = replace_block(text, name, block(figures))
    path.write_text(text)
