"""Vocabularies by content; ends of sequence; what the user is told."""

import pytest
from tiny import IDS, build, noised, table_model, tokenizer

import specviz
from specviz import Settings, SpecvizError


def test_padded_vocabularies_work_together_and_padding_never_wins():
    text = tokenizer()
    for wide, narrow in ((104, 97), (97, 104)):
        target, draft = table_model(wide, 0), table_model(narrow, 1)
        for model in (target, draft):
            model.table[..., 97:] = 50.0  # padding rows would win every argmax
        pair = specviz.Pair(target, draft, text)
        for settings in (Settings(3, 20), Settings(3, 20, temperature=1.0)):
            trace = specviz.speculate(pair, IDS, settings).finish()
            assert max(trace.output_ids) < 97
            if settings.greedy:
                assert trace.output_ids == specviz.decode_plain(pair, IDS, settings).finish().output_ids
            for d in (d for r in trace.rounds for d in r.drafted):
                assert d.id < 97
                for top in (d.p_top, d.q_top):
                    assert sum(top.probs) + top.rest == pytest.approx(1, abs=1e-6)
        assert any("logits" in n for n in pair.notices)


def test_swapped_ids_are_another_vocabulary_and_named():
    pair = specviz.Pair(build(), build(), tokenizer(), draft_tokenizer=tokenizer(swap=(40, 41)))
    assert pair.draft is None
    assert (
        "id 40 is 'w40' for the target and 'w41' for the draft. So the draft drafts through the 97" in pair.notices[0]
    )


def test_a_far_larger_vocabulary_is_another_one():
    pair = specviz.Pair(build(), build(vocab_size=400), tokenizer(), draft_tokenizer=tokenizer(400))
    assert (pair.draft, pair.foreign.shared) == (None, 97)
    assert "they share only 97 of 400 ids" in pair.notices[0]


def test_vocabularies_that_share_nothing_are_refused():
    other = tokenizer([f"v{i}" for i in range(97)])
    with pytest.raises(SpecvizError, match="share no token"):
        specviz.Pair(build(), build(), tokenizer(), draft_tokenizer=other)
    pair = specviz.Pair(build(), build(), tokenizer(), draft_tokenizer=other, strict=False)
    assert pair.draft_problem.startswith("No draft is used: The draft draft and the target share no token")
    assert pair.why_not("draft-model") == pair.draft_problem


def test_special_tokens_may_differ_and_the_targets_meaning_counts():
    ours = tokenizer(specials={2: "<user>", 3: "<end>"}, eos="<end>")
    theirs = tokenizer(specials={2: "<end>", 3: "<other>"}, eos="<end>")
    table = table_model(97, 0).table
    table[..., 2] += 30.0  # both want id 2, which ends the draft's text but not the target's
    target, draft = table_model(97, 0), table_model(97, 1)
    target.table, draft.table = table, table
    pair = specviz.Pair(target, draft, ours, draft_tokenizer=theirs)
    assert pair.eos_ids == {3}
    assert "2 special tokens differ (first: id 2 is '<user>' for the target, '<end>' for the draft)" in pair.notices[-1]
    trace = specviz.speculate(pair, IDS, Settings(4, 12)).finish()
    assert trace.output_ids == [2] * 12
    assert trace.finish == "budget"


def test_a_draft_that_cannot_read_the_targets_ids_is_refused():
    with pytest.raises(SpecvizError, match="knows 97 token ids, the target uses 104"):
        specviz.Pair(table_model(104, 0), table_model(97, 1))
    with pytest.raises(SpecvizError, match="knows 97 token ids, the target uses 150"):
        specviz.Pair(table_model(150, 0), table_model(97, 1), tokenizer(150))
    pair = specviz.Pair(table_model(150, 0), table_model(97, 1), tokenizer(150), draft_tokenizer=tokenizer(97))
    assert "knows 97 token ids, the target uses 150, so it could not" in pair.notices[0]
    assert pair.foreign.shared == 97


def test_a_prompt_of_unused_ids_is_refused():
    pair = specviz.Pair(table_model(104, 0), table_model(97, 1), tokenizer())
    with pytest.raises(SpecvizError, match="Token id 100 is outside the vocabulary"):
        specviz.speculate(pair, [5, 100])


def test_a_base_model_beside_a_chat_model_is_said():
    pair = specviz.Pair(build(), build(), tokenizer(template="{{ 1 }}"), draft_tokenizer=tokenizer())
    assert pair.notices == ["The draft has no chat template, the other one has: expect fewer accepted drafts in chat."]


def test_ends_are_the_union_of_all_sources():
    model = build()
    model.generation_config.eos_token_id = [4, 5]
    model.config.eos_token_id = 6
    assert specviz.Pair(model, None, tokenizer(specials={3: "<end>"}, eos="<end>")).eos_ids == {3, 4, 5, 6}


def test_different_precisions_are_said():
    import torch

    pair = specviz.Pair(build(), build(dtype=torch.bfloat16))
    assert pair.notices == ["The draft is in bfloat16, the target in float32."]
    assert (pair.target_info.dtype, pair.draft_info.dtype) == ("float32", "bfloat16")


def test_provenance_names_both_models_and_no_host():
    import platform

    pair = specviz.Pair(build(), noised(build()), names=("big", "small"), name="mine")
    trace = specviz.speculate(pair, IDS, Settings(2, 2)).finish()
    p = trace.provenance
    assert (p.pair, p.target.name, p.draft.name, p.rule) == ("mine", "big", "small", "rejection")
    assert (p.target.parameters, p.target.context) == (sum(w.numel() for w in pair.target.parameters()), 256)
    assert platform.node() not in repr(p)
