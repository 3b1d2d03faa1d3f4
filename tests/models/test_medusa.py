"""Medusa heads: both published layouts, told apart by shapes, against the formula written out; the hidden state."""

import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tiny import FAMILIES, IDS, VOCAB, build, table_model

from specviz.models.forward import Stepper
from specviz.models.medusa import load_heads, tapped
from specviz.trace.errors import SpecvizError

HIDDEN, COUNT = 32, 3


def checkpoint(blocks: int, owned: bool, prefix: str = "", bias: bool = True) -> dict[str, torch.Tensor]:
    """Random heads under the names that published checkpoints use."""
    random = torch.Generator().manual_seed(blocks)
    tensors = {}
    for head in range(COUNT):
        for block in range(blocks):
            tensors[f"{prefix}{head}.{block}.linear.weight"] = 0.3 * torch.randn(HIDDEN, HIDDEN, generator=random)
            if bias:
                tensors[f"{prefix}{head}.{block}.linear.bias"] = torch.randn(HIDDEN, generator=random)
        if owned:
            tensors[f"{prefix}{head}.{blocks}.weight"] = torch.randn(VOCAB, HIDDEN, generator=random)
    return tensors


def write(folder, tensors: dict[str, torch.Tensor], suffix: str) -> None:
    """A checkpoint folder as published ones are."""
    if suffix == ".pt":
        torch.save(tensors, folder / "medusa_lm_head.pt")
    else:
        save_file(tensors, folder / "medusa_lm_head.safetensors")


def by_hand(tensors: dict[str, torch.Tensor], blocks: int, prefix: str, hidden, output_layer) -> torch.Tensor:
    """Logits [COUNT, V], one head after the other."""
    rows = []
    for head in range(COUNT):
        x = hidden[0]
        for block in range(blocks):
            bias = tensors.get(f"{prefix}{head}.{block}.linear.bias", torch.zeros(HIDDEN))
            x = x + F.silu(tensors[f"{prefix}{head}.{block}.linear.weight"] @ x + bias)
        own = tensors.get(f"{prefix}{head}.{blocks}.weight")
        rows.append(output_layer.weight @ x if own is None else own @ x)
    return torch.stack(rows)


def load(path, vocab: int = VOCAB):
    return load_heads(path, HIDDEN, vocab, torch.float32, "cpu")


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
@pytest.mark.parametrize(
    ("blocks", "owned", "prefix", "bias"),
    [(1, False, "", True), (2, False, "medusa_head.", True), (1, True, "", True), (2, True, "heads.", False),
     (0, True, "", True)],
)  # fmt: skip
def test_each_layout_gives_the_logits_of_the_formula(tmp_path, suffix, blocks, owned, prefix, bias):
    tensors = checkpoint(blocks, owned, prefix, bias)
    write(tmp_path, tensors, suffix)
    (tmp_path / "config.json").write_text('{"medusa_num_heads": 9, "medusa_num_layers": 9}')  # shapes win
    heads = load(tmp_path)
    layer = torch.nn.Linear(HIDDEN, VOCAB, bias=False)
    hidden = torch.randn(1, HIDDEN, generator=torch.Generator().manual_seed(5))
    assert heads.count == COUNT
    assert (heads.output is not None) == owned
    with torch.no_grad():
        expected = by_hand(tensors, blocks, prefix, hidden, layer)
        torch.testing.assert_close(heads.logits(hidden, layer), expected, atol=1e-4, rtol=1e-4)
    assert not any(parameter.requires_grad for parameter in heads.parameters())
    [file] = tmp_path.glob("medusa_lm_head.*")
    assert torch.equal(load(file).weight, heads.weight)


def test_safetensors_are_preferred_and_the_dtype_is_the_one_asked_for(tmp_path):
    write(tmp_path, checkpoint(1, False), ".safetensors")
    (tmp_path / "medusa_lm_head.pt").write_bytes(b"not read")
    assert load_heads(tmp_path, HIDDEN, VOCAB, torch.bfloat16, "cpu").weight.dtype == torch.bfloat16


