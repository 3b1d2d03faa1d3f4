"""Tiny models with more layers, and what their first layers say, by transformers' own hidden states."""

import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from tiny import FAMILIES, TableModel, build, pair_states

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


class LayeredTable(TableModel):
    """Two layers made of tables, for early exit to cut: the first says what a TableModel says, the second corrects it.

    The first layer makes hidden states that are one-hot of the last two ids, the second adds to each what `mix`
    [V * V, V * V] makes of the state one place earlier, and the head reads the table. Both layers read what they need
    from the cache, so a wrong rollback in either gives wrong logits.
    """

    def __init__(self, table: torch.Tensor, mix: float = 0.15, seed: int = 7) -> None:
        super().__init__(table)
        width = len(table) ** 2
        self.mix = mix * torch.randn(width, width, generator=torch.Generator().manual_seed(seed))
        self.layers = torch.nn.ModuleList([_Pairs(), _Mix(self.mix)])
        self.layers[0].__dict__["table"] = self  # not as a module: the model would own itself
        self.config.get_text_config().num_hidden_layers = 2

    def forward(self, input_ids: torch.Tensor, cache: Any = None, use_cache: bool = True) -> Any:
        states = input_ids
        for layer in self.layers:
            states = layer(states, cache)
        return SimpleNamespace(logits=states @ self.table.flatten(0, 1))

    def row(self, prefix: Sequence[int]) -> torch.Tensor:
        first, before = [0, *prefix][-3:-1]
        vocab = len(self.table)
        return super().row(prefix) + self.mix[first * vocab + before] @ self.table.flatten(0, 1)


class _Pairs(torch.nn.Module):
    def forward(self, input_ids: torch.Tensor, cache: Any) -> torch.Tensor:
        return pair_states(self.table, input_ids, cache)


class _Mix(torch.nn.Module):
    def __init__(self, mix: torch.Tensor) -> None:
        super().__init__()
        self.mix = mix

    def forward(self, states: torch.Tensor, cache: Any) -> torch.Tensor:
        seen = cache.update(states[:, None], states[:, None], 1)[0][0, 0]
        earlier = torch.cat([torch.zeros_like(seen[:1]), seen[:-1]])[-states.shape[1] :]
        return states + earlier @ self.mix
