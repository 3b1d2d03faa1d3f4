"""Cutting a model at a layer: exact in every family, nothing computed twice, nothing changed."""

import pytest
import torch
from deep import LAYERS, deep, exit_logits, state
from tiny import FAMILIES, IDS, build, table_model
from torch import nn

from specviz import SpecvizError
from specviz.models.forward import Stepper
from specviz.models.layers import Split, Taps, require_split
from specviz.trace.settings import exit_layer

TEXT = IDS * 3  # longer than the sliding windows of the tiny families
EXITS = range(1, LAYERS)


def _blocks(split: Split, drafts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """TEXT[5:] through a split that holds TEXT[:5]: blocks of `drafts` tokens drafted and one more, then finished.

    Logits of the drafts and of the target, both [len(TEXT) - 5, V]; NaN where nothing was drafted.
    """
    drafted, judged = [], []
    for begin in range(5, len(TEXT), drafts + 1):
        block = TEXT[begin : begin + drafts + 1]
        rows = [split.draft([token])[0] for token in block[:drafts]]
        judged.append(split.finish(block))
        drafted += rows + [torch.full_like(judged[-1][0], torch.nan)] * (len(block) - len(rows))
    return torch.stack(drafted), torch.cat(judged)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", EXITS)
def test_lower_layers_draft_and_upper_layers_finish_as_the_whole_model(family, count):
    model = deep(family)
    require_split(model, count, family)
    whole, target = Stepper(model, len(TEXT)), Stepper(model, len(TEXT))
    split = Split(target, count)
    target.absorb(TEXT[:5])
    drafted, judged = _blocks(split, drafts=2)
    exact = exit_logits(model, TEXT, count)[5:]
    made = ~drafted.isnan()
    assert made[:, 0].tolist() == ([True, True, False] * 8)[: len(TEXT) - 5]
    torch.testing.assert_close(drafted[made], exact[made], rtol=0, atol=1e-4)
    torch.testing.assert_close(judged, whole.feed(TEXT, keep=len(TEXT))[5:], rtol=0, atol=1e-4)
    assert target.length == len(TEXT)
    for mine, theirs in zip(target._cache.layers, whole._cache.layers, strict=True):
        assert mine.length == len(TEXT)
        torch.testing.assert_close(mine.keys, theirs.keys, rtol=0, atol=1e-4)
        torch.testing.assert_close(mine.values, theirs.values, rtol=0, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_norm_and_head_on_what_each_layer_returned(family):
    model = deep(family)
    taps = Taps(model, len(TEXT))
    taps.absorb(TEXT[:4])
    states = [torch.cat(parts) for parts in zip(taps.feed(TEXT[4:9]), taps.feed(TEXT[9:]), strict=True)]
    assert len(states) == LAYERS
    for layers, after in enumerate(states, start=1):
        torch.testing.assert_close(taps.logits(after), exit_logits(model, TEXT, layers)[4:], rtol=0, atol=1e-4)
    # all layers and the view's norm and head: the target itself
    torch.testing.assert_close(taps.logits(states[-1]), Stepper(model, 40).feed(TEXT, 40)[4:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("prompt", [0, 5])
def test_a_split_works_from_the_first_token_on_and_after_rollbacks(prompt):
    model = deep()
    target = Stepper(model, 20)
    split = Split(target, 2)
    if prompt:
        target.absorb(TEXT[:prompt])
    for wrong in (1, 2, 3):
        split.draft(TEXT[prompt : prompt + 1])
        split.draft([90])
        split.finish([TEXT[prompt], 90, 91, 92][: wrong + 1])
        target.rollback(wrong + 1)
    rows = split.finish(TEXT[prompt:15])  # nothing was drafted: a plain pass
    torch.testing.assert_close(rows, exit_logits(model, TEXT[:15], LAYERS)[prompt:], rtol=0, atol=1e-4)


def test_no_layer_sees_a_token_twice():
    model, seen = deep(), [0] * LAYERS

    def count(index):
        def hook(module, arguments):
            seen[index] += arguments[0].shape[1]

        return hook

    target = Stepper(model, 20)
    split = Split(target, 1)
    for index, layer in enumerate(model.model.layers):
        layer.register_forward_pre_hook(count(index))
    split.draft([5])
    split.draft([6])
    assert seen == [2, 0, 0, 0]
    split.finish([5, 6, 7])
    assert seen == [3, 3, 3, 3]


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_of_the_model_changes(family):
    model = deep(family)
    model(input_ids=torch.tensor([TEXT]))  # whatever transformers sets up on a first call
    before, logits = state(model), model(input_ids=torch.tensor([TEXT])).logits
    target = Stepper(model, len(TEXT))
    split = Split(target, 2)
    target.absorb(TEXT[:5])
    split.draft(TEXT[5:6])
    assert state(model) == before
    assert torch.equal(model(input_ids=torch.tensor([TEXT])).logits, logits)
    split.finish(TEXT[5:8])
    Taps(model, 20).feed(TEXT[:9])
    assert state(model) == before
    assert torch.equal(model(input_ids=torch.tensor([TEXT])).logits, logits)


@pytest.mark.parametrize(
    ("asked", "layers", "count"), [(None, 2, 1), (None, 3, 1), (None, 16, 4), (1, 2, 1), (3, 4, 3)]
)
def test_the_exit_layer_is_the_one_asked_for_or_a_quarter(asked, layers, count):
    assert exit_layer(asked, layers) == count


@pytest.mark.parametrize("asked", [0, 4, 5, -1, True, 1.5])
def test_an_exit_that_leaves_no_draft_or_no_check_is_refused(asked):
    with pytest.raises(SpecvizError, match="from 1 to 3: the target has 4 layers") as caught:
        exit_layer(asked, 4)
    assert caught.value.field == "exit_layer"


def test_a_model_of_one_layer_has_no_exit():
    with pytest.raises(SpecvizError, match="at least two layers"):
        exit_layer(None, 1)


class _Giver(nn.Module):
    """A layer that leaves something for a later one."""

    def __init__(self, layer):
        super().__init__()
        self.inner = layer

    def forward(self, states, cache, **others):
        cache.given = self.inner(states, cache=cache, **others)
        return cache.given


class _Taker(_Giver):
    def forward(self, states, cache, **others):
        given = cache.given if self.strict else getattr(cache, "given", 0)
        return self.inner(states, cache=cache, **others) + given


@pytest.mark.parametrize(("strict", "why"), [(True, "a test failed: .*given"), (False, "do not give what the whole")])
def test_a_family_whose_layers_share_more_than_hidden_states_is_refused_with_the_reason(strict, why):
    model = build(num_hidden_layers=3)
    layers = model.model.layers
    layers[0], layers[2] = _Giver(layers[0]), _Taker(layers[2])
    layers[2].strict = strict
    for _ in range(2):  # the second answer is remembered
        with pytest.raises(SpecvizError, match=f"The target cannot exit early: .*{why}"):
            require_split(model, 1, "The target")


def test_a_model_without_a_list_of_layers_is_refused():
    with pytest.raises(SpecvizError, match="0 lists of 1 layers"):
        require_split(table_model(5, 0), 1, "table")
