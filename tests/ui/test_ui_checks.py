"""Bad settings: one plain sentence for each, at its field."""

from math import inf, nan

import pytest

from specviz.trace.schema import Settings
from specviz.ui.checks import MOST_CHARACTERS, read_settings, stop_strings

GOOD = {"prompt": "x", "gamma": 4, "max_new_tokens": 32}


def problems(**values):
    return read_settings({**GOOD, **values})[1]


def test_good_values_become_settings():
    settings, found = read_settings({**GOOD, "gamma": 5.0, "temperature": 0.8, "stop": "a\n\n\\n\\n", "chat": True})
    assert found == {}
    assert settings == Settings(5, 32, 0.8, stop=("a", "\n\n"), chat=True)
    assert isinstance(settings.gamma, int)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gamma", 0), ("gamma", 17), ("gamma", 2.5), ("gamma", None), ("gamma", "4"), ("gamma", True),
        ("max_new_tokens", 0), ("max_new_tokens", 513), ("max_new_tokens", -1), ("max_new_tokens", 1e30),
        ("temperature", -0.1), ("temperature", None), ("temperature", nan), ("temperature", inf),
        ("top_k", -1), ("top_k", 1.5), ("top_p", 0), ("top_p", 1.1), ("min_p", -0.5),
        ("repetition_penalty", 0), ("presence_penalty", None), ("frequency_penalty", "much"), ("seed", -1),
        ("seed", 0.5), ("stop", "x" * 201), ("stop", "\n".join("abcdefghijklmnopqrstuvwxyz")),
        ("prompt", None), ("prompt", ["x"]), ("prompt", "x" * (MOST_CHARACTERS + 1)),
    ],
)  # fmt: skip
def test_each_bad_value_gets_one_sentence_at_its_field(field, value):
    found = problems(**{field: value})
    assert list(found) == [field]
    assert found[field].endswith(".")
    assert "\n" not in found[field]


def test_all_bad_values_are_told_at_once():
    assert set(problems(gamma=99, top_p=2, seed=None)) == {"gamma", "top_p", "seed"}


def test_stop_strings():
    assert stop_strings("a b\n\n\\t") == ("a b", "\t")
    assert stop_strings("") == stop_strings(None) == ()
