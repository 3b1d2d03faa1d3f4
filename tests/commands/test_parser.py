"""What a mistyped command line gets: one sentence and where the help is, with status 2."""

import pytest

from specviz.cli import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bench", "--gamma", "abc"], "argument --gamma: invalid int value: 'abc'; see python -m specviz bench --help"),
        (["bench", "--nosuch", "3"], "unrecognized arguments: --nosuch 3; see python -m specviz bench --help"),
        (["run", "a\x1b[2J"], "unrecognized arguments: a\\x1b[2J; see python -m specviz run --help"),
        ([], "the following arguments are required: ACTION; see python -m specviz --help"),
    ],
)
def test_a_mistake_gets_one_sentence_without_the_usage(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err) == (2, "", f"specviz: {said}\n")


def test_help_is_as_long_as_ever(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--help"])
    assert ended.value.code == 0
    assert "usage: python -m specviz bench" in capsys.readouterr().out
