"""Names to models; every failure one sentence."""

import errno
import json
from types import SimpleNamespace

import pytest
import torch
from spell import spelled
from tiny import build, byte_tokenizer

import specviz
from specviz import SpecvizError
from specviz.models import catalog, loading
from specviz.training.heads import new_heads, save_heads


@pytest.fixture
def folder(tmp_path):
    text = byte_tokenizer()
    for name, seed in (("big", 0), ("small", 1)):
        build(vocab_size=len(text), seed=seed).save_pretrained(tmp_path / name)
        text.save_pretrained(tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(("capable", "dtype"), [(True, "bfloat16"), (False, "float32")])
def test_local_folders_load_in_what_the_processor_computes_in(folder, monkeypatch, capable, dtype):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "avx512_bf16": capable})
    pair = specviz.load_pair(target=str(folder / "big"), draft=str(folder / "small"), device="cpu")
    assert (pair.target_info.dtype, pair.draft_info.dtype, pair.target_info.device) == (dtype, dtype, "cpu")
    assert len(specviz.speculate(pair, "hi", specviz.Settings(2, 5)).finish().output_ids) == 5


def test_a_draft_of_another_vocabulary_loads_as_such(folder):
    text = spelled()
    build(vocab_size=len(text), seed=2).save_pretrained(folder / "other")
    text.save_pretrained(folder / "other")
    pair = specviz.load_pair(target=str(folder / "big"), draft=str(folder / "other"), dtype="float32", device="cpu")
    assert (pair.draft, pair.foreign.shared, pair.foreign.info.source) == (None, len(text), "local folder")
    assert pair.default_method == "cross-tokenizer"


@pytest.fixture
def named(folder, monkeypatch):
    """A named pair of local folders whose heads and other draft are not there yet."""
    table = {"title": "Mine", "about": "", "target": "big", "draft": "small", "medusa": "heads", "foreign": "other"}
    monkeypatch.setattr(catalog, "_tables", lambda: {"mine": table})
    monkeypatch.setenv(catalog.FOLDER_VARIABLE, str(folder))
    return folder


def test_a_named_pair_works_without_its_extra_parts(named):
    methods = catalog.find("mine").methods()
    assert [name for name, why in methods.items() if why] == ["medusa", "cross-tokenizer"]
    assert methods["medusa"].startswith("Mine lacks its Medusa heads: heads is not on this machine")
    pair = specviz.load_pair("mine", dtype="float32", device="cpu")
    assert (pair.medusa, pair.foreign, pair.draft_problem) == (None, None, None)
    assert pair.why_not("draft-model") is None
    assert pair.why_not("medusa").startswith("No Medusa heads are used: Mine lacks its Medusa heads: heads is not on")
    assert pair.why_not("cross-tokenizer").startswith("No draft with another tokenizer is used: Mine lacks its")


def test_a_named_pair_loads_its_extra_parts(named):
    width, text = build(vocab_size=len(byte_tokenizer())).config.hidden_size, spelled()
    save_heads(new_heads(width, count=3), named / "heads", base="../big")
    build(vocab_size=len(text), seed=2).save_pretrained(named / "other")
    text.save_pretrained(named / "other")
    assert set(catalog.find("mine").methods().values()) == {None}
    pair = specviz.load_pair("mine", dtype="float32", device="cpu")
    assert (pair.medusa.count, pair.foreign.shared, pair.problems) == (3, len(text), {})
    assert pair.provenance("cross-tokenizer", "rejection").draft.name == "other"
    assert pair.devices == {torch.device("cpu")}


def test_heads_of_another_target_are_refused_if_asked_for(folder):
    save_heads(new_heads(16), folder / "heads", base="../big")
    chosen = {"target": str(folder / "big"), "medusa": str(folder / "heads"), "device": "cpu"}
    with pytest.raises(SpecvizError, match="Medusa heads 'heads' cannot be used"):
        specviz.load_pair(**chosen)
    pair = specviz.load_pair(**chosen, strict=False)
    assert pair.why_not("medusa").startswith("No Medusa heads are used: The Medusa heads 'heads' cannot be used")


def test_a_folder_of_models_serves_hub_names(folder, monkeypatch):
    monkeypatch.setenv(catalog.FOLDER_VARIABLE, str(folder))
    assert catalog.local_folder("someone/big") == folder / "big"
    pair = specviz.load_pair(target="someone/big", draft="someone/small", dtype="float32", device="cpu")
    assert pair.target_info.dtype == "float32"


def test_a_draft_that_fails_leaves_plain_decoding_and_a_reason(folder):
    with pytest.raises(SpecvizError):
        specviz.load_pair(target=str(folder / "big"), draft="nobody/nothing", device="cpu")
    pair = specviz.load_pair(target=str(folder / "big"), draft="nobody/nothing", device="cpu", strict=False)
    assert pair.draft_problem.startswith("No draft is used: nobody/nothing")
    with pytest.raises(SpecvizError, match="No draft is used"):
        specviz.speculate(pair, "hi")
    assert specviz.decode_plain(pair, "hi", specviz.Settings(max_new_tokens=2)).finish().finish == "budget"


