"""Times of one pass at each width, on a clock that only the stub models move."""

import pytest
from tiny import build, table_model, tokenizer
from watch import Watch

import specviz
from specviz import Settings, SpecvizError
from specviz.decoding.widths import step_times


def test_the_times_are_those_of_the_passes(monkeypatch):
    """A pass costs 10 ms and 2 ms a token; first passes cost 100 ms more and are not counted."""
    watch = Watch(monkeypatch)
    pair = specviz.Pair(watch.model(0.010, each=0.002), watch.model(0.001, seed=1))
    times = step_times(pair, Settings(4), [1, 2, 5], context=20, repeats=3)
    assert [(t.part, t.width, t.context) for t in times] == [
        ("target", 1, 20), ("target", 2, 20), ("target", 5, 20), ("draft", 1, 20)
    ]  # fmt: skip
    for t, expected in zip(times, [0.012, 0.014, 0.020, 0.001], strict=True):
        assert t.seconds == pytest.approx([expected] * 3)


def test_widths_take_turns_and_leave_the_context_as_it_was():
    widths, lengths = [], []
    target = table_model(7, 0, hook=lambda ids: widths.append(len(ids)))
    update = {}

    def watched(ids, cache, mask=None, inner=target.last_two):
        out = inner(ids, cache, mask)
        lengths.append(cache.get_seq_length() - ids.shape[1])
        update["cache"] = cache
        return out

    pair = specviz.Pair(target)
    target.last_two, widths[:] = watched, []
    step_times(pair, Settings(4, method="prompt-lookup"), [1, 3, 4], context=6, repeats=2)
    assert widths[0] == 6
    assert widths[1:] == [4, 1, 3, 1, 3, 4, 3, 4, 1]
    assert lengths[1:] == [6] * 9


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        (Settings(4, method="prompt-lookup"), ["target"]),
        (Settings(4, method="early-exit"), ["target"]),
        (Settings(4, method="composite"), ["target", "draft"]),
    ],
)
def test_only_methods_with_a_draft_model_have_a_draft_row(settings, rows):
    pair = specviz.Pair(table_model(7, 0), table_model(7, 1))
    assert [t.part for t in step_times(pair, settings, [2], 4, 1)] == rows


def test_the_context_is_cut_to_what_the_model_holds():
    pair = specviz.Pair(build(max_position_embeddings=16), None, tokenizer())
    times = step_times(pair, Settings(method="prompt-lookup"), [1, 4], context=64, repeats=1)
    assert {t.context for t in times} == {12}
    with pytest.raises(SpecvizError, match="does not fit the model's context of 16"):
        step_times(pair, Settings(method="prompt-lookup"), [16])


@pytest.mark.parametrize("changes", [{"widths": []}, {"widths": [0]}, {"context": 0}, {"repeats": 0}])
def test_bad_numbers_are_refused(changes):
    with pytest.raises(SpecvizError, match="whole numbers above 0"):
        step_times(specviz.Pair(table_model(7, 0)), Settings(), **({"widths": [1]} | changes))
