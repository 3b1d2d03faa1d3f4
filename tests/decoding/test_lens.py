"""The early-exit lens against transformers' own hidden states."""

from dataclasses import replace

import pytest
import torch
from deep import LAYERS, deep, exit_logits
from tiny import FAMILIES, IDS

import specviz
from specviz import Settings
from specviz.decoding import lens
from specviz.decoding.lens import exit_lens
from specviz.decoding.sampling import Processor

TEXT, START = IDS * 3, 7


def _expected(model, ids: list[int], settings: Settings, positions: list[int]) -> list[tuple[float, float]]:
    """(beta, agree) of each exit, over `positions`."""
    processor = Processor(settings, ids, model.config.vocab_size, None, torch.device("cpu"))
    logits = [exit_logits(model, ids, layers)[positions] for layers in range(1, LAYERS + 1)]
    *q, p = [processor.probabilities(processor.scores(rows)) for rows in logits]
    best = [rows.argmax(-1) for rows in logits]
    betas = [float(torch.minimum(p, rows).sum(-1).mean()) for rows in q]
    return [(beta, float((b == best[-1]).float().mean())) for beta, b in zip(betas, best, strict=False)]


def _check(
    model, settings: Settings, read_as: Settings, start: int = START, positions: list[int] | None = None
) -> None:
    positions = positions or list(range(start - 1, len(TEXT) - 1))
    rows = exit_lens(specviz.Pair(model), TEXT, settings, start)
    assert [r.layers for r in rows] == [1, 2, 3]
    assert {r.positions for r in rows} == {len(positions)}
    for row, (beta, agree) in zip(rows, _expected(model, TEXT, read_as, positions), strict=True):
        assert row.beta == pytest.approx(beta, abs=1e-4)
        assert row.agree == pytest.approx(agree, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_beta_and_agreement_of_every_exit(family):
    settings = Settings(temperature=1.0)
    _check(deep(family), settings, settings)


@pytest.mark.parametrize("start", [1, 2, len(TEXT) - 1])
def test_an_output_that_begins_anywhere(start):
    settings = Settings(temperature=0.7, top_k=12, top_p=0.9, min_p=0.02)
    _check(deep(), settings, settings, start)


def test_greedy_runs_are_read_at_temperature_one_without_filters():
    _check(deep(), Settings(temperature=0.0, top_k=5, top_p=0.5, min_p=0.1), Settings(temperature=1.0))


def test_penalties_are_left_out():
    plain = Settings(temperature=0.9)
    penalised = replace(plain, repetition_penalty=1.5, presence_penalty=1.0, frequency_penalty=0.5)
    _check(deep(), penalised, plain)


@pytest.mark.parametrize(("most", "chunk"), [(1000, 3), (5, 4), (5, 1000)])
def test_chunks_change_nothing_and_a_long_output_is_looked_at_in_even_steps(monkeypatch, most, chunk):
    monkeypatch.setattr(lens, "_MOST", most)
    monkeypatch.setattr(lens, "_CHUNK", chunk)
    settings = Settings(temperature=1.0)
    every = 1 if most == 1000 else 4  # 20 positions
    _check(deep(), settings, settings, positions=list(range(START - 1, len(TEXT) - 1, every)))


@pytest.mark.parametrize("count", range(1, LAYERS))
def test_a_run_brings_the_lens_of_its_output_and_its_own_beta_fits_it(count):
    model = deep()
    settings = Settings(method="early-exit", exit_layer=count, gamma=1, max_new_tokens=40, temperature=1.0, seed=count)
    trace = specviz.speculate(specviz.Pair(model), [5, 6, 7], settings).finish()
    ids = trace.prompt.ids + trace.output_ids
    assert trace.lens == exit_lens(specviz.Pair(model), ids, settings, 3)
    assert trace.lens[0].positions == 40
    # each round drafts one token after a text that stands, so its beta is one of those that the lens averages
    rounds = [r for r in trace.rounds if r.drafted]
    recorded = sum(r.drafted[0].beta for r in rounds) / len(rounds)
    at_drafts = _expected(model, ids, settings, [r.start - 1 for r in rounds])[count - 1][0]
    assert recorded == pytest.approx(at_drafts, abs=1e-4)
    everywhere = _expected(model, ids, settings, list(range(2, len(ids) - 1)))[count - 1][0]
    assert trace.lens[count - 1].beta == pytest.approx(everywhere, abs=1e-4)


def test_a_run_without_output_has_no_lens():
    settings = Settings(method="early-exit", exit_layer=2, max_new_tokens=0)
    assert specviz.speculate(specviz.Pair(deep()), [5, 6, 7], settings).finish().lens is None
