"""The shapes and the file names of the tiny-code family."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

TARGET_LAYERS, DRAFT_LAYERS = 16, 1
HIDDEN, HEAD_DIM = 192, 64
MAX_LENGTH = 1024
DEFAULT_WORK = Path.home() / ".cache" / "specviz" / "tiny-code"


def tiny_config(layers: int, vocab_size: int, hidden: int = HIDDEN) -> LlamaConfig:
    """The family's architecture: `layers` decoder layers, heads of 64, tied embeddings."""
    return LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=hidden,
        intermediate_size=512 * hidden // 192,
        num_hidden_layers=layers,
        num_attention_heads=hidden // HEAD_DIM,
        num_key_value_heads=hidden // HEAD_DIM,
        max_position_embeddings=MAX_LENGTH,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=None,
    )


def new_model(config: LlamaConfig, seed: int) -> LlamaForCausalLM:
    """Fresh weights; what each layer adds to the residual stream starts at zero."""
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config)
    for layer in model.model.layers:
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    return model


@dataclass(frozen=True)
class Files:
    """Where a run keeps its files. Everything below `work` can be made again, given time."""

    work: Path

    @property
    def wheels(self) -> Path:
        return self.work / "wheels"

    @property
    def tokenizer(self) -> Path:
        return self.work / "tokenizer"

    @property
    def train(self) -> Path:
        return self.work / "train.bin"

    @property
    def held_out(self) -> Path:
        return self.work / "held_out.bin"

    @property
    def corpus(self) -> Path:
        """Sizes of the splits and what was kept of each package."""
        return self.work / "corpus.json"

    @property
    def held_out_files(self) -> Path:
        """The held-out source files themselves."""
        return self.work / "held_out.json"

    @property
    def stable(self) -> Path:
        """The target on the constant learning rate: what a later run continues."""
        return self.work / "target-stable.pt"

    def decay(self, step: int) -> Path:
        """The decay branched from the constant phase at `step`."""
        return self.work / f"target-decay-{step}.pt"

    @property
    def target(self) -> Path:
        """The target after decay."""
        return self.work / "target.pt"

    @property
    def samples(self) -> Path:
        """Text the target wrote, for distilling on its own distribution."""
        return self.work / "samples.bin"

    @property
    def draft_run(self) -> Path:
        """A distillation in progress."""
        return self.work / "draft-run.pt"

    @property
    def heads_run(self) -> Path:
        """A training of the Medusa heads in progress."""
        return self.work / "heads-run.pt"

    @property
    def heads(self) -> Path:
        """The Medusa heads."""
        return self.work / "heads.pt"

    @property
    def draft(self) -> Path:
        """The distilled draft; a later distillation starts from it."""
        return self.work / "draft.pt"
