"""Bytes predicted from shapes against those of loaded models; headers of files; what a machine has to spare."""

import itertools
import json

import pytest
import torch
from mixture import mixture_config
from tiny import FAMILIES, build
from transformers import AutoConfig

from specviz.models import memory
from specviz.models.forward import Stepper
from specviz.models.loading import skeleton
from specviz.models.stored import read_stored
from specviz.trace.errors import SpecvizError

CASES = {family: (family, {}) for family in FAMILIES}
CASES |= {"tied": ("llama", {"tie_word_embeddings": True}), "one key head": ("qwen3", {"num_key_value_heads": 1})}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_a_skeleton_predicts_is_what_the_loaded_model_takes(case, dtype):
    family, changes = CASES[case]
    model = build(family, dtype=dtype, **changes)
    shapes = skeleton("x", model.config, dtype)
    assert all(p.is_meta for p in shapes.parameters())
    unique = {t.untyped_storage().data_ptr(): t for t in (*model.parameters(), *model.buffers()) if t.numel()}
    assert memory.weight_bytes(shapes) == sum(t.numel() * t.element_size() for t in unique.values())
    assert memory.weight_bytes(model, model) == memory.weight_bytes(model) == memory.weight_bytes(shapes)
    assert memory.parameters(shapes) == memory.parameters(model)
    stepper = Stepper(model, 50)
    stepper.feed([1, 2, 3])
    assert memory.cache_bytes(shapes, 50) == memory.cache_bytes(model, 50) == stepper.bytes


def test_the_cache_is_the_product_of_its_shape_and_a_window_saves_nothing():
    windows, full = build("gemma3"), build("qwen3")
    for model, key_heads in ((windows, 2), (full, 2), (build("gpt2"), 4)):
        # keys and values, layers, heads, head_dim, tokens, bytes of float32
        assert memory.cache_bytes(model, 1000) == 2 * 2 * key_heads * 8 * 1000 * 4


def test_logits_of_a_round_are_counted_row_by_row():
    # gamma 4 in bfloat16: 5 rows as computed, as scores and as p, and 4 rows of q
    assert memory.logits_bytes(100, 4, 2, True) == 100 * (5 * 2 + 5 * 4 + 5 * 4 + 4 * 4)
    assert memory.logits_bytes(100, 4, 2, False) == 100 * 5 * 10


def test_a_step_reads_all_but_the_rows_it_only_looks_up():
    free, tied = build("llama"), build("llama", tie_word_embeddings=True)
    table = 97 * 32
    assert memory.parameters(free, 1) == memory.parameters(free) - table
    assert memory.parameters(tied, 1) == memory.parameters(tied) == memory.parameters(free) - table
    assert memory.read_bytes(free) == 4 * memory.parameters(free, 1)
    assert memory.read_bytes(free, 9) == memory.read_bytes(free)


@pytest.mark.parametrize("tokens", [1, 2, 3])
def test_experts_are_read_as_often_as_random_choices_touch_them(tokens):
    model = skeleton("x", mixture_config(), torch.float32)
    assert memory.experts(model) == (4, 2)
    choices = list(itertools.combinations(range(4), 2))
    touched = [len(set().union(*chosen)) / 4 for chosen in itertools.product(choices, repeat=tokens)]
    inside = sum(p.nbytes for name, p in model.named_parameters() if ".experts." in name)
    assert inside == 4 * 2 * 4 * (3 * 32 * 16)  # bytes, layers, experts, three matrices of each
    rest = sum(p.nbytes for p in model.parameters()) - inside - model.get_input_embeddings().weight.nbytes
    assert memory.read_bytes(model, tokens) == pytest.approx(rest + inside * sum(touched) / len(touched))


def test_a_dense_model_has_no_experts():
    assert memory.experts(build()) is None
    assert memory.running_state(build("gemma3")) is None


@pytest.mark.parametrize(("kinds", "told"), [
    (["conv", "full_attention"], "hybrid: beside attention it has layers of the kind 'conv'"),
    (["mamba", "mamba"], "recurrent: it has layers of the kind 'mamba'"),
])  # fmt: skip
def test_layers_with_a_running_state_are_named(kinds, told):
    model = build()
    model._is_stateful = True  # what transformers says of such models, without their names
    assert memory.running_state(model) == "recurrent layers keep one running state"
    model.config.layer_types = kinds
    assert told in memory.running_state(model)


