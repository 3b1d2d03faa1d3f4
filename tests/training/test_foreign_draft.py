"""The second draft: the same text in tokens of its own, trained by the family's loop, loaded by transformers."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from specviz.models.foreign import shared_ids
from specviz.training import blocks, foreign_draft
from specviz.training.blocks import FastLlama
from specviz.training.data import encode_documents, read_tokens
from specviz.training.family import Files, new_model, tiny_config
from specviz.training.tokenizer import END_OF_TEXT, as_transformers, save_tokenizer, train_tokenizer

SHIPPED = Path(__file__).parents[2] / "assets" / "models" / "tiny-code"
TEXTS = [f"def add_{i}(left, right):\n    # größer als {i * 37}\n    return left + right * {i}\n" for i in range(60)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A work directory with a corpus of small functions, as the family's tokenizer cuts it."""
    monkeypatch.setattr(foreign_draft, "VOCAB_SIZE", 300)
    theirs = train_tokenizer(TEXTS, vocab_size=400)
    made = Files(tmp_path)
    save_tokenizer(theirs, made.tokenizer)
    encode_documents(theirs, TEXTS[:50]).tofile(made.train)
    encode_documents(theirs, TEXTS[50:]).tofile(made.held_out)
    return made


def decoded(files: Files, path: Path) -> str:
    tokenizer = Tokenizer.from_file(str(files.tokenizer / "tokenizer.json"))
    return tokenizer.decode(read_tokens(path).tolist(), skip_special_tokens=False)


def test_the_text_is_the_same_in_other_tokens(files):
    foreign_draft.make_texts(files, tokens=10**6)
    mine = foreign_draft.foreign_files(files)
    for path, own, texts in ((files.train, mine.train, TEXTS[:50]), (files.held_out, mine.held_out, TEXTS[50:])):
        assert decoded(mine, own) == decoded(files, path) == "".join(text + END_OF_TEXT for text in texts)
        assert not np.array_equal(np.fromfile(path, np.uint16), np.fromfile(own, np.uint16))
    sizes = json.loads(mine.corpus.read_text())
    assert sizes["held_out_bytes"] == sum(len(text.encode()) for text in TEXTS[50:])
    assert (sizes["held_out_tokens"], sizes["vocabulary"]) == (len(read_tokens(mine.held_out)), 300)
    both = [as_transformers(Tokenizer.from_file(str(f.tokenizer / "tokenizer.json"))) for f in (files, mine)]
    assert sizes["shared"] == len(shared_ids(*both))
    assert 256 <= sizes["shared"] < 300


def test_samples_are_taken_in_without_what_is_torn(files):
    theirs = Tokenizer.from_file(str(files.tokenizer / "tokenizer.json"))
    foreign_draft.make_texts(files, tokens=10**6)
    assert not foreign_draft.foreign_files(files).samples.exists()
    torn = theirs.token_to_id("Ã")  # the first byte of a letter such as ö
    np.array([torn, *theirs.encode("x = 1\n").ids], dtype=np.uint16).tofile(files.samples)
    foreign_draft.make_texts(files, tokens=10**6)
    mine = foreign_draft.foreign_files(files)
    assert decoded(mine, mine.samples) == "x = 1\n"


def test_a_text_that_is_made_stays_and_one_that_changed_voids_what_was_trained(files):
    mine = foreign_draft.foreign_files(files)
    foreign_draft.make_texts(files, tokens=10**6)
    mine.draft.touch()
    foreign_draft.make_texts(files, tokens=10**6)
    assert mine.draft.exists()
    foreign_draft.make_texts(files, tokens=500)
    assert not mine.draft.exists()
    assert json.loads(mine.corpus.read_text())["train_tokens"] < 1500


def test_the_loss_is_that_of_the_next_token(monkeypatch):
    monkeypatch.setattr(blocks, "COMPUTE", torch.float32)
    model = new_model(tiny_config(1, vocab_size=320, hidden=64), seed=0)
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    ids = torch.randint(320, (2, 17))
    loss, figure = foreign_draft.next_token_loss(FastLlama(model, compiled=False), ids[:, :-1], ids[:, 1:])
    expected = model(ids, labels=ids).loss.item()
    assert (loss.item(), figure) == (pytest.approx(expected, abs=1e-5), pytest.approx(expected, abs=1e-5))


@pytest.mark.skipif(not (SHIPPED / "foreign").exists(), reason="no exported second draft")
def test_the_shipped_second_draft_has_another_tokenizer_and_reads_any_text():
    ours, theirs = (AutoTokenizer.from_pretrained(SHIPPED / name) for name in ("tokenizer", "foreign"))
    text = 'def f(x):\n\treturn {"é": x * 1024}  # 日本\n\n'
    ids = theirs.encode(text, add_special_tokens=False)
    assert theirs.decode(ids) == text
    assert ids != ours.encode(text, add_special_tokens=False)
    model = AutoModelForCausalLM.from_pretrained(SHIPPED / "foreign")
    assert (model.config.vocab_size, model.config.num_hidden_layers) == (len(theirs), 1)
    assert model.config.eos_token_id == theirs.eos_token_id
    assert len(shared_ids(ours, theirs)) > 0.9 * len(theirs)
    sizes = [path.stat().st_size for path in (SHIPPED / "foreign").iterdir()]
    assert max(sizes) < 10_000_000
