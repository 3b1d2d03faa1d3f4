"""What is recorded under each rule, for chains and for trees: recomputed from the tables of both models."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from tiny import TableModel, table_model, tokenizer

import specviz
from specviz import Settings
from specviz.trace.schema import Drafted, Round

WIDTH, TREE = 8, (3, 2)
CHAIN_RULES = ["rejection", "greedy-draft", "match", "block", "typical"]
TREE_RULES = ["rejection", "greedy-draft", "match", "typical"]
SHAPES = [*((rule, ()) for rule in CHAIN_RULES), *((rule, TREE) for rule in TREE_RULES)]


@dataclass
class Node:
    """One recorded draft with its distributions [WIDTH], by the tables. left: what rejected siblings leave of p."""

    row: Drafted
    p: np.ndarray
    q: np.ndarray
    left: np.ndarray
    turn: int  # how many siblings are tried before it


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: f"{shape[0]} {shape[1] or 'chain'}")
def seen(request):
    """(rule, rounds, their nodes) of one run."""
    rule, tree = request.param
    target, other = table_model(WIDTH, 0), table_model(WIDTH, 1)
    pair = specviz.Pair(target, TableModel(target.table + 0.8 * other.table))
    trace = specviz.speculate(pair, [1, 2], settings_of(rule, tree)).finish()
    ids, rounds = [1, 2, *trace.output_ids], trace.rounds
    return rule, rounds, [nodes_of(r, ids[: r.start], pair, rule) for r in rounds]


def settings_of(rule: str, tree: tuple[int, ...]) -> Settings:
    return Settings(3, 120, 1.0, top_n=WIDTH, seed=3, rule=rule, tree=tree)


def softmax(model: TableModel, ids: list[int]) -> np.ndarray:
    return model.row(ids).double().softmax(-1).numpy()


def normalised(values: np.ndarray) -> np.ndarray:
    return values / values.sum()


def nodes_of(record: Round, sequence: list[int], pair: specviz.Pair, rule: str) -> list[Node]:
    nodes: list[Node] = []
    for i, row in enumerate(record.drafted):
        parent = i - 1 if row.parent is None else row.parent
        path, at = [], parent
        while at >= 0:
            path.insert(0, record.drafted[at].id)
            at = at - 1 if row.parent is None else record.drafted[at].parent
        p, q = (softmax(model, sequence + path) for model in (pair.target, pair.draft))
        older = [n for n in nodes if n.row.parent == row.parent] if row.parent is not None else []
        left = p
        for sibling in older:
            q = normalised(np.where(np.arange(WIDTH) == sibling.row.id, 0, q))
            left = normalised(without(rule, left, sibling))
        if rule == "greedy-draft":
            q = np.eye(WIDTH)[row.id]
        nodes.append(Node(row, p, q, left, len(older)))
    return nodes


def without(rule: str, left: np.ndarray, node: Node) -> np.ndarray:
    """What a rejection of `node` leaves of `left`, not normalised."""
    if rule == "match":
        return np.where(np.arange(WIDTH) == node.row.id, 0, left)
    return np.maximum(left - node.q, 0)


def block_chances(nodes: list[Node]) -> tuple[list[float], list[float]]:
    """h_1..h_k of Sun et al. 2024, algorithm 2, and the products m_0..m_k."""
    products, chances = [1.0], []
    for node in nodes:
        products.append(min(1.0, products[-1] * node.p[node.row.id] / node.q[node.row.id]))
    for m, after in zip(products[1:], nodes[1:], strict=False):
        over = np.maximum(m * after.p - after.q, 0).sum()
        chances.append(over / (over + 1 - m))
    return [*chances, *products[-1:]][: len(nodes)], products


def close(value: float):
    return pytest.approx(value, abs=2e-5)


def test_every_run_has_accepted_rejected_and_unjudged_drafts(seen):
    verdicts = [d.verdict for r in seen[1] for d in r.drafted]
    assert {"accepted", "rejected", "not_judged"} <= set(verdicts)


def test_p_q_and_what_follows_from_them(seen):
    for nodes in seen[2]:
        for n in nodes:
            assert n.row.p == close(n.p[n.row.id])
            assert n.row.q == close(n.q[n.row.id])
            assert n.row.beta == close(np.minimum(n.p, n.q).sum())
            assert n.row.match == close((n.p * n.q).sum())
            assert n.row.best == close(n.p[n.q.argmax()])


def test_the_chance_of_block_verification_stands_in_chains_whatever_the_rule(seen):
    for nodes in seen[2]:
        if nodes and nodes[0].row.parent is None:
            assert [n.row.block for n in nodes] == [close(h) for h in block_chances(nodes)[0]]
        else:
            assert all(n.row.block is None for n in nodes)


def test_every_node_has_its_chance_judged_or_not(seen):
    rule, _, all_nodes = seen
    for nodes in all_nodes:
        blocks = block_chances(nodes)[0] if rule == "block" else None
        for i, n in enumerate(nodes):
            token = n.row.id
            if rule == "block":
                expected = blocks[i]
            elif rule == "typical":
                entropy = -(n.p * np.log(n.p)).sum()
                expected = float(n.p[token] > min(0.09, 0.3 * np.exp(-entropy)))
            else:
                expected = n.left[token] if rule == "match" else min(1.0, n.left[token] / n.q[token])
            assert n.row.accept_prob == close(expected)
            with_left = n.turn and rule != "typical"
            assert n.row.p_left == (close(n.left[token]) if with_left else None)


def test_uniforms_stand_where_the_rule_compares_them(seen):
    rule, rounds, _ = seen
    for d in (d for r in rounds for d in r.drafted):
        if rule in ("match", "typical") or d.verdict == "not_judged":
            assert d.uniform is None
        elif d.verdict == "rejected":
            assert d.uniform >= d.accept_prob
        elif rule != "block":
            assert d.uniform < d.accept_prob
    if rule == "block":
        ends = [r.drafted[r.accepted - 1] for r in rounds if r.accepted]
        assert ends
        assert all(d.uniform < d.accept_prob for d in ends)


def test_a_rejection_shows_what_is_left(seen):
    rule, _, all_nodes = seen
    for nodes in all_nodes:
        products = block_chances(nodes)[1]
        for i, n in enumerate(nodes):
            assert (n.row.residual_top is not None) == (n.row.verdict == "rejected")
            if n.row.residual_top is None:
                continue
            if rule == "block":
                rest = np.maximum(products[i] * n.p - n.q, 0)
            else:
                rest = n.p if rule == "typical" else without(rule, n.left, n)
            top = n.row.residual_top
            found = dict(zip(top.ids, top.probs, strict=True))
            expected = {token: close(x) for token, x in enumerate(normalised(rest)) if x > 1e-6}
            assert {token: x for token, x in found.items() if x > 1e-6} == expected
            assert top.rest == close(0)


def test_the_accepted_nodes_are_one_path_and_the_last_token_knows_its_origin(seen):
    _, rounds, _ = seen
    origins = set()
    for r in rounds:
        if not r.drafted:
            assert [e.origin for e in r.emitted] == ["plain"]
            continue
        parents = [i - 1 if d.parent is None else d.parent for i, d in enumerate(r.drafted)]
        path = [i for i, d in enumerate(r.drafted) if d.verdict == "accepted"]
        assert [parents[node] for node in path] == [-1, *path][: len(path)]
        *kept, last = r.emitted
        assert [(e.origin, e.id) for e in kept] == [("accepted", r.drafted[node].id) for node in path]
        tried = [d for d, parent in zip(r.drafted, parents, strict=True) if parent == (path[-1] if path else -1)]
        assert last.origin == ("resampled" if tried else "bonus")
        assert (last.p_top is None) == bool(tried)
        rejected = [d.id for d in tried if d.verdict == "rejected"]
        assert (len(rejected) > 0) == bool(tried)
        origins.add(last.origin)
    assert origins == {"resampled", "bonus"}


def chooser(first: bool) -> TableModel:
    """A model that says 1, 2, 3, ... and, as its second choice, 7; or the other way round."""
    table = torch.zeros(9, 9, 9)
    following = torch.arange(9).add(1) % 9
    table[..., 7] = 4.0
    table[:, torch.arange(9), following] = 5.0 if first else 3.0
    return TableModel(table)


@pytest.mark.parametrize("rule", TREE_RULES)
def test_what_a_stop_string_cuts_off_a_path_is_cut_and_its_siblings_are_not_judged(rule):
    """The draft's second choice is always the target's first; the text ends after two of three accepted nodes."""
    pair = specviz.Pair(chooser(True), chooser(False), tokenizer(9))
    settings = Settings(max_new_tokens=20, tree=(2, 2, 2), rule=rule, stop=("w1w2",))
    trace = specviz.speculate(pair, [8, 0], settings).finish()
    assert (trace.output_ids, trace.finish, len(trace.rounds)) == ([1, 2], "stop", 1)
    record = trace.rounds[0]
    marks = {}
    for d in record.drafted:
        above = () if d.parent < 0 else marks[d.parent][0]
        marks[len(marks)] = (*above, d.id), d.verdict
    verdicts = dict(marks.values())
    on_the_path = {(7,): "rejected", (1,): "accepted", (1, 7): "rejected", (1, 2): "accepted", (1, 2, 3): "cut"}
    assert {path: verdicts[path] for path in on_the_path} == on_the_path
    assert {verdict for path, verdict in verdicts.items() if path not in on_the_path} == {"not_judged"}
    assert (record.accepted, record.judged, [e.origin for e in record.emitted]) == (2, 4, ["accepted", "accepted"])