@pytest.mark.parametrize(
    "name", ["meta-llama/does-not-exist", "../../etc/passwd", "", " ", "a/b/c", "~root", "bad name!"]
)
def test_names_that_lead_nowhere(name):
    with pytest.raises(SpecvizError) as caught:
        specviz.load_pair(target=name, device="cpu")
    assert "\n" not in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_other_architectures_and_custom_code_are_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "vit", "architectures": ["ViTModel"]}))
    with pytest.raises(SpecvizError, match="not a causal language model"):
        specviz.load_pair(target=str(tmp_path), device="cpu")
    evil = {"model_type": "mine", "auto_map": {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.M"}}
    (tmp_path / "config.json").write_text(json.dumps(evil))
    (tmp_path / "code.py").write_text("raise SystemExit('ran')")
    with pytest.raises(SpecvizError, match="does not run"):
        specviz.load_pair(target=str(tmp_path), device="cpu")


class GatedRepoError(OSError):
    pass


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GatedRepoError("401 hf_secret"), "is gated: accept its terms at https://huggingface.co/o/m and set HF_TOKEN"),
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full"),
        (OSError("Consistency check failed: file should be of size"), "was damaged twice"),
        (OSError("o/m is not a valid model identifier"), "was not found on the hub"),
        (OSError("We couldn't connect to the hub"), "cannot be reached"),
        (torch.OutOfMemoryError("CUDA out of memory"), "not enough memory"),
        (ValueError("Unrecognized configuration class X"), "not a causal language model"),
        (ValueError("strange\nthing"), r"cannot be loaded \(ValueError: strange\)"),
    ],
)
def test_loader_errors_become_sentences(monkeypatch, error, expected):
    class Loader:
        @staticmethod
        def from_pretrained(*_, **__):
            raise error

    monkeypatch.setattr(loading, "may_download", lambda: True)
    with pytest.raises(SpecvizError, match=expected) as caught:
        loading._from_pretrained(Loader, "o/m")
    assert "hf_secret" not in str(caught.value)
    assert caught.value.__context__ is None


class ConnectError(OSError):
    pass


@pytest.mark.parametrize(
    ("answer", "only_local"), [(ConnectError("Name or service not known"), True), (OSError("404"), False)]
)
def test_without_a_network_loaders_look_only_at_what_is_here(monkeypatch, answer, only_local):
    asked, seen = [], []

    def hub(url):
        asked.append(url)
        raise answer

    def load(name, **options):
        seen.append(options["local_files_only"])
        return name

    monkeypatch.setattr(loading, "may_download", lambda: True)
    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", hub)
    assert loading._from_pretrained(SimpleNamespace(from_pretrained=load), "o/m") == "o/m"
    assert asked == ["https://huggingface.co/o/m/resolve/main/config.json"]
    assert seen == [only_local]


def test_gpus_without_bfloat16_get_float32(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation)
    assert loading.default_dtype("cuda") is torch.float32


def test_a_damaged_download_is_tried_once_more(monkeypatch):
    calls = []

    class Loader:
        @staticmethod
        def from_pretrained(_name, **options):
            calls.append(options.get("force_download", False))
            if len(calls) == 1:
                raise OSError("Consistency check failed")
            return "model"

    monkeypatch.setattr(loading, "may_download", lambda: True)
    assert loading._from_pretrained(Loader, "o/m") == "model"
    assert calls == [False, True]


def test_quantised_models_are_not_moved(monkeypatch):
    class Quantised(torch.nn.Module):
        is_quantized = True

        def to(self, *_):
            raise AssertionError("a quantised model must not be moved")

    monkeypatch.setattr(loading, "_from_pretrained", lambda *_, **__: Quantised())
    assert isinstance(loading.load_model("x", torch.bfloat16, "cpu"), Quantised)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("no such device")])
def test_failures_while_placing_a_model_become_sentences(monkeypatch, error):
    class Heavy(torch.nn.Module):
        def to(self, *_):
            raise error

    monkeypatch.setattr(loading, "_from_pretrained", lambda *_, **__: Heavy())
    with pytest.raises(SpecvizError, match="^x cannot be loaded|not enough memory for x") as caught:
        loading.load_model("x", torch.bfloat16, "cuda")
    assert caught.value.__context__ is None, "the old error's frames hold the weights"


@pytest.mark.parametrize(
    ("device", "sentence"), [("cuda", "no CUDA GPU here"), ("mps", "runs on cpu and cuda"), ("foo", "runs on cpu")]
)
def test_devices_that_are_not_there(device, sentence):
    with pytest.raises(SpecvizError, match=sentence):
        specviz.load_pair("tiny-code", device=device)


def test_a_half_downloaded_model_is_not_a_local_folder(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: str(tmp_path / "config.json"))
    assert catalog.local_folder("owner/model") is None
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "1.bin", "b": "2.bin"}}))
    (tmp_path / "1.bin").touch()
    assert catalog.local_folder("owner/model") is None
    (tmp_path / "2.bin").touch()
    assert catalog.local_folder("owner/model") == tmp_path


def test_a_named_pair_takes_no_other_draft():
    with pytest.raises(SpecvizError, match="not both"):
        specviz.load_pair("tiny-code", draft="other")


def test_float16_on_a_cpu_is_refused_before_loading():
    with pytest.raises(SpecvizError, match="float16 is very slow"):
        specviz.load_pair(target="anything", dtype="float16", device="cpu")


def test_the_catalog_says_what_is_missing():
    found = {e.key: e for e in catalog.entries()}
    assert found["tiny-code"].embedded
    assert found["tiny-code"].available
    assert "downloads are switched off" in found["qwen3"].why_not
    with pytest.raises(SpecvizError, match="choose one of tiny-code"):
        catalog.find("nope")
