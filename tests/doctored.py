"""Model folders for the doctor: a pair that fits, and ways to make an odd one."""

from pathlib import Path
from typing import Any

from tiny import build, tokenizer

from specviz.models.doctor import examine
from specviz.trace.findings import VERDICTS, Finding

LARGE = {"hidden_size": 64, "num_hidden_layers": 6, "intermediate_size": 128, "max_position_embeddings": 4096}
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32, "max_position_embeddings": 4096}
WINDOWS = {"family": "gemma3", **LARGE, "layer_types": ["sliding_attention", "full_attention"] * 3}
ENDS = {3: "<end>", 4: "<stop>"}


def save(folder: Path, model: Any, text: Any = None, **generation: Any) -> str:
    """A model folder, with or without a tokenizer."""
    for name, value in generation.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    if text is not None:
        text.save_pretrained(folder)
    return str(folder)


def text(**options: Any) -> Any:
    """A tokenizer with an end of sequence, two special tokens and a template."""
    return tokenizer(**{"specials": ENDS, "eos": "<end>", "template": "{{ messages }}"} | options)


def fitting(root: Path) -> tuple[str, str]:
    """Folders of a target and a draft that fit."""
    return save(root / "target", build(**LARGE), text()), save(root / "draft", build(**SMALL), text())


def seen(found: list[Finding], topic: str) -> Finding:
    """The most serious finding of a topic."""
    order = list(VERDICTS)
    return max((f for f in found if f.topic == topic), key=lambda f: order.index(f.level))


def looked(target: str, draft: str | None = None, **options: Any) -> list[Finding]:
    """The doctor's findings in float32 on a CPU with a gigabyte to spare."""
    return examine(target, draft, **{"dtype": "float32", "device": "cpu", "context": 200, "free": 10**9} | options)
