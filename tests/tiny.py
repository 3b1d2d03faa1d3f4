"""Tiny models and tokenizers, built in memory: random, deterministic, no download."""

import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from specviz.models.medusa import MedusaHeads

IDS = [5, 6, 7, 8, 9, 10, 11, 7, 8]  # the tail 7, 8 repeats
VOCAB = 97
_NO_SPECIALS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": VOCAB,
          "max_position_embeddings": 256, "initializer_range": 0.3, **_NO_SPECIALS}  # fmt: skip
_GROUPED = {"num_key_value_heads": 2, "intermediate_size": 64, **_SIZES}
_WINDOWS = {"sliding_window": 8, "head_dim": 8, "layer_types": ["sliding_attention", "full_attention"]}

FAMILIES: dict[str, PreTrainedConfig] = {
    "llama": LlamaConfig(**_GROUPED),
    "qwen2": Qwen2Config(**_GROUPED),
    "qwen2-windows": Qwen2Config(**_GROUPED, use_sliding_window=True, max_window_layers=1, sliding_window=8),
    "qwen3": Qwen3Config(**_GROUPED, head_dim=8),
    "gemma2": Gemma2Config(**_GROUPED, **_WINDOWS),
    "gemma3": Gemma3TextConfig(**_GROUPED, **_WINDOWS),
    "mistral": MistralConfig(**_GROUPED, sliding_window=8),
    "gpt2": GPT2Config(
        vocab_size=VOCAB, n_positions=256, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3, **_NO_SPECIALS
    ),
    "gpt-neox": GPTNeoXConfig(**_SIZES, intermediate_size=64),
    "opt": OPTConfig(
        vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, init_std=0.3,
        max_position_embeddings=256, word_embed_proj_dim=32, **_NO_SPECIALS,
    ),
}  # fmt: skip


def build(family: str = "llama", seed: int = 0, dtype: torch.dtype = torch.float32, **changes: Any) -> Any:
    """A random model of a family; the same seed gives the same weights."""
    config = copy.deepcopy(FAMILIES[family])
    for name, value in changes.items():
        setattr(config, name, value)
    state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    torch.random.set_rng_state(state)
    return model


def short_prompts(count: int) -> list[list[int]]:
    """Random prompts of 1 to 24 tokens, the first of a single one."""
    random = torch.Generator().manual_seed(5)
    lengths = [1, *torch.randint(2, 25, (count - 1,), generator=random).tolist()]
    return [torch.randint(0, VOCAB, (n,), generator=random).tolist() for n in lengths]


def noised(model: Any, amount: float = 0.05, seed: int = 3) -> Any:
    """A copy whose weights differ by relative noise: as a draft it is sometimes right."""
    other = copy.deepcopy(model)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in other.parameters():
            weight.mul_(1 + amount * torch.randn(weight.shape, generator=random).to(weight.dtype))
    return other


def tokenizer(
    words: Sequence[str] | int = VOCAB,
    eos: str | None = None,
    bos: str | None = None,
    swap: tuple[int, int] | None = None,
    specials: dict[int, str] | None = None,
    template: str | None = None,
) -> PreTrainedTokenizerFast:
    """A word-level tokenizer w0 w1 ...; `swap` exchanges the strings of two ids, `specials` renames ids."""
    names = [f"w{i}" for i in range(words)] if isinstance(words, int) else list(words)
    for i, name in (specials or {}).items():
        names[i] = name
    if swap:
        a, b = swap
        names[a], names[b] = names[b], names[a]
    backend = Tokenizer(models.WordLevel({n: i for i, n in enumerate(names)}, unk_token=names[0]))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens([AddedToken(n, special=True) for n in (specials or {}).values()])
    out = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=eos, bos_token=bos)
    out.chat_template = template
    return out


