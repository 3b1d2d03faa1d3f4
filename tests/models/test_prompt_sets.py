"""Prompt sets: what the project brings, and files of one's own."""

import json
from itertools import pairwise

import pytest
from tokenizers import Tokenizer

from specviz.models.catalog import ASSETS
from specviz.models.prompt_sets import from_file, kinds, load_set
from specviz.trace.errors import SpecvizError


def test_each_kind_has_a_set_of_its_own():
    assert kinds() == ["code", "prose", "edit", "question"]
    tokenizer = Tokenizer.from_file(str(ASSETS / "models" / "tiny-code" / "tokenizer" / "tokenizer.json"))
    names = []
    for kind in kinds():
        prompts = load_set(kind)
        assert len(prompts) >= 6
        names += [p.name for p in prompts]
        for prompt in prompts:
            assert prompt.kind == kind
            assert prompt.origin, "says where it comes from, so that its licence is clear"
            assert prompt.chat == (kind in ("prose", "question"))
            assert prompt.text == prompt.text.strip("\n")
            assert 10 <= len(tokenizer.encode(prompt.text).ids) <= 300, prompt.name
    assert len(set(names)) == len(names), "sets can be measured together"


def test_an_edit_repeats_its_own_text():
    """Of the last ten words of an edit most stand in it before, in this order; of other prompts few do."""

    def copied(prompt):
        words = prompt.text.split()
        before = " ".join(words[:-10])
        return sum(" ".join(pair) in before for pair in pairwise(words[-10:])) / 9

    assert min(copied(prompt) for prompt in load_set("edit")) >= 0.3
    assert sum(copied(prompt) for prompt in load_set("prose")) / len(load_set("prose")) < 0.1


def test_files_of_ones_own(tmp_path):
    toml = tmp_path / "mine.toml"
    toml.write_text("kind = 'prose'\norigin = 'me'\n[[prompt]]\ntext = '''\na\nb\n'''\n"
                    "[[prompt]]\nname = 'n'\nkind = 'code'\nchat = true\ntext = 'c'\n")  # fmt: skip
    first, second = from_file(toml)
    assert (first.name, first.kind, first.text, first.chat, first.origin) == ("mine 1", "prose", "a\nb", False, "me")
    assert (second.name, second.kind, second.text, second.chat) == ("n", "code", "c", True)
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps(["x\n", {"text": "y", "package": "p", "kind": "edit"}]))
    assert [(p.name, p.kind, p.text) for p in from_file(rows)] == [("rows 1", "other", "x\n"), ("rows 2", "edit", "y")]
    (tmp_path / "one.py").write_text("def f():\n")
    assert [(p.name, p.kind, p.text) for p in from_file(tmp_path / "one.py")] == [("one 1", "other", "def f():\n")]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.toml", b"[[prompt", "a.toml is damaged"),
        ("a.toml", b"kind = 'code'", "holds no prompts"),
        ("a.toml", b"[[prompt]]\nname = 'x'\n", "a 1 is no prompt"),
        ("a.toml", b"[[prompt]]\nkind = 'song'\ntext = 'x'\n", "its kind is one of code"),
        ("a.toml", b"[[prompt]]\nname = 'x'\ntext = 'x'\n" * 2, "two prompts named 'x'"),
        ("a.json", b"{", "a.json is damaged"),
        ("a.json", b"[3]", "a 1 is no prompt"),
        ("a.json", b"{}", "holds no prompts"),
        ("a.txt", b"\xff\xfe", "not text in UTF-8"),
        ("a.txt", b"", "a 1 is no prompt"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SpecvizError, match=sentence):
        from_file(tmp_path / name)


def test_missing_files_and_kinds(tmp_path):
    with pytest.raises(SpecvizError, match=r"Cannot read none\.toml: No such file"):
        from_file(tmp_path / "none.toml")
    with pytest.raises(SpecvizError, match="no set of prompts 'other'; choose one of code, prose, edit, question"):
        load_set("other")
