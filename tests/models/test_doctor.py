"""The pair doctor on pairs made for one fault each: the right level, the right sentence, the right verdict."""

import json
from dataclasses import asdict

import pytest
import torch
from doctored import LARGE, SMALL, WINDOWS, fitting, looked, save, seen, text
from mixture import mixture_config
from pydantic import TypeAdapter
from spell import LETTERS, spelled
from tiny import build
from transformers import AutoConfig, AutoModelForCausalLM, Lfm2Config

import specviz
from specviz import SpecvizError
from specviz.models import doctor, loading
from specviz.models.doctor import examine_pair
from specviz.trace.findings import VERDICTS, Finding


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return fitting(tmp_path_factory.mktemp("models"))


def test_a_pair_that_fits(folders):
    found = looked(*folders)
    assert {f.level for f in found} == {"ok"}, [f for f in found if f.level != "ok"]
    assert found[-1].sentence == "Fits."
    assert seen(found, "end of sequence").sentence == "Texts end with 3 ('<end>')."
    target, draft = (sum(p.numel() for p in build(**sizes).parameters()) for sizes in (LARGE, SMALL))
    assert seen(found, "size").sentence == f"The target has {target / draft:.0f} times the draft's parameters."
    c = (draft - 97 * 16) / (target - 97 * 64)  # all but the tables whose rows are only looked up
    assert seen(found, "speed").numbers[0].computed == pytest.approx(c, rel=1e-3)
    assert f"4 draft steps should take {4 * c:.2f} of the time of one target step" in seen(found, "speed").sentence


def test_a_target_alone(folders):
    found = looked(folders[0])
    assert found[-1].sentence == "Fits."
    assert {f.topic for f in found}.isdisjoint({"vocabulary", "family", "size", "speed"})


