"""What the page ships: recorded runs and prompts; and that opening it needs no model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from made import race_trace

from specviz.trace.files import save_trace
from specviz.ui.examples import TRACES, example_prompts, recorded_lines, recorded_runs

ROOT = Path(__file__).resolve().parents[2]


def test_recorded_runs_are_sorted_by_file_and_damaged_ones_left_out(tmp_path):
    for name, title in (("2", "later"), ("1", "earlier")):
        trace = race_trace()
        trace.title = title
        save_trace(trace, tmp_path / f"{name}.json.gz")
    save_trace(race_trace(), tmp_path / "3-untitled.json.gz")
    (tmp_path / "0.json.gz").write_bytes(b"\x1f\x8bnothing")
    found = recorded_runs(tmp_path)
    assert list(found.items()) == [
        ("1.json.gz", "earlier"), ("2.json.gz", "later"), ("3-untitled.json.gz", "3-untitled")
    ]  # fmt: skip


def test_no_recorded_runs_is_no_error(tmp_path):
    assert recorded_runs(tmp_path / "missing") == {}


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.json.gz")), ids=lambda p: p.name)
def test_shipped_runs_can_be_shown(path):
    assert path.name in recorded_runs(TRACES)
    lines = [json.loads(line) for line in recorded_lines(path).splitlines()]
    assert lines[0]["trace"]["title"]
    assert lines[-1]["figures"]["speedup"]["value"]


def test_example_prompts():
    examples = example_prompts()
    assert len({example.title for example in examples}) == len(examples) >= 5
    assert all(example.prompt.strip() for example in examples)


def test_the_page_is_built_without_torch():
    code = (
        "import sys; from specviz.ui.app import build; build();assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
