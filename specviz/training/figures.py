"""The figures of the model card, measured on the exported files, as plain data for training.json."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path

import tokenizers
import torch
import transformers
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, LlamaForCausalLM

from specviz.models.medusa import MedusaHeads, load_heads
from specviz.training.blocks import FastLlama
from specviz.training.family import HIDDEN, MAX_LENGTH, Files
from specviz.training.foreign_draft import foreign_files
from specviz.training.heads import heads_overlap
from specviz.training.measure import (
    exit_losses,
    held_out_windows,
    in_batches,
    last_loss,
    mean_columns,
    overlap,
    overlap_by_layer,
)
from specviz.training.samples import continue_prompts

LOSS_WINDOWS, EXIT_WINDOWS = 128, 16  # of 1,024 tokens
ON_POLICY_TOKENS = 128
PROMPT_TOKENS = 48


def load_exported(folder: Path) -> tuple[LlamaForCausalLM, FastLlama]:
    """What a user loads (bfloat16 weights, held in fp32 here), and its fast view."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).requires_grad_(False)
    return model, FastLlama(model)


def loss_on(fast: FastLlama, files: Files) -> float:
    """Mean held-out cross-entropy in nats per token, windows of 1,024."""
    windows = held_out_windows(files.held_out, LOSS_WINDOWS, MAX_LENGTH)
    return mean_columns([[last_loss(fast, *batch)] for batch in in_batches(windows, 4)])[0]


def loss_figures(fast: FastLlama, files: Files, corpus: dict) -> dict[str, float | int]:
    """The held-out loss in three units; bytes per token are those of all held-out files."""
    nats = loss_on(fast, files)
    bytes_per_token = corpus["held_out_bytes"] / corpus["held_out_tokens"]
    return {
        "nats_per_token": round(nats, 4),
        "perplexity": round(math.exp(nats), 2),
        "bits_per_byte": round(nats / math.log(2) / bytes_per_token, 4),
        "tokens": LOSS_WINDOWS * MAX_LENGTH,
        "window": MAX_LENGTH,
    }


def exit_figures(fast: FastLlama, files: Files) -> list[dict[str, float | int]]:
    """Per number of layers: held-out loss, and overlap with the whole model at temperature 1."""
    windows = held_out_windows(files.held_out, EXIT_WINDOWS, MAX_LENGTH)
    losses = mean_columns([exit_losses(fast, *batch) for batch in in_batches(windows, 4)])
    pairs = [overlap_by_layer(fast, inputs) for inputs, _ in in_batches(windows, 4)]
    betas = [*mean_columns([[beta for beta, _ in rows] for rows in pairs]), 1.0]
    agrees = [*mean_columns([[agree for _, agree in rows] for rows in pairs]), 1.0]
    return [
        {"layers": i + 1, "nats_per_token": round(loss, 4), "beta": round(beta, 4), "agree": round(agree, 4)}
        for i, (loss, beta, agree) in enumerate(zip(losses, betas, agrees, strict=True))
    ]


@torch.no_grad()
def overlap_on_held_out(target: FastLlama, draft: FastLlama, files: Files) -> tuple[float, float]:
    """beta and top-1 agreement over held-out text, windows of 1,024."""
    windows = held_out_windows(files.held_out, EXIT_WINDOWS, MAX_LENGTH)
    rows = [overlap(target.forward(x), draft.forward(x)) for x, _ in in_batches(windows, 4)]
    beta, agree = mean_columns(rows)
    return beta, agree


def own_text(target: LlamaForCausalLM, prompts: list[list[int]], temperature: float) -> Tensor:
    """Held-out prompts and what the target writes after them, sampled at `temperature`: ids [prompts, length]."""
    torch.manual_seed(0)
    ids = torch.tensor([prompt[:PROMPT_TOKENS] for prompt in prompts])
    return continue_prompts(target, ids, ON_POLICY_TOKENS, temperature)