# what differs from the pair that fits: part, how its model and its tokenizer are made; then topic, level, sentence,
# and the level of the verdict
ODD = {
    "draft padded": ("draft", {**SMALL, "vocab_size": 104}, {}, "vocabulary", "note",
                     "The target has 97 logits, the draft 104: the draft's are cut to the target's width", "note"),
    "target padded": ("target", {**LARGE, "vocab_size": 104}, {}, "vocabulary", "note",
                      "The target has 104 logits, the draft 97: the draft's are padded with probability 0", "note"),
    "ids swapped": ("draft", SMALL, {"swap": (40, 41)}, "vocabulary", "warning",
                    "id 40 is 'w40' for the target and 'w41' for the draft. They spell 95 tokens alike", "warning"),
    "nothing shared": ("draft", SMALL, {"words": [f"v{i}" for i in range(97)], "specials": {}, "eos": None},
                       "vocabulary", "fault", "They share no string, so nothing can be proposed.", "fault"),
    "another end": ("draft", SMALL, {"eos": "<stop>"}, "end of sequence", "note",
                    "ends texts with 3 ('<end>'), the draft with 4 ('<stop>'); the target's ends count", "note"),
    "no end": ("target", LARGE, {"eos": None}, "end of sequence", "note", "names no end-of-sequence id", "note"),
    "special tokens": ("draft", SMALL, {"specials": {3: "<end>", 5: "<other>"}}, "special tokens", "note",
                       "special tokens differ (first: id 4 is '<stop>' for the target", "note"),
    "short draft": ("draft", {**SMALL, "max_position_embeddings": 64}, {}, "context", "warning",
                    "The draft's context is 64 tokens, shorter than the 200 of a run.", "note"),
    "short target": ("target", {**LARGE, "max_position_embeddings": 128}, {}, "context", "warning",
                     "A context of 200 tokens was asked for, the target has 128", "note"),
    "draft without template": ("draft", SMALL, {"template": None}, "chat template", "note",
                               "The target has a chat template, the draft has none.", "note"),
    "target without template": ("target", LARGE, {"template": None}, "chat template", "note",
                                "The draft has a chat template, the target has none", "note"),
    "another template": ("draft", SMALL, {"template": "{{ 1 }}"}, "chat template", "note",
                         "The chat templates differ; the target's makes the prompt of both.", "note"),
    "windows": ("target", WINDOWS, {}, "cache", "note",
                "looks back 8 tokens in 3 of 6 layers; they keep all keys, so rollback is exact", "note"),
    "another type": ("draft", {"family": "qwen2", **SMALL, "layer_types": ["full_attention"]}, {}, "family", "note",
                     "The target is a model of the type llama, the draft one of the type qwen2.", "note"),
    "as large": ("draft", LARGE, {}, "speed", "warning",
                 "4 draft steps should take 4.00 of the time of one target step, by the weights that each reads "
                 "(below 1 is needed); if every draft were accepted, the speedup would be at best 1.00, as if only "
                 "reading weights took time.", "note"),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_pairs_with_one_oddity(folders, tmp_path, case):
    part, model, words, topic, level, sentence, verdict = ODD[case]
    odd = save(tmp_path / "odd", build(**model), text(**words))
    target, draft = (odd, folders[1]) if part == "target" else (folders[0], odd)
    found = looked(target, draft)
    assert (seen(found, topic).level, found[-1].level) == (level, verdict), seen(found, topic)
    assert sentence in seen(found, topic).sentence
    assert seen(found, topic).advice or level in ("ok", "note")
    assert found[-1].sentence.startswith(f"{VERDICTS[verdict]}: ")


def test_a_draft_as_large_as_the_target_gets_advice(folders):
    found = looked(folders[0], folders[0])
    assert (
        seen(found, "size").sentence == "The target has 1.0 times the draft's parameters, so it can hardly save time."
    )
    assert seen(found, "speed").advice == "Do not speculate with this draft here."


def test_another_family_works_only_through_shared_strings(folders, tmp_path):
    for name, family, letters in (("gpt", "gpt2", LETTERS[::-1]), ("llama", "llama", LETTERS)):
        words = spelled(letters)
        save(tmp_path / name, build(family, vocab_size=len(words)), words)
    found = looked(str(tmp_path / "llama"), str(tmp_path / "gpt"))
    count = len(spelled())
    assert (found[-1].level, seen(found, "family").level) == ("warning", "note")
    assert found[-1].sentence.startswith("Works only through the method cross-tokenizer: These two have different")
    assert seen(found, "vocabulary").numbers[0].computed == count
    pair = specviz.load_pair(target=str(tmp_path / "llama"), draft=str(tmp_path / "gpt"), dtype="float32", device="cpu")
    assert pair.foreign.shared == count
    assert examine_pair(pair, context=200, free=10**9)[-1].level == "warning"


@pytest.mark.parametrize("config", [
    AutoConfig.for_model("mamba", vocab_size=97, hidden_size=32, num_hidden_layers=2, state_size=4),
    Lfm2Config(vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
               intermediate_size=64, layer_types=["conv", "full_attention"]),
], ids=["recurrent", "hybrid"])  # fmt: skip
def test_a_memory_that_cannot_be_rolled_back_is_refused(folders, tmp_path, config):
    draft = save(tmp_path / "draft", AutoModelForCausalLM.from_config(config), text())
    found = looked(folders[0], draft)
    told = "recurrent: it has layers" if config.model_type == "mamba" else "hybrid: beside attention it has layers"
    assert (found[-1].level, seen(found, "cache").level) == ("fault", "fault")
    assert f"cannot take part: it is {told}" in found[-1].sentence
    assert found[-1].advice == "Choose a model with attention layers only."
    assert not [f for f in found if f.topic in ("memory", "check")]


def test_a_static_cache_is_not_used(folders, tmp_path):
    target = save(tmp_path / "t", build(**LARGE), text(), cache_implementation="static")
    finding = seen(looked(target, folders[1]), "cache")
    assert (finding.level, "asks for the cache 'static'; specviz keeps buffers of its own" in finding.sentence) == (
        "note",
        True,
    )


def test_a_mixture_of_experts_reads_more_when_it_checks_drafts(folders, tmp_path):
    target = save(tmp_path / "moe", AutoModelForCausalLM.from_config(mixture_config()), text())
    found = looked(target, folders[1])
    finding = seen(found, "experts")
    assert finding.level == "warning"
    assert "is a mixture of 4 experts a layer, 2 for each token" in finding.sentence
    everything, active = (n.computed for n in finding.numbers)
    experts = 2 * 4 * 3 * 32 * 16
    assert active == everything - 97 * 32 - experts / 2  # the looked-up table, half of the experts
    wide = next(n.computed for n in seen(found, "speed").numbers if n.name == "v(gamma)")
    assert wide == pytest.approx((active + experts / 2 * (1 - 2 * 0.5**5)) / active)


@pytest.mark.parametrize("name", ["meta-llama/does-not-exist", "../../etc/passwd", "", "bad name!", "\x1b[2J<b>"])
def test_names_that_lead_nowhere(folders, name):
    for found in (looked(name, folders[1]), looked(folders[0], name), looked(name)):
        assert found[-1].level == "fault"
        assert found[-1].sentence.startswith("Cannot work: The ")
        assert "\n" not in found[-1].sentence
    assert seen(looked(folders[0], name), "cache").level == "ok", "the other one is examined all the same"


def test_a_gated_repository_is_told_as_when_loading(folders, monkeypatch):
    class GatedRepoError(OSError):
        pass

    def refuse(*_, **__):
        raise GatedRepoError("401 hf_secret")

    monkeypatch.setattr(loading, "may_download", lambda: True)
    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", refuse)
    verdict = looked("google/gated")[-1]
    assert "google/gated is gated: accept its terms" in verdict.sentence
    assert "hf_secret" not in verdict.sentence


def test_what_cannot_be_loaded_gets_one_cure(monkeypatch):
    offline, missing = looked("some/name"), looked("/no/such/folder")
    assert offline[-1].sentence.endswith("downloads are switched off; give a folder, or unset HF_HUB_OFFLINE.")
    assert missing[-1].sentence.endswith("There is no model folder '/no/such/folder'; check its path.")
    assert offline[-1].advice == missing[-1].advice == ""
    monkeypatch.setattr(loading, "may_download", lambda: True)
    told = looked("some/name")[-1]
    assert told.sentence.endswith("some/name cannot be loaded; check the network or use an embedded pair.")
    assert told.advice == ""


def test_no_gpu_and_float16_on_a_cpu_are_findings(folders):
    assert "no CUDA GPU here" in looked(*folders, device="cuda")[-1].sentence
    assert [f.topic for f in looked(*folders, dtype="float16")] == ["dtype", "verdict"]


def test_files_that_are_not_whole(folders, tmp_path):
    target = save(tmp_path / "t", build(**LARGE), text())
    weights = tmp_path / "t" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-10])
    assert "model.safetensors is missing, cut short or unreadable" in looked(target)[-1].sentence
    weights.unlink()
    assert looked(target)[-1].level == "fault"
    torch.save({}, tmp_path / "t" / "pytorch_model.bin")
    assert "pickles; they are read as weights only" in seen(looked(target), "files").sentence
    build(**SMALL).save_pretrained(tmp_path / "small")
    weights.write_bytes((tmp_path / "small" / "model.safetensors").read_bytes())
    assert "its configuration asks for" in seen(looked(target), "files").sentence


