"""The pair doctor on what is loaded beside target and draft: heads, and a further draft with a tokenizer of its own."""

import pytest
import torch
from doctored import SMALL, fitting, looked, save, seen
from tiny import build

import specviz
from specviz.models.doctor import examine_pair
from specviz.models.info import model_info
from specviz.models.memory import weight_bytes

TOKENS, PLACE = 200, 2 * 2 * 8 * 4  # keys and values of one layer with 2 heads of 8, float32


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return fitting(tmp_path_factory.mktemp("models"))


def numbers(found):
    return {n.name: n for n in seen(found, "memory").numbers}


def test_pickled_or_damaged_parts_are_not_counted_and_that_is_said(folders, tmp_path):
    alone = numbers(looked(*folders))["all together"].computed
    pickled, damaged = tmp_path / "pickled", tmp_path / "damaged"
    pickled.mkdir()
    torch.save({}, pickled / "pytorch_model.bin")
    damaged.mkdir()
    (damaged / "model.safetensors").write_bytes(b"no header")
    for folder in (pickled, damaged):
        found = looked(*folders, others=[str(folder)])
        memory = seen(found, "memory")
        assert memory.level == "note"
        assert memory.sentence.endswith(f"Not counted, as the files do not tell: {str(folder)[:100]}.")
        assert numbers(found)[str(folder)[:100]].computed is None
        assert numbers(found)["all together"].computed == alone


def test_a_further_drafts_cache_is_counted(folders, tmp_path):
    alone = numbers(looked(*folders))["all together"].computed
    further = build(**SMALL)
    found = numbers(looked(*folders, others=[save(tmp_path / "further", further)]))
    assert found["draft with another tokenizer cache"].computed == TOKENS * PLACE
    parameters = sum(p.numel() for p in further.parameters()) * 4
    assert found["all together"].computed == alone + parameters + TOKENS * PLACE


def test_a_loaded_further_drafts_cache_is_measured(folders):
    pair = specviz.load_pair(target=folders[0], draft=folders[1], dtype="float32", device="cpu")
    before = numbers(examine_pair(pair, context=TOKENS, free=10**9))["weights and caches"]

    class Further:
        model, tokenizer = build(**SMALL), pair.tokenizer
        info = model_info(model, "further")

    pair.foreign = Further
    found = numbers(examine_pair(pair, context=TOKENS, free=10**9))
    cache = found["draft with another tokenizer cache"]
    assert cache.computed == cache.measured == TOKENS * PLACE
    both, size = found["weights and caches"], weight_bytes(Further.model) + TOKENS * PLACE
    assert (both.computed, both.measured) == (before.computed + size, before.measured + size)
