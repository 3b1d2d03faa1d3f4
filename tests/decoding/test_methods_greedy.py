"""fp32 greedy: every method, rule and tree shape writes what plain decoding writes."""

import pytest
import torch
from tiny import FAMILIES, IDS, VOCAB, TableModel, build, noised

import specviz
from specviz import Settings
from specviz.trace.methods import METHODS, RULES

PROMPTS, TOKENS = 100, 10
TREES = {"draft-model": ((3, 2), (4,), (2, 2, 1), (1, 1, 1)), "medusa": ((2, 2), (1, 1, 1))}
WAYS = [{"method": method, "rule": rule} for method in METHODS for rule in RULES]
WAYS += [
    {"method": method, "tree": tree, "rule": rule}
    for method, trees in TREES.items()
    for tree in trees
    for rule, info in RULES.items()
    if info.trees
]
WAYS += [{"draft_length": "confidence", "confidence": 0.5}, {"draft_length": "heuristic"}]


def prompts(count: int) -> list[list[int]]:
    """Random prompts, half of which repeat a piece of themselves at the end."""
    random = torch.Generator().manual_seed(21)
    made = []
    for n in range(count):
        ids = torch.randint(0, VOCAB, (int(torch.randint(2, 16, (1,), generator=random)),), generator=random).tolist()
        made.append(ids + ids[: 1 + len(ids) // 2] if n % 2 else ids)
    return made


@pytest.fixture(scope="module")
def plain(equipped):
    settings = Settings(max_new_tokens=TOKENS)
    return [specviz.decode_plain(equipped, prompt, settings).finish().output_ids for prompt in prompts(PROMPTS)]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way.values())))
def test_every_way_writes_what_plain_decoding_writes(equipped, plain, way):
    accepted = drafted = 0
    for n, (prompt, expected) in enumerate(zip(prompts(PROMPTS), plain, strict=True)):
        trace = specviz.speculate(equipped, prompt, Settings(1 + n % 6, TOKENS, **way)).finish()
        assert trace.output_ids == expected
        accepted += sum(r.accepted for r in trace.rounds)
        drafted += sum(len(r.drafted) for r in trace.rounds)
    assert 0 < accepted < drafted


@pytest.mark.parametrize("family", FAMILIES)
def test_trees_work_in_every_family(family):
    target = build(family)
    pair = specviz.Pair(target, noised(target))
    assert pair.tree_problem is None
    for prompt in prompts(12):
        expected = specviz.decode_plain(pair, prompt, Settings(max_new_tokens=TOKENS)).finish().output_ids
        assert specviz.speculate(pair, prompt, Settings(2, TOKENS, tree=(3, 2))).finish().output_ids == expected


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_tree_of_the_targets_own_copy_is_accepted_to_its_depth(temperature):
    pair = specviz.Pair(build(), build())
    trace = specviz.speculate(pair, IDS, Settings(3, 13, temperature, tree=(2, 2, 1), seed=4)).finish()
    assert [r.accepted for r in trace.rounds] == [3, 3, 3, 0]
    assert trace.rounds[-1].emitted[0].origin == "plain"  # one token left: nothing to draft


@pytest.mark.parametrize("tree", [(1, 1), (2, 2), (3,)])
def test_of_equal_scores_a_tree_drafts_the_one_that_the_target_takes(tree):
    """Whole numbers as logits: nearly every row has a tie at the top, and greedy takes the lowest id."""
    table = torch.randint(0, 3, (12, 12, 12), generator=torch.Generator().manual_seed(0)).float()
    assert ((table == table.amax(-1, keepdim=True)).sum(-1) > 1).float().mean() > 0.9
    pair = specviz.Pair(TableModel(table), TableModel(table))
    for prompt in ([1, 2], [3, 4], [7, 7]):
        trace = specviz.speculate(pair, prompt, Settings(max_new_tokens=31, tree=tree)).finish()
        assert [r.accepted for r in trace.rounds[:10]] == [len(tree)] * 10


def test_recorded_tree_rows_are_those_of_forwards_of_their_own():
    target = build()
    draft = noised(target)
    pair = specviz.Pair(target, draft)
    trace = specviz.speculate(pair, IDS, Settings(2, 24, 1.0, tree=(3, 2), seed=1)).finish()
    sequence = list(IDS)
    for record in trace.rounds:
        for node in record.drafted:
            path, parent = [], node.parent
            while parent >= 0:
                path.insert(0, record.drafted[parent].id)
                parent = record.drafted[parent].parent
            prefix = torch.tensor([sequence + path])
            with torch.no_grad():
                p, q = (model(prefix).logits[0, -1].softmax(-1) for model in (target, draft))
            assert node.p == pytest.approx(float(p[node.id]), abs=1e-4)
            taken = [d.id for d in record.drafted if d.parent == node.parent]
            left = 1 - sum(float(q[t]) for t in taken[: taken.index(node.id)])
            assert node.q == pytest.approx(float(q[node.id]) / left, abs=1e-3)
        sequence += [e.id for e in record.emitted]
