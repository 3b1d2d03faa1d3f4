"""The schema of reports in assets is the one that the code makes."""

import json
from pathlib import Path

from specviz.cli import main

STORED = Path(__file__).resolve().parents[1] / "assets" / "report.schema.json"


def test_the_stored_schema_is_what_the_command_prints(capsys):
    assert main(["schema", "--report"]) == 0
    out = capsys.readouterr().out
    assert out == STORED.read_text(), "python -m specviz schema --report > assets/report.schema.json"
    schema = json.loads(out)
    assert {"title", "sentences", "tables", "provenance", "format", "version"} == schema["properties"].keys()
    assert "kind" in schema["$defs"]["Column"]["properties"]
