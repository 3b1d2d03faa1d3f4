"""What a round records against its own definitions."""

import math

import pytest
import torch
from tiny import IDS, build, noised, table_model

import specviz
from specviz import Settings
from specviz.trace.files import check, dumps, loads


@pytest.fixture(scope="module")
def trace():
    pair = specviz.Pair(table_model(30, 0), table_model(30, 0, scale=1.1))
    return specviz.speculate(pair, [1, 2], Settings(4, 300, temperature=1.0, seed=7, top_n=6)).finish()


def test_counts_obey_their_identities(trace):
    check(trace)
    for record in trace.rounds:
        verdicts = [d.verdict for d in record.drafted]
        assert len(record.emitted) == record.accepted + 1
        assert record.judged == record.accepted + ("rejected" in verdicts)
        assert verdicts == sorted(verdicts, key=["accepted", "rejected", "not_judged"].index)
    assert sum(len(r.emitted) for r in trace.rounds) == len(trace.output_ids) == 300
    assert all(a.start + len(a.emitted) == b.start for a, b in zip(trace.rounds, trace.rounds[1:], strict=False))


def test_verdicts_follow_from_the_recorded_numbers(trace):
    for d in (d for r in trace.rounds for d in r.drafted):
        assert d.accept_prob == pytest.approx(min(1.0, d.p / d.q))
        assert (d.uniform is None) == (d.verdict == "not_judged")
        if d.uniform is not None:
            assert (d.verdict == "accepted") == (d.uniform < d.accept_prob)


def test_tops_sum_to_one_and_hold_the_drawn_token(trace):
    for record in trace.rounds:
        for d in record.drafted:
            for top in (d.p_top, d.q_top, *([d.residual_top] if d.residual_top else [])):
                assert sum(top.probs) + top.rest == pytest.approx(1, abs=1e-6)
                assert top.probs == sorted(top.probs, reverse=True)
                assert len(top.ids) <= 6
            for top, value in ((d.p_top, d.p), (d.q_top, d.q)):
                if d.id in top.ids:
                    assert top.probs[top.ids.index(d.id)] == pytest.approx(value, abs=1e-6)
            assert (d.residual_top is not None) == (d.verdict == "rejected")


def test_origins_and_their_distributions(trace):
    for record in trace.rounds:
        *kept, last = record.emitted
        assert [e.origin for e in kept] == ["accepted"] * record.accepted
        everything = record.accepted == len(record.drafted)
        assert last.origin == ("plain" if not record.drafted else "bonus" if everything else "resampled")
        assert (last.p_top is not None) == (last.origin != "resampled")


def test_exact_figures_against_the_tables():
    target, draft = table_model(12, 0), table_model(12, 1)
    pair = specviz.Pair(target, draft)
    settings = Settings(2, 40, temperature=0.7, top_k=5, top_n=20)
    trace = specviz.speculate(pair, [1, 2], settings).finish()
    ids = trace.prompt.ids + trace.output_ids

    def row(model, place):
        scores = model.table[ids[place - 2], ids[place - 1]] / 0.7
        kept = scores.masked_fill(scores < scores.topk(5).values[-1], -torch.inf)
        return kept.softmax(-1)

    judged = [(r, d) for r in trace.rounds for d in r.drafted[:1]]
    assert judged
    for r, d in judged:
        p, q = row(target, r.start), row(draft, r.start)
        assert d.beta == pytest.approx(torch.minimum(p, q).sum().item(), abs=1e-5)
        assert d.entropy_p == pytest.approx(-sum(x * math.log(x) for x in p.tolist() if x), abs=1e-4)
        assert d.entropy_q == pytest.approx(-sum(x * math.log(x) for x in q.tolist() if x), abs=1e-4)
        if d.residual_top:
            rest = (p - q).clamp(min=0)
            rest = rest / rest.sum()
            got = dict(zip(d.residual_top.ids, d.residual_top.probs, strict=True))
            assert got == pytest.approx({i: x for i, x in enumerate(rest.tolist()) if x > 1e-7}, abs=1e-5)


def test_greedy_records_one_hot_p_and_q_and_the_models_own_view():
    target = build()
    draft = noised(target, 0.3)
    trace = specviz.speculate(specviz.Pair(target, draft), IDS, Settings(3, 30)).finish()
    ids = trace.prompt.ids + trace.output_ids
    with torch.no_grad():
        logits = target(torch.tensor([ids])).logits[0]
    own = logits.softmax(-1)
    for record in trace.rounds:
        for place, d in enumerate(record.drafted):
            assert (d.q, d.p, d.beta) in ((1, 1, 1), (1, 0, 0))
            assert (d.entropy_p, d.entropy_q) == (0, 0)
            assert d.q_top.ids == [d.id]
            assert d.q_top.probs == [1.0]
            assert d.p_top.probs == [1.0]
            if d.verdict in ("accepted", "rejected"):
                best = own[record.start + place - 1].max().item()
                assert d.target_top.probs[0] == pytest.approx(best, abs=1e-4)
        for place, e in enumerate(record.emitted):
            two = logits[record.start + place - 1].topk(2).values
            assert e.gap == pytest.approx((two[0] - two[1]).item(), abs=1e-3)


def test_gamma_zero_has_no_draft_figures():
    trace = specviz.speculate(specviz.Pair(build(), build()), IDS, Settings(0, 5)).finish()
    assert [len(r.drafted) for r in trace.rounds] == [0] * 5
    assert {e.origin for r in trace.rounds for e in r.emitted} == {"plain"}
    assert trace.provenance.draft is None
    assert trace.provenance.method == "plain"


def test_bf16_ratios_are_exact_where_the_draft_is_the_target():
    target = build(dtype=torch.bfloat16)
    trace = specviz.speculate(specviz.Pair(target, target), IDS, Settings(1, 60, temperature=1.0)).finish()
    drafted = [d for r in trace.rounds for d in r.drafted]
    assert all(d.q > 0 for d in drafted)
    assert all(0.8 < d.p / d.q < 1.25 for d in drafted)  # two rows at once round differently from one


def test_a_trace_survives_a_file_round_trip(trace):
    assert loads(dumps(trace)) == trace
