"""Writes the family as plain transformers folders, measures what was written, and fills the model card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import GenerationConfig, LlamaForCausalLM

from specviz.models.medusa import MedusaHeads
from specviz.training.card import fill_card
from specviz.training.family import DRAFT_LAYERS, HIDDEN, Files, new_model, tiny_config
from specviz.training.figures import measure_family
from specviz.training.foreign_draft import foreign_files, load_foreign
from specviz.training.heads import new_heads, save_heads
from specviz.training.prompts import write_prompts
from specviz.training.stages import load_target
from specviz.training.tokenizer import VOCAB_SIZE, save_tokenizer

SHARD = "9MB"  # a file a small git host and a browser both take without large-file storage


def export_model(model: LlamaForCausalLM, folder: Path) -> None:
    """bfloat16 safetensors in shards, config.json and generation_config.json; old shards are removed."""
    shutil.rmtree(folder, ignore_errors=True)
    model = model.to(torch.bfloat16)
    model.generation_config = GenerationConfig(eos_token_id=model.config.eos_token_id)
    model.save_pretrained(folder, max_shard_size=SHARD)


def load_draft(files: Files) -> LlamaForCausalLM:
    """The distilled draft in fp32, without gradients."""
    model = new_model(tiny_config(DRAFT_LAYERS, VOCAB_SIZE), seed=1)
    model.load_state_dict(torch.load(files.draft, weights_only=True)["model"])
    return model.requires_grad_(False).eval()


def load_trained_heads(files: Files) -> MedusaHeads:
    """The Medusa heads in fp32, without gradients."""
    heads = new_heads(HIDDEN)
    heads.load_state_dict(torch.load(files.heads, weights_only=True)["model"])
    return heads.requires_grad_(False).eval()


def export(files: Files, out: Path) -> None:
    """Weights, tokenizer, prompts, training.json and the figures in README.md."""
    out.mkdir(parents=True, exist_ok=True)
    export_model(load_target(files), out / "target")
    export_model(load_draft(files), out / "draft")
    save_heads(load_trained_heads(files), out / "medusa", base="../target")
    export_model(load_foreign(files), out / "foreign")
    save_tokenizer(Tokenizer.from_file(str(foreign_files(files).tokenizer / "tokenizer.json")), out / "foreign")
    tokenizer = Tokenizer.from_file(str(files.tokenizer / "tokenizer.json"))
    save_tokenizer(tokenizer, out / "tokenizer")
    prompts = write_prompts(tokenizer, files.held_out_files, out / "held_out_prompts.json")
    figures = measure_family(files, out, [tokenizer.encode(prompt["text"]).ids for prompt in prompts])
    (out / "training.json").write_text(json.dumps(figures, indent=1) + "\n")
    fill_card(out / "README.md", figures)
