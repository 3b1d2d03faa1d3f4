"""The corpus: only allowed licences, a split by file, ordinary code."""

import zipfile

import pytest

from specviz.training import corpus, data, quality
from specviz.training.corpus import SourceFile
from specviz.training.sources import ALLOWED_LICENCES, STDLIB, WHEELS, Source

FUNCTION = '''def largest(values, default=None):
    """Return the largest of the values, or the default if there are none."""
    best = default
    for value in values:
        if best is None or value > best:
            best = value
    return best


class Stack:
    """A last-in, first-out collection backed by a list."""

    def __init__(self):
        self.items = []
'''


def make_wheel(folder, licence_lines, files):
    path = folder / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\n" + licence_lines)
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def source_files(count):
    texts = [FUNCTION + f"\n# {i}\n" for i in range(count)]
    return [SourceFile("networkx", f"pkg/module_{i}.py", "BSD", text) for i, text in enumerate(texts)]


def test_every_listed_package_names_an_allowed_licence_and_an_exact_version():
    for source in (STDLIB, *WHEELS):
        assert source.licence in ALLOWED_LICENCES
        assert source.version[0].isdigit()
    names = [source.name for source in WHEELS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("metadata", "declared", "accepted"),
    [
        ("License-Expression: BSD-3-Clause\n", "BSD", True),
        ("Classifier: License :: OSI Approved :: MIT License\n", "MIT", True),
        ("License: Apache 2.0\n", "Apache-2.0", True),
        ("License-Expression: BSD-3-Clause\n", "MIT", False),
        ("License: LGPL\n", "MIT", False),
        ("License: BSD, or GNU GPL for some files\n", "BSD", False),
        ("", "MIT", False),
        ("License: MIT\n", "WTFPL", False),
    ],
)
def test_a_licence_must_be_allowed_and_be_what_the_metadata_says(tmp_path, metadata, declared, accepted):
    wheel = make_wheel(tmp_path, metadata, {"demo/a.py": FUNCTION})
    source = Source("demo", "1.0", declared)
    if accepted:
        assert [file.path for file in corpus.wheel_files(wheel, source)] == ["demo/a.py"]
    else:
        with pytest.raises(corpus.LicenceError):
            list(corpus.wheel_files(wheel, source))


def test_the_split_is_by_file_disjoint_and_about_one_in_fifty():
    files = source_files(5000)
    held_out = {file.key for file in files if corpus.is_held_out(file.key)}
    assert 60 <= len(held_out) <= 140  # 100 expected, sd 10
    trained = data.training_documents(files)
    for file in files:
        marker = f"# {file.path.split('_')[1][:-3]}\n"
        if file.key in held_out:
            assert not any(text.endswith("\n" + marker) for text in trained)


def test_the_split_of_a_file_never_changes():
    # Recorded once: the first eight bytes of SHA-256, big-endian, whatever the process or machine.
    assert corpus.stable_hash("specviz") == 6468157180505023667
    held_out = [i for i in range(200) if corpus.is_held_out(f"networkx/pkg/module_{i}.py")]
    assert held_out == [14, 23, 39, 99]


def test_a_cap_keeps_whole_files_up_to_the_limit():
    files = source_files(40)
    size = len(files[0].text.encode())
    kept = corpus.capped(files, 10 * size)
    assert 9 <= len(kept) <= 10
    assert sum(len(file.text.encode()) for file in kept) <= 10 * size


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("networkx/algorithms/clique.py", True),
        ("networkx/tests/test_all.py", False),
        ("pip/_vendor/rich/text.py", False),
        ("toolz/test_core.py", False),
        ("demo/_test_helpers.py", True),
        ("demo/data/tables.py", False),
    ],
)
def test_tests_vendored_code_and_data_are_left_out_by_path(path, wanted):
    assert corpus.is_wanted_path(path) is wanted


@pytest.mark.parametrize(
    ("text", "ordinary"),
    [
        (FUNCTION, True),
        ("# This file was automatically generated from a template.\n" + FUNCTION, False),
        (FUNCTION + "x = '" + "a" * 200 + "'\n", False),
        ("TABLE = [\n" + "    1234, 5678, 9012,\n" * 60 + "]\n", False),
        (FUNCTION.replace("    ", "\t"), False),
        ("x = 1\n", False),
    ],
)
def test_ordinary_code(text, ordinary):
    assert quality.is_ordinary_code(text) is ordinary


def test_a_legal_header_is_cut_and_other_comments_stay():
    legal = "# Copyright 2020 Someone\n# MIT License\n\n"
    assert quality.without_licence_header(legal + "import os\n") == "import os\n"
    assert quality.without_licence_header("# Helpers for paths\nimport os\n").startswith("# Helpers")


def test_snippets_are_the_top_level_definitions():
    found = quality.snippets("import os\n\n" + FUNCTION)
    assert [text.split("(")[0].split(":")[0] for text in found] == ["def largest", "class Stack"]
    assert all(text.endswith("\n") and not text.endswith("\n\n") for text in found)
