"""Which room may import which (the design's arrows), and that the engine needs no page."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "specviz"
SCRIPTS = [path for room in ("player", "board") for path in sorted((ROOT / "assets" / room).glob("*.js"))]
RANDOM = ("Math.random", "np.random", "import random", "default_rng")
# room -> rooms and libraries that it may not import
FORBIDDEN = {
    "trace": {
        "torch",
        "transformers",
        "gradio",
        "plotly",
        "models",
        "decoding",
        "analysis",
        "charts",
        "ui",
        "training",
    },
    "models": {"gradio", "plotly", "decoding", "analysis", "charts", "ui", "training"},
    "decoding": {"gradio", "plotly", "analysis", "charts", "ui", "training"},
    "analysis": {"torch", "transformers", "gradio", "plotly", "models", "decoding", "charts", "ui", "training"},
    "charts": {"torch", "transformers", "gradio", "models", "decoding", "ui", "training"},
    "training": {"gradio", "plotly", "decoding", "analysis", "charts", "ui"},
    "commands": {"gradio", "plotly", "charts", "ui", "training"},
}


def imports(path: Path) -> set[str]:
    """Top-level libraries, and rooms of specviz, that a file names in any import."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{a.name}" for a in node.names] if node.module == "specviz" else [node.module]
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: write imports in full"
        for name in names:
            first, _, rest = name.partition(".")
            found.add(rest.split(".")[0] if first == "specviz" and rest else first)
    return found


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_knows_only_the_rooms_below(room):
    files = sorted((PACKAGE / room).rglob("*.py"))
    assert files
    for path in files:
        assert not imports(path) & FORBIDDEN[room], path


def test_the_check_itself_sees_a_forbidden_import(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from specviz.ui import x\n    import torch.nn\n")
    assert imports(bad) == {"ui", "torch"}


def test_the_engine_works_without_the_page_and_traces_and_help_without_torch():
    block = "import sys; sys.modules['gradio'] = sys.modules['plotly'] = None\n"
    engine = block + "import specviz; specviz.speculate, specviz.load_pair, specviz.Pair"
    reader = "import sys, specviz; specviz.load_trace, specviz.Settings; assert 'torch' not in sys.modules"
    helper = "import sys, specviz.cli; assert not {'torch', 'transformers', 'pandas', 'numpy'} & sys.modules.keys()"
    for code in (engine, reader, helper):
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_files_have_one_subject_and_stay_short():
    assert {path.parent.name for path in SCRIPTS} == {"player", "board"}
    files = [*PACKAGE.rglob("*.py"), *SCRIPTS, ROOT / "app.py"]
    for path in files:
        assert len(path.read_text().splitlines()) <= 320, path


def test_no_chart_or_page_can_draw_from_random_numbers():
    shown = [path for room in ("charts", "ui") for path in (PACKAGE / room).rglob("*.py")]
    for path in [*shown, *SCRIPTS]:
        text = path.read_text()
        assert not any(word in text for word in RANDOM), path
