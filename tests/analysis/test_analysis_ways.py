"""Figures of one way to draft: the lens in a line, copies counted, the mean of another tokenizer's share."""

import pytest
from made import made_round, made_trace

from specviz.analysis.ways import way_figures
from specviz.trace.schema import Copied, Exit


def of_method(method, *rounds, **settings):
    trace = made_trace(list(rounds), method=method, **settings)
    trace.provenance.method = method
    return trace


def test_most_runs_have_none():
    assert way_figures(of_method("draft-model", made_round(0, "yn"))) == {}
    assert way_figures(of_method("plain")) == {}


def test_the_lens_names_the_exit_that_drafted_and_the_best():
    trace = of_method("early-exit", made_round(0, "yn"), exit_layer=2, temperature=0.8)
    trace.provenance.target.layers = 6
    trace.lens = [Exit(n, beta, 0.5, 40) for n, beta in enumerate([0.25, 0.63, 0.9, 0.9, 0.8], 1)]
    assert way_figures(trace)["exit_lens"] == {
        "value": "2 of 6 layers: beta 0.63, same arg max 50%",
        "kind": "measured",
        "detail": "largest beta: 3 layers 0.90, 4 layers 0.90, 5 layers 0.80; over 40 positions, "
        "p and q processed as in the run",
    }


@pytest.mark.parametrize("method", ["prompt-lookup", "composite"])
def test_copies_are_counted_among_all_rounds(method):
    rounds = [made_round(k, marks) for k, marks in enumerate(["yyn", "", "yn", "yy"])]
    rounds[0].copied, rounds[2].copied = Copied(2, 1), Copied(1, 3)
    rounds[1].copied = Copied(2, 1)  # found, but there was no room for a draft
    figure = way_figures(of_method(method, *rounds))["copied"]
    assert (figure["value"], figure["kind"]) == ("2/4 · 50%", "measured")
    assert figure["detail"] == "rounds that drafted a copy / rounds; of 5 copied tokens 3 accepted"
    assert way_figures(of_method(method, made_round(0, "")))["copied"]["value"] == "0/1 · 0%"
    assert way_figures(of_method(method))["copied"]["value"] is None


def test_the_mean_of_what_the_shared_tokens_keep():
    rounds = [made_round(0, "yy"), made_round(1, "n")]
    for token, kept in zip([*rounds[0].drafted, *rounds[1].drafted], (1.0, 0.9, 0.5), strict=True):
        token.kept = kept
    figure = way_figures(of_method("cross-tokenizer", *rounds))["kept"]
    assert figure == {"value": "0.80", "kind": "exact", "detail": "mean over 3 drafted tokens, least 0.50"}