def test_heads_of_one_target_are_refused_by_another(tmp_path):
    write(tmp_path, checkpoint(1, True), ".pt")
    with pytest.raises(SpecvizError, match=r"layer 1 of head 0 has the shape \(97, 32\).*\(101, 32\)"):
        load(tmp_path, vocab=101)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"1.0.linear.weight": torch.zeros(HIDDEN, 2 * HIDDEN)}, r"head 1 has the shape \(32, 64\)"),
        ({"0.0.linear.bias": torch.zeros(7)}, r"head 0 has the shape \(7,\)"),
        ({"0.1.weight": torch.zeros(HIDDEN, VOCAB)}, r"not every one of its 3 heads has 2 layers"),
        ({"2.1.weight": torch.zeros(VOCAB, HIDDEN)}, r"not every one of its 3 heads has 2 layers"),
        ({"model.norm.weight": torch.zeros(HIDDEN)}, r"'model.norm.weight' of shape \(32,\)"),
    ],
)
def test_a_third_shape_is_refused_in_one_sentence_that_names_it(tmp_path, changes, said):
    write(tmp_path, checkpoint(1, False) | changes, ".safetensors")
    with pytest.raises(SpecvizError, match=said) as caught:
        load(tmp_path)
    assert str(caught.value).endswith("choose heads made for this target.")
    assert str(tmp_path) not in str(caught.value)


def test_an_output_layer_of_the_third_shape_and_one_with_a_bias_are_refused(tmp_path):
    tensors = checkpoint(1, True)
    write(tmp_path, tensors | {f"{i}.1.weight": torch.zeros(VOCAB + 3, HIDDEN) for i in range(COUNT)}, ".pt")
    with pytest.raises(SpecvizError, match=r"layer 1 of head 0 has the shape \(100, 32\)"):
        load(tmp_path)
    write(tmp_path, tensors | {"1.1.bias": torch.zeros(VOCAB)}, ".pt")
    with pytest.raises(SpecvizError, match=r"bias of layer 1 of head 1 has the shape \(97,\)"):
        load(tmp_path)


class Harmful:
    """Would run code if it were unpickled freely."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code ran')",)


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps(Harmful(), 2)], ids=["empty", "garbage", "code"])
def test_a_file_that_cannot_be_read_safely_is_refused(tmp_path, content):
    (tmp_path / "medusa_lm_head.pt").write_bytes(content)
    with pytest.raises(SpecvizError, match="medusa_lm_head.pt cannot be read"):
        load(tmp_path)


def test_a_pt_file_that_holds_no_tensors_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(SpecvizError, match="no .safetensors or .pt file"):
        load(tmp_path)
    torch.save({"epoch": 3}, tmp_path / "state.pt")
    with pytest.raises(SpecvizError, match="state.pt cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_taps_hidden_state_is_the_last_of_transformers_and_the_model_stays_as_it_is(family):
    model = build(family)
    modules = dict(model._modules)
    view, tap = tapped(model)
    stepper = Stepper(view, len(IDS))
    stepper.absorb(IDS[:4])
    logits = stepper.feed(IDS[4:], keep=len(IDS) - 4)
    with torch.no_grad():
        out = model(torch.tensor([IDS]), output_hidden_states=True)
    torch.testing.assert_close(tap.hidden[0], out.hidden_states[-1][0, 4:], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(logits, out.logits[0, 4:], atol=1e-4, rtol=1e-4)
    assert model._modules == modules
    assert view.get_input_embeddings() is model.get_input_embeddings()


def test_two_views_in_two_threads_do_not_mix():
    model, found = build(), {}

    def read(name: int) -> None:
        view, tap = tapped(model)
        stepper = Stepper(view, 40)
        for step in range(20):
            stepper.feed([(name * 7 + step) % VOCAB])
        found[name] = tap.hidden

    threads = [threading.Thread(target=read, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in range(2):
        ids = torch.tensor([[(name * 7 + step) % VOCAB for step in range(20)]])
        with torch.no_grad():
            last = model(ids, output_hidden_states=True).hidden_states[-1][0, -1]
        torch.testing.assert_close(found[name][0, -1], last, atol=1e-5, rtol=1e-4)


def test_a_model_without_an_output_layer_is_refused():
    with pytest.raises(SpecvizError, match="TableModel does not show"):
        tapped(table_model(5, seed=0))
