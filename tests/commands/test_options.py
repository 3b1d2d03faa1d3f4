"""Options that actions share."""

import argparse
from dataclasses import fields

import pytest

from specviz.commands.options import add_pair_options, add_settings_options, load, settings
from specviz.trace.errors import SpecvizError
from specviz.trace.schema import Settings


def parsed(*arguments, leave_out=(), many=False):
    parser = argparse.ArgumentParser()
    add_pair_options(parser, many)
    add_settings_options(parser, leave_out)
    return parser.parse_args(arguments)


def test_without_options_the_settings_are_the_defaults():
    assert settings(parsed()) == Settings()


def test_every_setting_has_an_option():
    words = {
        "stop": "x", "tree": "2 1", "method": "medusa", "rule": "match", "draft_length": "heuristic",
        "ngram_tie": "first", "repetition_penalty": "2", "ngram_min": "2", "ngram_max": "5", "exit_layer": "2",
        "chat": None, "control_tokens": None,
    }  # fmt: skip
    for field in fields(Settings):
        word = words.get(field.name, "3" if isinstance(getattr(Settings(), field.name), int) else "0.5")
        option = f"--{field.name.replace('_', '-')}"
        changed = settings(parsed(option, *([word] if word else [])))
        assert [f.name for f in fields(Settings) if getattr(changed, f.name) != getattr(Settings(), f.name)] == [
            field.name
        ]


def test_an_action_may_declare_some_itself():
    options = parsed(leave_out=("gamma", "method", "chat"))
    assert not hasattr(options, "gamma")
    assert settings(options, gamma=7, method="medusa") == Settings(gamma=7, method="medusa")
    with pytest.raises(SpecvizError, match="Gamma must be"):
        settings(options, gamma=-1)


def test_load_asks_for_one_pair(monkeypatch):
    asked = []
    monkeypatch.setattr("specviz.models.loading.load_pair", lambda key=None, **options: asked.append((key, options)))
    load(parsed())
    load(parsed("--target", "t", "--draft", "d", "--dtype", "float32"))
    load(parsed("--pair", "a", "b", many=True), pair="b", dtype="bfloat16")
    none = {"target": None, "draft": None, "medusa": None, "dtype": None, "device": None}
    assert asked == [
        ("tiny-code", none),
        (None, none | {"target": "t", "draft": "d", "dtype": "float32"}),
        ("b", none | {"dtype": "bfloat16"}),
    ]
    with pytest.raises(SpecvizError, match="not both"):
        load(parsed("--pair", "a", "--target", "t"))
    with pytest.raises(SpecvizError, match="Give --target too"):
        load(parsed("--draft", "d"))
