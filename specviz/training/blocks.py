"""The Llama forward pass as functions over a LlamaForCausalLM's own weights, for training.

The same maths as transformers (a test compares the two), with three differences that only concern
speed on a CPU: matrix products run in bfloat16, the projections that share an input are one product,
and one compiled function serves every layer, so a layer can be skipped without compiling again.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

COMPUTE = torch.bfloat16


def rotary_tables(config: LlamaConfig, length: int) -> tuple[Tensor, Tensor]:
    """cos and sin [length, head_dim], computed in fp32 as transformers does."""
    dim = config.head_dim
    steps = torch.arange(0, dim, 2, dtype=torch.float32) / dim
    inverse = config.rope_parameters["rope_theta"] ** -steps
    angles = torch.outer(torch.arange(length, dtype=torch.float32), inverse)
    both = torch.cat([angles, angles], dim=-1)
    return both.cos(), both.sin()


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Root-mean-square norm over the last axis, in fp32."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of x [batch, heads, length, head_dim] (halves convention)."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


def block(
    x: Tensor, weights: list[Tensor], tables: tuple[Tensor, Tensor], heads: int, kv_heads: int, eps: float
) -> Tensor:
    """One decoder layer: x [batch, length, hidden] fp32 -> the same shape."""
    norm1, q, k, v, o, norm2, gate, up, down = weights
    batch, length, hidden = x.shape
    head_dim = q.shape[0] // heads
    cos, sin = (table[:length].to(COMPUTE) for table in tables)
    h = rms_norm(x, norm1, eps).to(COMPUTE)
    fused = F.linear(h, torch.cat([q, k, v]).to(COMPUTE)).view(batch, length, heads + 2 * kv_heads, head_dim)
    queries, keys, values = fused.transpose(1, 2).split([heads, kv_heads, kv_heads], dim=1)
    mixed = F.scaled_dot_product_attention(
        rotate(queries, cos, sin),
        rotate(keys, cos, sin),
        values,
        is_causal=True,
        enable_gqa=heads != kv_heads,
    )
    x = x + F.linear(mixed.transpose(1, 2).reshape(batch, length, hidden), o.to(COMPUTE))
    h = rms_norm(x, norm2, eps).to(COMPUTE)
    gated, upped = F.linear(h, torch.cat([gate, up]).to(COMPUTE)).chunk(2, dim=-1)
    return x + F.linear(F.silu(gated) * upped, down.to(COMPUTE))


def head_logits(x: Tensor, norm: Tensor, head: Tensor, eps: float) -> Tensor:
    """Final norm and output head: x [batch, length, hidden] -> fp32 logits [batch, length, vocab]."""
    return F.linear(rms_norm(x, norm, eps).to(COMPUTE), head.to(COMPUTE)).float()


def head_loss(x: Tensor, norm: Tensor, head: Tensor, targets: Tensor, eps: float) -> Tensor:
    """Mean next-token cross-entropy in nats; targets [batch, length]."""
    return F.cross_entropy(head_logits(x, norm, head, eps).flatten(0, 1), targets.flatten())


def layer_weights(layer: nn.Module) -> list[Tensor]:
    """A decoder layer's nine weights in the order `block` takes them."""
    attention, mlp = layer.self_attn, layer.mlp
    return [
        layer.input_layernorm.weight,
        attention.q_proj.weight,
        attention.k_proj.weight,
        attention.v_proj.weight,
        attention.o_proj.weight,
        layer.post_attention_layernorm.weight,
        mlp.gate_proj.weight,
        mlp.up_proj.weight,
        mlp.down_proj.weight,
    ]


class FastLlama:
    """A view of a LlamaForCausalLM that computes with the functions above. It owns no weights."""

    def __init__(self, model: LlamaForCausalLM, compiled: bool = True) -> None:
        self.model, self.config = model, model.config
        wrap = torch.compile if compiled else (lambda function: function)
        self._block, self._loss, self._logits = wrap(block), wrap(head_loss), wrap(head_logits)
        self._tables = rotary_tables(self.config, self.config.max_position_embeddings)

    def embed(self, ids: Tensor) -> Tensor:
        """ids [batch, length] -> hidden states [batch, length, hidden], fp32."""
        return self.model.model.embed_tokens(ids)

    def layer(self, index: int, x: Tensor) -> Tensor:
        """Apply one decoder layer to hidden states."""
        config = self.config
        weights = layer_weights(self.model.model.layers[index])
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        return self._block(x, weights, self._tables, heads, kv_heads, config.rms_norm_eps)

    def loss(self, x: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of hidden states through the shared final norm and head."""
        return self._loss(x, *self._head(), targets, self.config.rms_norm_eps)

    def logits(self, x: Tensor) -> Tensor:
        """fp32 logits of hidden states through the shared final norm and head."""
        return self._logits(x, *self._head(), self.config.rms_norm_eps)

    def forward(self, ids: Tensor) -> Tensor:
        """ids [batch, length] -> fp32 logits [batch, length, vocab], every layer applied."""
        x = self.embed(ids)
        for index in range(self.config.num_hidden_layers):
            x = self.layer(index, x)
        return self.logits(x)

    def _head(self) -> tuple[Tensor, Tensor]:
        return self.model.model.norm.weight, self.model.lm_head.weight
