"""python -m specviz sweep, in process, on a tiny pair."""

import json

import pytest

from specviz.cli import main
from specviz.models import loading
from specviz.trace.decodes import load_decodes

QUICK = ["--prompt", "abab", "--prompt", "xyxy", "--repeats", "1", "--max-new-tokens", "12", "--json"]


def rows(capsys):
    report = json.loads(capsys.readouterr().out)
    sweep = next(table for table in report["tables"] if table["key"] == "sweep")
    return report, {row["gamma"]: row for row in sweep["rows"]}


def test_every_gamma_is_measured_and_predicted(tiny_pair, tmp_path, capsys):
    assert main(["sweep", *QUICK, "--gammas", "0", "1", "3", "--traces", str(tmp_path / "t")]) == 0
    report, by_gamma = rows(capsys)
    assert list(by_gamma) == [0, 1, 3]
    for gamma in (1, 3):
        assert by_gamma[gamma]["measured"] > 0
        assert by_gamma[gamma]["predicted"] > 0
    assert report["sentences"]
    decodes, _ = load_decodes([tmp_path / "t"])
    assert {d.lane for d in decodes} == {"gamma 1", "gamma 3"}


def test_a_calibration_measures_one_gamma_and_predicts_the_others(tiny_pair, tmp_path, capsys):
    assert main(["sweep", *QUICK, "--gammas", "1", "2", "6", "--calibrate", "3", "--traces", str(tmp_path / "t")]) == 0
    _, by_gamma = rows(capsys)
    assert {gamma for gamma, row in by_gamma.items() if row["measured"] is not None and gamma} == {3}
    assert all(row["predicted"] is not None for row in by_gamma.values())
    assert {1, 2, 6} <= by_gamma.keys()
    assert {d.trace.settings.gamma for d in load_decodes([tmp_path / "t"])[0]} == {3}


def test_widths_reach_from_a_plain_step_to_the_widest_draft(tiny_pair, monkeypatch):
    from specviz.decoding import widths

    asked, own = [], widths.step_times

    def step_times(pair, settings, wanted, context, repeats=2):
        asked.append((list(wanted), context))
        return own(pair, settings, wanted, context, repeats)

    monkeypatch.setattr("specviz.decoding.widths.step_times", step_times)
    main(["sweep", *QUICK, "--gammas", "1", "4"])
    assert asked == [([1, 2, 3, 4, 5], 4 + 6)]


def test_widths_end_where_the_context_does(tiny_pair, monkeypatch, capsys):
    from specviz.decoding import widths

    asked, own = [], widths.step_times
    load = loading.load_pair

    def short(*arguments, **options):
        pair = load(*arguments, **options)
        pair.target.config.max_position_embeddings = pair.target_info.context = 12
        return pair

    def step_times(pair, settings, wanted, context):
        asked.append(list(wanted))
        return own(pair, settings, wanted, context, 2)

    monkeypatch.setattr("specviz.models.loading.load_pair", short)
    monkeypatch.setattr("specviz.decoding.widths.step_times", step_times)
    assert main(["sweep", *QUICK, "--gammas", "2", "14"]) == 0
    assert asked == [list(range(1, 12))]
    assert "single passes" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--gammas", "0"], "at least one gamma above 0"),
        (["--calibrate", "0"], "at least one gamma above 0"),
        (["--gammas", "99"], "Gamma must be"),
        (["--max-new-tokens", "0"], "The number of tokens must be a whole number from 1 to 8,192 here"),
        (["--tree", "2 1"], "leave out --tree"),
        (["--draft-length", "confidence"], "leave out --tree and --draft-length"),
        (["--method", "medusa"], "gamma 1: No Medusa heads"),
        (["--report", "no/such/r.md"], "choose a file in a folder that exists"),
    ],
)
def test_mistakes_get_one_sentence(tiny_pair, capsys, arguments, sentence):
    assert main(["sweep", *QUICK, "--gammas", "1", *arguments]) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
