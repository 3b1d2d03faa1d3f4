"""A second tiny draft with a tokenizer of its own: the same text, cut elsewhere, by a smaller vocabulary.

Its folder below the work directory holds files of the same names as the family's, so whatever reads the
family's tokens and checkpoints reads these too.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from torch import Tensor
from transformers import LlamaForCausalLM

from specviz.models.foreign import shared_ids
from specviz.training.blocks import FastLlama
from specviz.training.data import Batches, read_tokens
from specviz.training.family import DRAFT_LAYERS, MAX_LENGTH, Files, new_model, tiny_config
from specviz.training.loop import Run
from specviz.training.optim import Optimizers, Schedule
from specviz.training.parallel import rank
from specviz.training.stages import (
    DRAFT_DECAY_SHARE,
    DRAFT_WARMUP,
    TOKENS_A_STEP,
    draft_tokens,
    finish_run,
    held_out_evaluation,
)
from specviz.training.tokenizer import END_OF_TEXT, as_transformers, save_tokenizer

VOCAB_SIZE = 2048


def foreign_files(files: Files) -> Files:
    """The second draft's tokenizer, tokens and checkpoints."""
    return Files(files.work / "foreign")


def learn_tokenizer(texts: list[str]) -> Tokenizer:
    """Byte-level BPE with GPT-2's split rule (Radford et al. 2019): only a space joins a word, numbers stay whole."""
    made = ByteLevelBPETokenizer()
    made.train_from_iterator(texts, vocab_size=VOCAB_SIZE, special_tokens=[END_OF_TEXT], show_progress=False)
    return Tokenizer.from_str(made.to_str())


def documents_of(ids: Tensor, tokenizer: Tokenizer) -> list[str]:
    """The texts that `ids` [n] hold, each with its end-of-text token spelled out; torn characters are left out."""
    ends = (ids == tokenizer.token_to_id(END_OF_TEXT)).nonzero().flatten() + 1
    documents = [part.tolist() for part in ids.tensor_split(ends) if len(part)]
    texts = tokenizer.decode_batch(documents, skip_special_tokens=False)
    return [text.replace("\ufffd", "") for text in texts]


def write_ids(texts: list[str], tokenizer: Tokenizer, path: Path) -> int:
    """Encode the texts one after the other into a .bin file (uint16); returns how many ids it holds."""
    ids = np.concatenate([np.array(e.ids, dtype=np.uint16) for e in tokenizer.encode_batch(texts)])
    ids.tofile(path)
    return len(ids)


def is_made(files: Files, tokens: int) -> bool:
    """The text was cut anew for so many tokens, after its sources were written."""
    mine = foreign_files(files).corpus
    sources = [path.stat().st_mtime for path in (files.train, files.held_out, files.samples) if path.exists()]
    return (
        mine.exists()
        and mine.stat().st_mtime >= max(sources)
        and json.loads(mine.read_text())["family_tokens"] == tokens
    )


def make_texts(files: Files, tokens: int) -> None:
    """Cut the family's text anew: enough of the corpus for `tokens` ids, the target's samples, the held-out files.

    Does nothing if it is done; else what was trained on the text before is void, and removed.
    """
    if is_made(files, tokens):
        return
    mine = foreign_files(files)
    mine.work.mkdir(exist_ok=True)
    for path in (mine.draft, mine.draft_run):
        path.unlink(missing_ok=True)
    theirs = Tokenizer.from_file(str(files.tokenizer / "tokenizer.json"))
    # the family's tokens are longer, so as many of them are more than enough
    corpus = documents_of(read_tokens(files.train)[:tokens], theirs)
    own = learn_tokenizer(corpus)
    save_tokenizer(own, mine.tokenizer)
    held_out = documents_of(read_tokens(files.held_out), theirs)
    sizes = {
        "family_tokens": tokens,
        "train_tokens": write_ids(corpus, own, mine.train),
        "held_out_tokens": write_ids(held_out, own, mine.held_out),
        "held_out_bytes": sum(len(text.removesuffix(END_OF_TEXT).encode()) for text in held_out),
        "vocabulary": own.get_vocab_size(),
        "shared": len(shared_ids(as_transformers(theirs), as_transformers(own))),
    }
    if files.samples.exists():
        write_ids(documents_of(read_tokens(files.samples), theirs), own, mine.samples)
    mine.corpus.write_text(json.dumps(sizes, indent=1) + "\n")  # last: its presence says all is there


def new_foreign() -> LlamaForCausalLM:
    """The second draft's architecture with fresh weights."""
    return new_model(tiny_config(DRAFT_LAYERS, VOCAB_SIZE), seed=3)


def train_foreign(files: Files, tokens: int) -> None:
    """Next-token loss on corpus text and the target's own samples, from nothing, at the full context."""
    if rank() == 0:
        make_texts(files, tokens)
    if dist.is_initialized():
        dist.barrier()
    mine, model = foreign_files(files), new_foreign()
    steps = -(-tokens // TOKENS_A_STEP)
    decay_steps = int(steps * DRAFT_DECAY_SHARE)
    fast = FastLlama(model)
    run = Run(
        model=model,
        optimizers=Optimizers(model, muon_lr=0.02, adam_lr=0.006),
        batches=Batches(draft_tokens(mine, tokens), MAX_LENGTH, seed=4),
        schedule=Schedule(DRAFT_WARMUP, steps - decay_steps, decay_steps),
        loss=lambda inputs, targets, _: next_token_loss(fast, inputs, targets),
        evaluate=lambda: held_out_evaluation(fast, mine.held_out, MAX_LENGTH),
        checkpoint=mine.draft_run,
        windows=TOKENS_A_STEP // MAX_LENGTH,
    )
    finish_run(run, steps, mine.draft, {})


def load_foreign(files: Files) -> LlamaForCausalLM:
    """The trained second draft in fp32, without gradients."""
    model = new_foreign()
    model.load_state_dict(torch.load(foreign_files(files).draft, weights_only=True)["model"])
    return model.requires_grad_(False).eval()


def next_token_loss(fast: FastLlama, inputs: Tensor, targets: Tensor) -> tuple[Tensor, float]:
    """Mean cross-entropy in nats of [batch, length] ids, and the same as a number."""
    x = fast.embed(inputs)
    for index in range(fast.config.num_hidden_layers):
        x = fast.layer(index, x)
    loss = fast.loss(x, targets)
    return loss, float(loss.detach())