def test_models_without_a_key_value_cache_are_refused():
    with torch.device("meta"):
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_config(AutoConfig.for_model("mamba", hidden_size=32, num_hidden_layers=2))
    assert memory.running_state(model).startswith("it is recurrent: it has layers of the kind 'linear_attention'")
    with pytest.raises(SpecvizError, match="^It cannot take part: its memory of the text cannot be rolled back"):
        memory.cache_bytes(model, 8, "It")


def test_a_cache_that_does_not_fit_is_one_sentence():
    with pytest.raises(SpecvizError, match="no memory for the key-value cache of 100,000,000,000,000 tokens"):
        memory.cache_bytes(build(), 10**14)


def write(root, name, text):
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_free_memory_is_the_least_that_system_and_container_allow(tmp_path):
    assert memory.free_bytes("cpu", tmp_path) is None
    write(tmp_path, "proc/meminfo", "MemTotal: 900 kB\nMemAvailable:   500 kB\n")
    assert memory.free_bytes("cpu", tmp_path) == 500 * 1024
    write(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    write(tmp_path, "sys/fs/cgroup/memory.current", "1000\n")
    assert memory.free_bytes("cpu", tmp_path) == 500 * 1024
    write(tmp_path, "sys/fs/cgroup/memory.max", "9000\n")
    write(tmp_path, "sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 300\n")
    assert memory.free_bytes("cpu", tmp_path) == 9000 - 1000 + 300


def test_headers_tell_what_the_files_hold(tmp_path):
    model = build(dtype=torch.bfloat16)
    model.save_pretrained(tmp_path, max_shard_size="20kB")
    stored = read_stored(str(tmp_path))
    assert (stored.dtype, stored.damaged, stored.pickled) == ("BF16", (), False)
    assert (stored.numbers, stored.bytes) == (memory.parameters(model), 2 * memory.parameters(model))
    shards = sorted(file.name for file in tmp_path.glob("*.safetensors"))
    assert len(shards) > 1
    data = (tmp_path / shards[0]).read_bytes()
    (tmp_path / shards[0]).write_bytes(data[:-1])
    (tmp_path / shards[1]).unlink()
    assert read_stored(str(tmp_path)).damaged == tuple(shards[:2])


@pytest.mark.parametrize("data", [b"", b"\xff" * 8, (5).to_bytes(8, "little") + b"[1,2]", b"\x02" + b"\0" * 7 + b"{}",
                                  (13).to_bytes(8, "little") + b'{"a":{"x":1}}'])  # fmt: skip
def test_files_that_are_no_safetensors_are_damaged(tmp_path, data):
    (tmp_path / "model.safetensors").write_bytes(data)
    assert read_stored(str(tmp_path)).damaged == ("model.safetensors",)


def test_an_index_leads_nowhere_outside_its_folder(tmp_path):
    outside = tmp_path / "secret.safetensors"
    outside.write_bytes(b"")
    (tmp_path / "m").mkdir()
    index = {"weight_map": {"a": "../secret.safetensors", "b": "/etc/passwd"}}
    (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
    assert read_stored(str(tmp_path / "m")).damaged == ("passwd", "secret.safetensors")
    (tmp_path / "m" / "model.safetensors.index.json").write_text("[]")
    assert read_stored(str(tmp_path / "m")).damaged == ("model.safetensors.index.json",)


def test_the_hub_is_asked_for_headers_only(monkeypatch):
    from types import SimpleNamespace

    from huggingface_hub.utils import SafetensorsFileMetadata, TensorInfo

    tensors = {"a": TensorInfo("BF16", [2, 3], (0, 12)), "b": TensorInfo("F32", [4], (12, 28))}
    answer = SimpleNamespace(files_metadata={"model.safetensors": SafetensorsFileMetadata({}, tensors)})
    monkeypatch.setattr("specviz.models.stored.locate", lambda name: name)
    monkeypatch.setattr("huggingface_hub.get_safetensors_metadata", lambda name: answer)
    stored = read_stored("owner/model")
    assert (stored.sizes, stored.numbers, stored.dtype) == ({"BF16": 12, "F32": 16}, 10, "F32")

    def unreachable(name):
        raise ConnectionError("no route")

    monkeypatch.setattr("huggingface_hub.get_safetensors_metadata", unreachable)
    assert read_stored("owner/model") is None
