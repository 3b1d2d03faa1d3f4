"""What is written loads as plain transformers folders and is what was trained."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from specviz.training import blocks, card, prompts
from specviz.training.corpus import SourceFile
from specviz.training.export import export_model
from specviz.training.family import new_model, tiny_config
from specviz.training.tokenizer import train_tokenizer

SHIPPED = Path(__file__).parents[2] / "assets" / "models" / "tiny-code"


def test_an_exported_folder_gives_the_logits_of_the_trained_module(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "COMPUTE", torch.float32)
    monkeypatch.setattr("specviz.training.export.SHARD", "100KB")
    model = new_model(tiny_config(3, vocab_size=320, hidden=128), seed=0)
    for parameter in model.parameters():
        parameter.data = (parameter.data + 0.05 * torch.randn_like(parameter)).bfloat16().float()
    ids = torch.randint(320, (2, 30))
    with torch.no_grad():
        trained = blocks.FastLlama(model, compiled=False).forward(ids)
    export_model(model, tmp_path / "target")
    assert len(list((tmp_path / "target").glob("*.safetensors"))) > 1
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "target", dtype=torch.float32)
    with torch.no_grad():
        torch.testing.assert_close(loaded(ids).logits, trained, atol=1e-4, rtol=1e-4)
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "target").dtype == torch.bfloat16
    assert loaded.generation_config.eos_token_id == 0


def test_prompts_are_short_deterministic_and_from_the_given_files():
    body = "".join(f"    value_{i} = compute({i})\n" for i in range(80))
    files = [SourceFile("demo", f"demo/m{i}.py", "MIT", f"def run_{i}():\n{body}") for i in range(5)]
    tokenizer = train_tokenizer([file.text for file in files], vocab_size=300)
    made = prompts.held_out_prompts(tokenizer, files, count=3)
    assert made == prompts.held_out_prompts(tokenizer, files[::-1], count=3)
    assert len(made) == 3
    for entry in made:
        assert 48 <= len(tokenizer.encode(entry["text"]).ids) <= 64
        source = next(file for file in files if file.path == entry["file"])
        assert source.text.startswith(entry["text"])


def test_the_card_keeps_prose_and_replaces_only_the_named_block():
    text = "a\n<!-- figures:x -->old<!-- /figures:x -->\nb\n<!-- figures:y -->1<!-- /figures:y -->\n"
    filled = card.replace_block(text, "x", "new")
    assert filled == "a\n<!-- figures:x -->\nnew\n<!-- /figures:x -->\nb\n<!-- figures:y -->1<!-- /figures:y -->\n"
    assert card.replace_block(filled, "x", "new") == filled
    with pytest.raises(ValueError, match="no block named 'z'"):
        card.replace_block(text, "z", "new")


@pytest.mark.skipif(not (SHIPPED / "target").exists(), reason="no exported family")
def test_the_shipped_family_is_small_loads_and_shares_its_tokenizer():
    sizes = [path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()]
    assert max(sizes) < 10_000_000
    assert sum(sizes) < 30_000_000
    tokenizer = AutoTokenizer.from_pretrained(SHIPPED / "tokenizer")
    ids = torch.tensor([tokenizer.encode("def add(a, b):")])
    for name, layers in (("target", 16), ("draft", 1)):
        model = AutoModelForCausalLM.from_pretrained(SHIPPED / name)
        assert model.config.num_hidden_layers == layers
        assert model.config.vocab_size == len(tokenizer)
        with torch.no_grad():
            assert model(ids).logits.isfinite().all()
    assert Tokenizer.from_file(str(SHIPPED / "tokenizer" / "tokenizer.json")).get_vocab_size() == 4096
