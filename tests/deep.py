"""Tiny models with more layers, and what their first layers say, by transformers' own hidden states."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from tiny import FAMILIES, build

LAYERS = 4
_NORMS = ("model.norm", "transformer.ln_f", "gpt_neox.final_layer_norm", "model.decoder.final_layer_norm")


def deep(family: str = "llama", seed: int = 0, **changes: Any) -> Any:
    """A random model of a family with four layers, windows on every other one where the family has them."""
    kinds = getattr(FAMILIES[family], "layer_types", None)
    if kinds:
        changes["layer_types"] = (list(kinds) * LAYERS)[:LAYERS]
    return build(family, seed, num_hidden_layers=LAYERS, **changes)


@torch.inference_mode()
def exit_logits(model: Any, ids: Sequence[int], layers: int) -> torch.Tensor:
    """head(norm(hidden state after `layers` layers)) of a forward without a cache, [len(ids), V].

    On a copy: transformers records hidden states with hooks that stay in the model.
    """
    model = copy.deepcopy(model)
    out = model(input_ids=torch.tensor([list(ids)]), use_cache=False, output_hidden_states=True)
    if layers == LAYERS:
        return out.logits[0]
    norm = next(part for name, part in model.named_modules() if name in _NORMS)
    logits = model.get_output_embeddings()(norm(out.hidden_states[layers]))[0]
    cap = getattr(model.config, "final_logit_softcapping", None)
    return logits if cap is None else cap * torch.tanh(logits / cap)


def state(model: Any) -> list[tuple]:
    """What may not change in a shared model: its modules, their attributes and hooks, by identity."""
    return [
        (name, id(part), sorted((key, id(value)) for key, value in vars(part).items()), len(part._forward_hooks))
        for name, part in model.named_modules()
    ]
