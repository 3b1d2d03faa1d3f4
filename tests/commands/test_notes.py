"""What the actions say beside their reports: safe lines on stderr, and a report even where single passes fail."""

import json

import pytest
import torch

from specviz import SpecvizError
from specviz.cli import main
from specviz.models import catalog, loading

QUICK = ["--prompt", "abab", "--repeats", "1", "--max-new-tokens", "6"]


@pytest.mark.parametrize(
    "arguments", [["bench", *QUICK], ["sweep", *QUICK, "--gammas", "1"], ["check", "--draws", "0"]]
)
def test_a_name_cannot_steer_the_terminal(tiny_pair, monkeypatch, capsys, arguments):
    load = loading.load_pair

    def noticed(*names, **options):
        pair = load(*names, **options)
        pair.notices = ["the folder \x1b[2Jevil is odd"]
        return pair

    monkeypatch.setattr("specviz.models.loading.load_pair", noticed)
    more = ["--prompt", "abab", "--max-new-tokens", "6"] if arguments[0] == "check" else []
    main([*arguments, *more, "--json"])
    err = capsys.readouterr().err
    assert "note: the folder \\x1b[2Jevil is odd\n" in err
    assert "\x1b" not in err


@pytest.mark.parametrize("error", [SpecvizError("no room"), RuntimeError("out of memory")])
def test_a_sweep_is_reported_without_single_passes(tiny_pair, monkeypatch, capsys, error):
    def failing(*arguments):
        raise error

    monkeypatch.setattr("specviz.decoding.widths.step_times", failing)
    assert main(["sweep", *QUICK, "--gammas", "1", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    assert f"note: single passes could not be measured: {error}" in err
    assert "sweep" in [table["key"] for table in json.loads(out)["tables"]]


def test_precisions_are_torchs_own():
    for name in catalog.DTYPES:
        assert str(getattr(torch, name)) == f"torch.{name}"
    assert loading.place("bfloat16", "cpu") == (torch.bfloat16, "cpu")
    with pytest.raises(SpecvizError, match="one of float32, bfloat16, float16"):
        loading.place("float64", "cpu")
