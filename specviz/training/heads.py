"""Medusa heads for the frozen target (Cai et al. 2024, arXiv:2401.10774, section 2.2.1, "Medusa-1").

The paper's loss is the cross-entropy of the text's own tokens; here each head learns the target's whole
distribution at the place it guesses, as the draft does, because its tokens are judged against that. As in the
paper the loss of head i (0-based) counts 0.8^i: a head is only asked where those before it were right.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from specviz.models.medusa import MedusaHeads
from specviz.training import blocks
from specviz.training.blocks import FastLlama, rms_norm
from specviz.training.distil import forward_kl, total_variation
from specviz.training.family import MAX_LENGTH
from specviz.training.measure import held_out_windows, mean_columns, overlap
from specviz.training.muon import Muon
from specviz.training.optim import Optimizers
from specviz.training.parallel import mean_over_ranks, my_rows

HEADS, LAYERS = 4, 2
HEAD_DECAY = 0.8
HEADS_LR = 0.005
PLACES = 256  # in a row, of each window of 1,024: over all of them the loss took three quarters of a step
EVALUATION_WINDOWS = 16

LossOfLogits = Callable[[Tensor, Tensor], Tensor]  # (target's, head's) logits [batch, length, vocab] -> a number


def new_heads(hidden: int, count: int = HEADS, layers: int = LAYERS) -> MedusaHeads:
    """Heads of `layers` residual blocks, which start as the identity, before the target's output layer."""
    return MedusaHeads(torch.zeros(layers, count, hidden, hidden), torch.zeros(layers, count, hidden))


class HeadOptimizers(Optimizers):
    """AdamW alone: one tensor holds a block of every head, while Muon takes matrices."""

    def __init__(self, heads: MedusaHeads, lr: float = HEADS_LR) -> None:
        self.muon, self.muon_lr = Muon([], weight_decay=0.0), 0.0
        self.adam = torch.optim.AdamW(heads.parameters(), betas=(0.9, 0.95), weight_decay=0.0, fused=True)
        self.adam_lr = lr


@torch.no_grad()
def last_states(fast: FastLlama, ids: Tensor) -> Tensor:
    """ids [batch, length] -> what the output layer is given, [batch, length, hidden] fp32."""
    x = fast.embed(ids)
    for index in range(fast.config.num_hidden_layers):
        x = fast.layer(index, x)
    return rms_norm(x, fast.model.model.norm.weight, fast.config.rms_norm_eps)


def project(states: Tensor, head: Tensor) -> Tensor:
    """States [..., hidden] through an output matrix [vocab, hidden]: fp32 logits."""
    return F.linear(states.to(blocks.COMPUTE), head.to(blocks.COMPUTE)).float()


def compare(heads: MedusaHeads, hidden: Tensor, head: Tensor, measure: LossOfLogits) -> list[Tensor]:
    """For each head `measure` of the target's logits and the head's, where both speak of the same token.

    hidden [batch, length, hidden]; head [vocab, hidden]: the target's output matrix. The state at place t gives the
    target's distribution of token t + 1, and head i's of token t + i + 2.
    """
    batch, length, width = hidden.shape
    seen = length - heads.count  # the same places for every head
    guesses = heads.states(hidden[:, :seen].reshape(-1, width)).view(-1, batch, seen, width)
    p_logits = project(hidden, head)
    return [measure(p_logits[:, i + 1 :][:, :seen], project(guess, head)) for i, guess in enumerate(guesses)]


def heads_loss(
    fast: FastLlama, heads: MedusaHeads, tv_from_step: int, compiled: bool = True
) -> Callable[[Tensor, Tensor, int], tuple[Tensor, float]]:
    """A loss for `loop.train`: (inputs, targets, step) -> (loss, the first head's part); first KL, then TV.

    Only PLACES places of a window count, drawn from the step alone, so that a resumed run draws the same.
    """
    wrap = torch.compile if compiled else (lambda function: function)
    kl, tv = wrap(forward_kl), wrap(total_variation)

    def loss(inputs: Tensor, _targets: Tensor, step: int) -> tuple[Tensor, float]:
        hidden, wanted = last_states(fast, inputs), PLACES + heads.count
        room = max(1, hidden.shape[1] - wanted + 1)
        start = int(torch.randint(room, (1,), generator=torch.Generator().manual_seed(step)))
        measure = tv if step >= tv_from_step else kl
        parts = compare(heads, hidden[:, start : start + wanted], fast.model.lm_head.weight, measure)
        total = sum(HEAD_DECAY**i * part for i, part in enumerate(parts))
        return total, float(parts[0].detach())

    return loss


@torch.no_grad()
def heads_overlap(fast: FastLlama, heads: MedusaHeads, ids: Tensor, first: int = 0) -> list[tuple[float, float]]:
    """Per head: beta and equal arg max with the target at the place it guesses; temperature 1.

    ids [count, length]: the texts; the heads guess from place `first` on.
    """
    head = fast.model.lm_head.weight
    batches = [
        compare(heads, last_states(fast, rows)[:, first:], head, lambda p, q: torch.tensor(overlap(p, q)))
        for rows in ids.split(2)
    ]
    return [tuple(mean_columns([pairs[i].tolist() for pairs in batches])) for i in range(heads.count)]


def heads_evaluation(fast: FastLlama, heads: MedusaHeads, path: Path) -> float:
    """1 - beta of the first head on held-out text, the work split over the ranks."""
    windows, _ = held_out_windows(path, EVALUATION_WINDOWS, MAX_LENGTH)
    return mean_over_ranks(1 - heads_overlap(fast, heads, my_rows(windows))[0][0])


def save_heads(heads: MedusaHeads, folder: Path, base: str) -> None:
    """bfloat16 safetensors and config.json, with the names of the published checkpoints. base: the target's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    layers, count = heads.weight.shape[:2]
    tensors = {
        f"{head}.{layer}.linear.{kind}": stacked[layer, head].to(torch.bfloat16).contiguous()
        for kind, stacked in (("weight", heads.weight), ("bias", heads.bias))
        for layer in range(layers)
        for head in range(count)
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = {"medusa_num_heads": count, "medusa_num_layers": layers, "base_model_name_or_path": base}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