@torch.no_grad()
def overlap_on_own_text(target: LlamaForCausalLM, draft: LlamaForCausalLM, written: Tensor) -> tuple[float, float]:
    """The same over what the target wrote. The distributions compared are those at temperature 1."""
    after = slice(PROMPT_TOKENS - 1, -1)
    return overlap(target(written).logits[:, after], draft(written).logits[:, after])


def heads_figures(fast: FastLlama, heads: MedusaHeads, files: Files, written: Tensor) -> list[dict[str, float | int]]:
    """Per head: overlap with the target at the place it guesses, on held-out text and on what the target wrote."""
    windows, _ = held_out_windows(files.held_out, EXIT_WINDOWS, MAX_LENGTH)
    held_out = heads_overlap(fast, heads, windows)
    own = heads_overlap(fast, heads, written, first=PROMPT_TOKENS - 1)
    return [
        {
            "head": i + 1,
            "beta": round(held_out[i][0], 4),
            "agree": round(held_out[i][1], 4),
            "beta_own_text": round(own[i][0], 4),
            "agree_own_text": round(own[i][1], 4),
        }
        for i in range(heads.count)
    ]


def run_figures(progress: dict, model: nn.Module) -> dict[str, float | int]:
    """Size, tokens seen and throughput of a run."""
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "tokens": progress["tokens"],
        "steps": progress["step"],
        "hours": round(progress["seconds"] / 3600, 3),
        "tokens_per_second": round(progress["tokens"] / progress["seconds"]),
    }


def foreign_figures(files: Files, out: Path) -> dict:
    """The draft with a tokenizer of its own: its loss in bits per byte compares with the others'."""
    mine = foreign_files(files)
    model, fast = load_exported(out / "foreign")
    sizes = json.loads(mine.corpus.read_text())
    progress = torch.load(mine.draft, weights_only=True)["progress"]
    return (
        {"layers": model.config.num_hidden_layers}
        | run_figures(progress, model)
        | {"held_out": loss_figures(fast, mine, sizes), "vocabulary": sizes["vocabulary"], "shared": sizes["shared"]}
    )


def measure_family(files: Files, out: Path, prompts: list[list[int]]) -> dict:
    """Everything the card states, from the exported folders and the run's checkpoints."""
    corpus = json.loads(files.corpus.read_text())
    target, fast_target = load_exported(out / "target")
    draft, fast_draft = load_exported(out / "draft")
    heads = load_heads(out / "medusa", HIDDEN, target.config.vocab_size, torch.float32, "cpu")
    progress, draft_progress, heads_progress = (
        torch.load(path, weights_only=True)["progress"] for path in (files.target, files.draft, files.heads)
    )
    beta, agree = overlap_on_held_out(fast_target, fast_draft, files)
    written = own_text(target, prompts, temperature=1.0)
    own_beta, own_agree = overlap_on_own_text(target, draft, written)
    return {
        "date": datetime.date.today().isoformat(),
        "versions": {m.__name__: m.__version__ for m in (torch, transformers, tokenizers)},
        "corpus": corpus,
        "target": {"layers": target.config.num_hidden_layers}
        | run_figures(progress, target)
        | {"constant_tokens": progress["constant_tokens"]}
        | {"held_out": loss_figures(fast_target, files, corpus)}
        | {"exits": exit_figures(fast_target, files), "exit_tokens": EXIT_WINDOWS * MAX_LENGTH},
        "draft": {"layers": draft.config.num_hidden_layers}
        | run_figures(draft_progress, draft)
        | {"held_out": loss_figures(fast_draft, files, corpus)}
        | {"beta": round(beta, 4), "agree": round(agree, 4)}
        | {"beta_own_text": round(own_beta, 4), "agree_own_text": round(own_agree, 4)},
        "medusa": {"layers": heads.weight.shape[0]}
        | run_figures(heads_progress, heads)
        | {"heads": heads_figures(fast_target, heads, files, written)},
        "foreign": foreign_figures(files, out),
    }
