"""The decodes of a measurement, written and read again."""

import json
import re

import pytest
from made import made_trace, plain_rounds, race_trace

from specviz.trace.decodes import LIST, load_decodes, save_decodes, settings_name
from specviz.trace.errors import SpecvizError
from specviz.trace.files import dumps, save_trace
from specviz.trace.measured import Decoded, Reference
from specviz.trace.schema import Settings


def decodes():
    return [
        Decoded("Lane A/é", race_trace(3), "one", "code", 0, 1000),
        Decoded("Lane A/é", race_trace(6), "one", "code", 1),
        Decoded("b", race_trace(4), "two", "prose", 0),
    ]


def test_what_was_written_is_read_again(tmp_path):
    references = [Reference("transformers generate", "one", [1, 2, 3], 0.25, "code", 1, 2)]
    files = save_decodes(decodes(), references, tmp_path / "made")
    assert [f.name for f in files] == ["0001-lane-a-one-0.json.gz", "0002-lane-a-one-1.json.gz", "0003-b-two-0.json.gz"]
    read, known = load_decodes([tmp_path / "made"])
    assert read == decodes()
    assert [dumps(d.trace) for d in read] == [dumps(d.trace) for d in decodes()]
    assert known == references
    assert load_decodes(files[1:]) == (decodes()[1:], []), "single files of the folder keep their names"


def test_single_traces_are_named_after_their_settings(tmp_path):
    other = race_trace(3)
    other.prompt.ids = [8]
    other.baseline.prompt.ids = [8]
    traces = [race_trace(3), race_trace(6), other]
    paths = [save_trace(trace, tmp_path / f"{i}.json") for i, trace in enumerate(traces)]
    read, references = load_decodes(paths)
    assert [(d.lane, d.prompt, d.kind, d.repeat, d.memory) for d in read] == [
        ("draft-model, gamma 3", "prompt 1", "other", 0, None),
        ("draft-model, gamma 3", "prompt 1", "other", 1, None),
        ("draft-model, gamma 3", "prompt 2", "other", 0, None),
    ]
    assert references == []


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(), "draft-model, gamma 4"),
        (Settings(0, method="medusa"), "no draft"),
        (Settings(2, tree=(3, 2), method="medusa", rule="match"), "medusa, tree 3 2, match"),
        (Settings(6, draft_length="confidence"), "draft-model, gamma 6 (confidence)"),
    ],
)
def test_names_of_lanes(settings, name):
    assert settings_name(settings) == name


def test_what_is_no_measurement_is_refused(tmp_path):
    alone = save_trace(made_trace(plain_rounds(2, 0.1)), tmp_path / "alone.json")
    with pytest.raises(SpecvizError, match=r"alone\.json has no plain lane"):
        load_decodes([alone])
    with pytest.raises(SpecvizError, match="no decodes to read"):
        load_decodes([])
    with pytest.raises(SpecvizError, match="Cannot read nothing"):
        load_decodes([tmp_path / "nothing.json"])
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(SpecvizError, match=re.escape(f"Cannot read {folder}/decodes.json: No such file")):
        load_decodes([folder])
    (folder / LIST).write_text("{}")
    with pytest.raises(SpecvizError, match="is damaged"):
        load_decodes([folder])
    (folder / LIST).write_text(json.dumps({"decodes": [{"file": "../alone.json", "lane": "x", "prompt": "y"}]}))
    with pytest.raises(SpecvizError, match="outside its folder"):
        load_decodes([folder])
