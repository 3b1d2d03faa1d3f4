"""The pair doctor on memory, and on loaded pairs: measured bytes and times against computed ones."""

import pytest
import torch
from doctored import LARGE, SMALL, fitting, looked, seen
from tiny import build, heads, table_model

import specviz
from specviz.models import budget
from specviz.models.doctor import examine_pair
from specviz.models.memory import weight_bytes
from specviz.trace.measured import StepTimes


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return fitting(tmp_path_factory.mktemp("models"))


def test_memory_is_judged_by_what_is_free(folders):
    target, draft = (build(**sizes) for sizes in (LARGE, SMALL))
    tokens = 2 * 4 * (6 * 2 * 8 + 1 * 2 * 8)  # bytes a token: keys and values, float32, layers x heads x 8
    fixed = weight_bytes(target, draft) + 97 * (5 * 12 + 4 * 4)
    free = int((fixed + 1000 * tokens) / 0.9)
    fault = seen(looked(*folders, free=free, context=2000), "memory")
    assert fault.level == "fault"
    assert {n.name: n.computed for n in fault.numbers}["all together"] == fixed + 2000 * tokens
    assert fault.advice.startswith("A context of ")
    fits = int(fault.advice.split()[3].replace(",", ""))
    assert fits in (999, 1000)
    assert seen(looked(*folders, free=free, context=fits), "memory").level == "ok"
    assert seen(looked(*folders, free=free, context=1050), "memory").level == "warning"
    small = looked(*folders, free=1000)
    assert small[-1].sentence.startswith("Cannot work: Weights, caches for 200 tokens and logits take ")
    assert "cpu has 0.0 MB to spare" in small[-1].sentence
    assert "smaller models" in small[-1].advice


def test_sentences_tell_gigabytes_from_one_on(folders):
    def told(free):
        return seen(looked(*folders, free=free), "memory").sentence

    assert told(23_646_300_000).endswith("cpu has 23.6 GB to spare.")
    assert told(10**9).endswith("cpu has 1.0 GB to spare.")
    assert told(999_000_000).endswith("cpu has 999.0 MB to spare.")


def test_a_gpus_weights_pass_through_main_memory(folders, monkeypatch):
    from specviz.models.examined import Examined

    models = [Examined.read("target", folders[0], torch.float32)]
    monkeypatch.setattr(budget, "free_bytes", lambda device: 1000)
    found = budget.memory(models, [], 200, 4, "cuda:0", 10**9)
    assert [f.level for f in found] == ["ok", "warning"]
    assert "Main memory has 0.0 MB to spare, and models pass through it" in found[1].sentence


def test_a_loaded_pair_is_measured_and_agrees_with_what_was_computed(folders):
    pair = specviz.load_pair(target=folders[0], draft=folders[1], dtype="float32", device="cpu")
    pair.medusa = heads(2)
    found = examine_pair(pair, context=200, free=10**9)
    assert found[-1].sentence == "Fits."
    numbers = {n.name: n for n in seen(found, "memory").numbers}
    for name in ("target weights", "draft weights", "Medusa heads", "target cache", "draft cache"):
        assert numbers[name].computed == numbers[name].measured > 0
    held = weight_bytes(pair.target, pair.draft, pair.medusa)
    assert numbers["weights and caches"].measured == held + 200 * 2 * 4 * (6 * 2 * 8 + 1 * 2 * 8)
    assert seen(examine_pair(pair, context=200, free=held // 2), "memory").level == "ok", "weights are there already"
    assert seen(examine_pair(pair, context=200, free=1000), "memory").level == "fault"


def steps(target, draft, wide):
    """Step times with these medians, in seconds; the outliers do not count."""
    rows = (("target", 1, target), ("draft", 1, draft), ("target", 5, wide))
    return [StepTimes(part, width, [seconds, seconds, 99.0]) for part, width, seconds in rows]


def test_measured_steps_decide_on_the_speed(folders):
    pair = specviz.Pair(build(), build())
    slow = examine_pair(pair, context=200, free=10**9)
    assert (seen(slow, "speed").level, seen(slow, "size").level) == ("warning", "warning")
    quick = examine_pair(pair, context=200, free=10**9, steps=steps(0.010, 0.001, 0.011))
    numbers = {n.name: n.measured for n in seen(quick, "speed").numbers}
    assert numbers == pytest.approx({"c": 0.1, "gamma c": 0.4, "v(gamma)": 1.1, "highest speedup": 5 / 1.5})
    assert (seen(quick, "speed").level, seen(quick, "size").level) == ("ok", "note")
    assert "4 draft steps take 0.40 of the time of one target step, as measured" in seen(quick, "speed").sentence
    lame = examine_pair(pair, context=200, free=10**9, steps=steps(0.010, 0.008, 0.020))
    assert (seen(lame, "speed").level, seen(lame, "speed").advice) == (
        "warning",
        "Do not speculate with this draft here.",
    )


def test_a_draft_that_was_left_out_and_models_of_no_known_family(folders):
    pair = specviz.load_pair(target=folders[0], draft="nobody/nothing", dtype="float32", device="cpu", strict=False)
    assert examine_pair(pair, free=10**9)[-1].sentence.startswith("Cannot work: No draft is used: nobody/nothing")
    found = examine_pair(specviz.Pair(table_model(5, 0), table_model(5, 1)), context=8, free=10**9)
    assert found[-1].level == "note"
    assert not [f for f in found if f.topic == "check"]
    both = next(n for n in seen(found, "memory").numbers if n.name == "weights and caches")
    assert (both.computed, both.measured) == (None, 2 * (5 * 4 + 2 * 8 * 4)), "embeddings, and ids as keys and values"
    assert seen(found, "memory").level == "ok"
