"""Which models may take part."""

import pytest
import torch
from tiny import FAMILIES, build
from transformers import AutoModelForCausalLM, JambaConfig, MambaConfig, Qwen3NextConfig

import specviz
from specviz import SpecvizError
from specviz.models.forward import require_rollback

RECURRENT = {
    "mamba": MambaConfig(vocab_size=97, hidden_size=32, state_size=4, num_hidden_layers=2, eos_token_id=None),
    "qwen3-next": Qwen3NextConfig(
        vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=8,
        linear_value_head_dim=8, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16,
        shared_expert_intermediate_size=16, layer_types=["linear_attention", "full_attention"], eos_token_id=None,
    ),
    "jamba": JambaConfig(
        vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, mamba_d_state=4,
        mamba_dt_rank=4, num_experts=2, use_mamba_kernels=False, eos_token_id=None, pad_token_id=None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_models_can_be_rolled_back(family):
    require_rollback(build(family), "The target")


@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent_models_are_refused_with_the_reason_as_target_and_as_draft(kind):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(RECURRENT[kind])
    with pytest.raises(SpecvizError, match=r"The target mine cannot take part: .*rolled back"):
        specviz.Pair(model, None, names=("mine", "none"))
    with pytest.raises(SpecvizError, match=r"The draft mine cannot take part"):
        specviz.Pair(build(), model, names=("t", "mine"))
    lenient = specviz.Pair(build(), model, strict=False)
    assert lenient.draft is None
    assert lenient.draft_problem.startswith("No draft is used: The draft draft cannot take part")


class Leaky(torch.nn.Module):
    """Uses the cache, but also remembers its last input: a state that a rollback cannot undo."""

    def __init__(self, model):
        super().__init__()
        self.inner, self.config, self.memory = model, model.config, 0.0

    def get_input_embeddings(self):
        return self.inner.get_input_embeddings()

    def forward(self, input_ids, cache, use_cache, position_ids):
        out = self.inner(input_ids=input_ids, cache=cache, use_cache=use_cache, position_ids=position_ids)
        self.memory = 0.5 * self.memory + float(input_ids.sum())
        out.logits = out.logits + self.memory
        return out


def test_a_hidden_state_beside_the_cache_is_found():
    with pytest.raises(SpecvizError, match="test rollback changed"):
        require_rollback(Leaky(build()), "The target")
