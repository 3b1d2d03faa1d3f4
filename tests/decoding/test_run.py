"""A run as an object: closing, failing, seeds, threads, no leftovers."""

import gc
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
import torch
from tiny import IDS, TableModel, build, noised, table_model

import specviz
from specviz import Settings, SpecvizError
from specviz.trace.files import dumps


@pytest.fixture(scope="module")
def pair():
    target = build()
    return specviz.Pair(target, noised(target, 0.2))


def outputs(pair, seed, gamma=3, temperature=1.0):
    return specviz.speculate(pair, IDS, Settings(gamma, 24, temperature, seed=seed)).finish().output_ids


def test_a_seed_means_the_same_whatever_runs_beside_it(pair):
    first = outputs(pair, 1)
    run = specviz.speculate(pair, IDS, Settings(3, 24, 1.0, seed=1))
    next(run)
    torch.manual_seed(99)
    torch.rand(3)
    other = threading.Thread(target=outputs, args=(pair, 2))
    other.start()
    run.finish()
    other.join()
    assert run.trace.output_ids == first
    assert outputs(pair, 2) != first


def test_global_randomness_is_not_touched(pair):
    before = torch.random.get_rng_state()
    outputs(pair, 5)
    assert torch.equal(before, torch.random.get_rng_state())


def test_parallel_runs_equal_their_solo_runs(pair):
    jobs = [(seed, gamma, t) for seed, (gamma, t) in enumerate([(1, 0.0), (2, 1.0), (4, 0.8), (8, 1.3)])]
    solo = [outputs(pair, *job) for job in jobs]
    together: dict[int, list[int]] = {}
    threads = [
        threading.Thread(target=lambda n=n, j=j: together.update({n: outputs(pair, *j)})) for n, j in enumerate(jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[n] for n in range(len(jobs))] == solo


def test_closing_ends_the_run_and_frees_the_caches(pair):
    run = specviz.speculate(pair, IDS, Settings(3, 200))
    next(run)
    caches = [weakref.ref(o) for o in gc.get_objects() if type(o).__name__ == "BufferLayer"]
    assert caches
    run.close()
    run.close()
    gc.collect()
    assert not any(ref() for ref in caches)
    assert run.trace.finish == "stopped"
    assert list(run) == []
    assert len(run.trace.output_ids) == len(run.trace.rounds[0].emitted)


def test_no_forward_after_a_close():
    model, draft = table_model(7, 0), table_model(7, 1)
    with specviz.speculate(specviz.Pair(model, draft), [1], Settings(2, 1000)) as run:
        next(run)
        calls = model.calls, draft.calls
    assert (model.calls, draft.calls) == calls
    assert next(run, None) is None


def test_a_broken_row_ends_the_run_with_a_sentence_and_keeps_what_was_shown():
    table = torch.zeros(4, 4, 4)
    table[0, 0, 1] = table[0, 1, 2] = table[1, 2, 3] = 9.0
    table[2, 3] = torch.nan
    run = specviz.decode_plain(specviz.Pair(TableModel(table)), [0], Settings(max_new_tokens=10))
    with pytest.raises(
        SpecvizError, match=r"After 3 tokens the target returned numbers that are not finite \(in float32\)"
    ):
        run.finish()
    assert run.trace.output_ids == [1, 2, 3]
    assert run.trace.finish == "failed"
    assert "not finite" in run.trace.failure


def test_an_unforeseen_error_becomes_one_sentence():
    def fail(ids):
        if ids == [2]:
            raise RuntimeError("kernel exploded\nwith details")

    table = torch.zeros(4, 4, 4)
    table[0, 0, 1] = table[0, 1, 2] = 9.0
    model = TableModel(table)
    pair = specviz.Pair(model)
    model.hook = fail
    run = specviz.decode_plain(pair, [0], Settings(max_new_tokens=10))
    with pytest.raises(SpecvizError) as caught:
        run.finish()
    assert str(caught.value) == "Decoding failed after 2 tokens: RuntimeError: kernel exploded."
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("error", [SpecvizError("told"), RuntimeError("unforeseen")])
def test_a_kept_error_does_not_keep_the_caches(error):
    def fail(ids):
        if len(ids) == 1 and ids[0] == 2:
            raise error

    table = torch.zeros(4, 4, 4)
    table[0, 0, 1] = table[0, 1, 2] = 9.0
    model = TableModel(table)
    pair = specviz.Pair(model)
    model.hook = fail
    gc.collect()
    before = sum(type(o).__name__ == "BufferLayer" for o in gc.get_objects())
    run = specviz.decode_plain(pair, [0], Settings(max_new_tokens=10))
    with pytest.raises(SpecvizError) as caught:
        run.finish()
    error.__traceback__ = None  # the fixture's own reference
    run.close()
    del run
    assert caught.value.__context__ is None
    assert sum(type(o).__name__ == "BufferLayer" for o in gc.get_objects()) == before


def test_models_are_never_changed(pair):
    before = {k: v.clone() for k, v in pair.target.state_dict().items()}
    outputs(pair, 3)
    assert all(torch.equal(before[k], v) for k, v in pair.target.state_dict().items())


def test_a_trace_is_plain_data(pair):
    trace = specviz.speculate(pair, IDS, Settings(3, 12, 1.0)).finish()
    assert pickle.loads(pickle.dumps(trace)) == trace
    assert "Tensor" not in repr(trace)


def test_bad_settings_are_refused_before_any_forward(pair):
    bad = {"gamma": 4.0, "temperature": float("nan"), "top_p": 0, "max_new_tokens": 1.5, "seed": 10**400, "stop": None}
    for field, value in (bad | {"top_k": True, "min_p": "x"}).items():
        with pytest.raises(SpecvizError) as caught:
            specviz.speculate(pair, IDS, Settings(**{field: value}))
        assert caught.value.field == field


def test_an_unknown_method_is_refused(pair):
    with pytest.raises(SpecvizError, match="no method 'draft_model'; choose one of draft-model"):
        specviz.speculate(pair, IDS, Settings(method="draft_model"))


def test_memory_stays_small_with_a_huge_vocabulary_and_a_long_prompt():
    """In a process of its own: 262,144 logits, 4,000 prompt tokens, under 200 MB above the loaded model."""
    code = """
import resource, sys
sys.path.insert(0, "tests")
import torch
torch.set_num_threads(1)
import specviz
from tiny import build
sizes = {"vocab_size": 262144, "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 1,
         "num_key_value_heads": 1, "max_position_embeddings": 4100, "tie_word_embeddings": True}
pair = specviz.Pair(build(**sizes), build(seed=1, **sizes))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
specviz.speculate(pair, list(range(4000)), specviz.Settings(4, 12, 1.0)).finish()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert float(done.stdout) < 200


def test_512_rounds_stay_under_two_megabytes():
    target = table_model(500, 0, scale=0.5)
    pair = specviz.Pair(target, table_model(500, 1, scale=0.5))
    trace = specviz.speculate(pair, [1], Settings(4, 2000, 1.0)).finish()
    trace.rounds = trace.rounds[:512]
    assert len(trace.rounds) == 512
    assert len(dumps(trace)) < 2_000_000
