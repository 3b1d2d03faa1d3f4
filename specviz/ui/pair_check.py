"""The pair doctor on the page: a button below the pairs, and a line for everything it finds, with what to do."""

import html
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.models.catalog import DTYPES
from specviz.trace.errors import SpecvizError
from specviz.trace.findings import Finding
from specviz.ui.engine import Engine
from specviz.ui.turns import told

_LEVELS = {"ok": "fits", "note": "note", "warning": "warning", "fault": "fault"}
_STYLE = (
    "ul { margin: 4px 0 0; padding: 0; list-style: none; display: grid; gap: 4px; font-size: 12.5px; } "
    "li { overflow-wrap: anywhere; } b { font-weight: 600; } p { margin: 4px 0 0; font-weight: 600; } "
    ".level { border: 1px solid currentColor; border-radius: 4px; padding: 0 4px; font-size: 11px; }"
)


class PairCheck:
    """Lays itself out in the current Blocks. elem_id: of its place."""

    def __init__(self, engine: Engine, elem_id: str) -> None:
        self._engine = engine
        self._known = {entry.key for entry in engine.entries() if entry.available}
        self._check = gr.Button("Check this pair", size="sm")
        self._place = gr.HTML(css_template=_STYLE, apply_default_css=False, elem_id=elem_id, elem_classes="sv-say")

    def wire(self, pair: Component, dtype: Component | None = None) -> None:
        """The button examines the pair that is chosen then; another choice takes the findings away."""
        chosen = [pair, *([dtype] if dtype else [])]
        options: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        self._check.click(self._examine, chosen, self._place, concurrency_limit=2, **options)
        gr.on([control.change for control in chosen], lambda: "", None, self._place, queue=False, **options)

    def _examine(self, pair: Any, dtype: Any = None) -> Iterator[str]:
        if not isinstance(pair, str) or pair not in self._known:
            yield _paragraph("No pair is chosen, or it cannot be loaded here.")
            return
        yield _paragraph(f"Reading the files of {pair} …")
        kind = dtype if dtype in DTYPES else None
        try:
            yield findings_html(self._engine.examine(pair, kind))
        except Exception as error:
            problem: SpecvizError = told(error)
        else:
            return
        yield _paragraph(str(problem))


def findings_html(findings: Sequence[Finding]) -> str:
    """The verdict, then a line for each other finding."""
    *found, last = findings
    head = _paragraph(f"{last.sentence} {last.advice}".strip())
    return f"{head}<ul>{''.join(map(_line, found))}</ul>"


def _line(finding: Finding) -> str:
    text = html.escape(f"{finding.sentence} {finding.advice}".strip())
    return f"<li><span class='level'>{_LEVELS[finding.level]}</span> <b>{html.escape(finding.topic)}</b> {text}</li>"


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"
