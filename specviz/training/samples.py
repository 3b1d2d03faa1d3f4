"""Text the target writes itself, so that the draft also learns where the target leads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import trange
from transformers import DynamicCache, LlamaForCausalLM

from specviz.training.data import Batches
from specviz.training.parallel import rank

PROMPT, NEW = 48, 464
TEMPERATURES = (1.0, 0.6)


@torch.no_grad()
def continue_prompts(model: LlamaForCausalLM, prompts: Tensor, new: int, temperature: float) -> Tensor:
    """Sample exactly `new` ids after each prompt [batch, length]; an end-of-text id does not stop a row.

    What follows an end is a fresh document, as in the training data, so no row is wasted on padding.
    """
    ids, rows = prompts, [prompts]
    cache = DynamicCache(config=model.config)
    for _ in range(new):
        logits = model(ids, cache=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        probabilities = (logits.float() / temperature).softmax(-1)
        ids = torch.multinomial(probabilities, 1)
        rows.append(ids)
    return torch.cat(rows, dim=1)


def write_samples(model: LlamaForCausalLM, train: Tensor, folder: Path, batches: int, size: int = 96) -> None:
    """Append this rank's samples to its own part file: `batches` batches of `size` rows of 512 ids."""
    torch.manual_seed(1000 + rank())
    source = Batches(train, PROMPT, seed=77 + rank())
    with (folder / f"samples-{rank()}.part").open("wb") as file:
        for index in trange(batches, disable=rank() > 0):
            prompts, _ = source.next(size)
            temperature = TEMPERATURES[index % len(TEMPERATURES)]
            rows = continue_prompts(model, prompts, NEW, temperature)
            file.write(rows.numpy().astype(np.uint16).tobytes())


def join_parts(folder: Path, path: Path) -> None:
    """Put the ranks' part files together."""
    parts = sorted(folder.glob("samples-*.part"))
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    for part in parts:
        part.unlink()