def byte_tokenizer(merges: Sequence[str] = (), specials: Sequence[str] = ("<|im_start|>", "<|im_end|>"),
                   template: str | None = None) -> PreTrainedTokenizerFast:  # fmt: skip
    """Byte-level BPE over all 256 bytes, with a few merges given as 'a b' in the byte alphabet."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {c: i for i, c in enumerate(alphabet)}
    pairs = [tuple(m.split(" ")) for m in merges]
    for left, right in pairs:
        vocab[left + right] = len(vocab)
    backend = Tokenizer(models.BPE(vocab, pairs))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    out = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=specials[-1] if specials else None)
    out.chat_template = template
    return out


class TableModel(torch.nn.Module):
    """A language model that is a table: logits[previous two ids]. Real caches, almost no arithmetic.

    table: [V, V, V] logits by (id before last, last id); before the text the id 0 is assumed. Ids travel through
    the cache, so a wrong rollback gives wrong logits. `calls` counts forward passes; `hook(ids)` runs in each.
    """

    def __init__(self, table: torch.Tensor, hook: Any = None) -> None:
        super().__init__()
        vocab = table.shape[-1]
        self.table, self.hook, self.calls = table, hook, 0
        self.embedding = torch.nn.Embedding(vocab, 1)
        text = SimpleNamespace(model_type="table", vocab_size=vocab, num_hidden_layers=1, eos_token_id=None)
        self.config = SimpleNamespace(get_text_config=lambda: text, eos_token_id=None, _commit_hash=None)

    def get_input_embeddings(self) -> torch.nn.Embedding:
        return self.embedding

    @property
    def dtype(self) -> torch.dtype:
        return self.table.dtype

    def forward(
        self, input_ids: torch.Tensor, cache: Any, use_cache: bool = True, attention_mask: torch.Tensor | None = None
    ) -> Any:
        before, last = self.last_two(input_ids, cache, attention_mask)
        return SimpleNamespace(logits=self.table[before, last][None])

    def last_two(self, input_ids: torch.Tensor, cache: Any, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The id before each of `input_ids` [1, n], as the cache and the mask of a tree have it, and the id, [2, n]."""
        self.calls += 1
        if self.hook:
            self.hook(input_ids[0].tolist())
        states = input_ids[:, None, :, None].float()
        seen = cache.update(states, states, 0)[0][0, 0, :, 0].long()
        before = torch.cat([torch.zeros(1, dtype=torch.long), seen[:-1]])
        if mask is not None:  # a tree: the last id that a row sees before its own is that of its parent
            for row, visible in enumerate(mask[0, 0] == 0, start=len(seen) - input_ids.shape[1]):
                earlier = visible.nonzero()[:-1, 0]
                before[row] = seen[earlier[-1]] if len(earlier) else 0
        return torch.stack([before, seen])[:, -input_ids.shape[1] :]

    def row(self, prefix: Sequence[int]) -> torch.Tensor:
        """Logits [V] after `prefix` (at least two ids), read from the table: for oracles."""
        return self.table[prefix[-2], prefix[-1]]


class HeadedTable(TableModel):
    """A table as an output layer over hidden states that are one-hot of the last two ids, for Medusa heads to read."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__(table)
        vocab = len(table)
        self.lm_head = torch.nn.Linear(vocab * vocab, vocab, bias=False).requires_grad_(False)
        self.lm_head.weight.copy_(table.reshape(-1, vocab).T)

    def get_output_embeddings(self) -> torch.nn.Linear:
        return self.lm_head

    def forward(
        self, input_ids: torch.Tensor, cache: Any, use_cache: bool = True, attention_mask: torch.Tensor | None = None
    ) -> Any:
        return SimpleNamespace(logits=self.lm_head(pair_states(self, input_ids, cache, attention_mask)))


def pair_states(
    model: TableModel, input_ids: torch.Tensor, cache: Any, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Hidden states of a table model: one-hot of the last two ids, [1, n, V * V]."""
    vocab = len(model.table)
    before, last = model.last_two(input_ids, cache, mask)
    return torch.nn.functional.one_hot(before * vocab + last, vocab**2).to(model.dtype)[None]


def table_model(vocab: int, seed: int, scale: float = 1.5, kind: type[TableModel] = TableModel, **options: Any) -> Any:
    """A random TableModel, or one of its kinds."""
    random = torch.Generator().manual_seed(seed)
    return kind(scale * torch.randn((vocab,) * 3, generator=random), **options)


def heads(count: int, hidden: int = 32, scale: float = 0.3, own: int | None = None, seed: int = 0) -> MedusaHeads:
    """Random Medusa heads; own: the width of an output layer for each."""
    random = torch.Generator().manual_seed(seed)
    weight = scale * torch.randn(1, count, hidden, hidden, generator=random)
    bias = scale * torch.randn(1, count, hidden, generator=random)
    output = None if own is None else torch.randn(count, own, hidden, generator=random)
    return MedusaHeads(weight, bias, output).requires_grad_(False)


@torch.no_grad()
def fitted_heads(count: int, target: Any, texts: Sequence[Sequence[int]]) -> MedusaHeads:
    """Medusa heads whose own output layers fit what follows in `texts` by least squares: sometimes right."""
    target = copy.deepcopy(target)  # transformers records hidden states with hooks that stay in the model
    states, following = [], []
    for ids in map(torch.tensor, texts):
        hidden = target(ids[None], output_hidden_states=True).hidden_states[-1][0]
        states.append(hidden[: -count - 1])
        following.append(ids[2:].unfold(0, count, 1))
    wanted = torch.nn.functional.one_hot(torch.cat(following), VOCAB).float()
    output = torch.linalg.lstsq(torch.cat(states), wanted.flatten(1)).solution  # [H, count * V]
    width = len(output)
    identity = torch.zeros(1, count, width, width), torch.zeros(1, count, width)
    return MedusaHeads(*identity, output.view(width, count, VOCAB).permute(1, 2, 0).contiguous()).requires_grad_(False)
