"""A tiny mixture of experts."""

from transformers import Qwen2MoeConfig


def mixture_config() -> Qwen2MoeConfig:
    """Two layers of four experts (three matrices of 32 x 16 each), two for each token, and a shared one."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    return Qwen2MoeConfig(
        **sizes, vocab_size=97, intermediate_size=64, moe_intermediate_size=16, num_experts=4, num_experts_per_tok=2,
        shared_expert_intermediate_size=16, bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