def edited(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return str(folder)


def test_what_a_configuration_says_of_code_and_quantisation(tmp_path, monkeypatch):
    save(tmp_path, build(**LARGE), text())
    code = {"AutoModelForCausalLM": "code.M"}
    finding = seen(looked(edited(tmp_path, auto_map=code)), "custom code")
    assert (finding.level, "it does not run" in finding.sentence) == ("note", True)
    assert looked(edited(tmp_path, model_type="mine", auto_map={"AutoConfig": "code.C"}))[-1].level == "fault"
    packed = {"quant_method": "gptq", "bits": 4}
    found = looked(edited(tmp_path, model_type="llama", auto_map={}, quantization_config=packed))
    assert "is quantised (gptq)" in seen(found, "quantisation").sentence
    weights = next(n for n in seen(found, "memory").numbers if n.name == "target weights")
    assert weights.computed == pytest.approx(4 * sum(p.numel() for p in build(**LARGE).parameters()))


def test_dtypes_that_overflow_or_are_imitated(folders, monkeypatch):
    from specviz.models import compatible
    from specviz.models.examined import Examined

    gemma = Examined("target", "g", build("gemma3"), None)
    assert "leaves the range of float16" in compatible.precision([gemma], torch.float16, "cuda")[0].sentence
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": False})
    assert "imitated" in seen(looked(*folders, dtype="bfloat16"), "dtype").sentence


def test_a_check_that_stumbles_is_a_finding(folders, monkeypatch):
    def broken(*_):
        raise KeyError("x")

    monkeypatch.setattr(doctor.compatible, "ends", broken)
    finding = seen(looked(*folders), "check")
    assert (finding.level, finding.sentence) == ("warning", "The check of broken could not be made (KeyError).")


def test_findings_are_plain_data(folders):
    found = looked(*folders)
    data = json.loads(json.dumps([asdict(f) for f in found]))
    assert TypeAdapter(list[Finding]).validate_python(data) == found


@pytest.mark.parametrize(("options", "sentence"), [
    ({"gamma": 0}, "Gamma must be a whole number from 1 to 64."),
    ({"context": -1}, "The context must be a whole number from 1 to 100,000,000."),
])  # fmt: skip
def test_what_no_run_can_have_is_refused(folders, options, sentence):
    with pytest.raises(SpecvizError, match=sentence):
        looked(*folders, **options)
