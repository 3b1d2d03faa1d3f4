"""Writes the lines of a board (their types are in `specviz.ui.board`)."""

import codecs
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any
from uuid import uuid4

from specviz.analysis.tables import Column, Report, Row, Table, cell_text, report_json, report_markdown, source_text
from specviz.analysis.words import count
from specviz.charts.style import Chart
from specviz.trace.files import to_plain
from specviz.trace.schema import Piece, Trace
from specviz.ui.engine import MeasuredStep, Measurement
from specviz.ui.stream import line
from specviz.ui.turns import FRAME, told

WHOLE = 1.0  # seconds between whole reports or sets of charts, at least
WHOLE_SHARE = 0.1  # and this share of the time so far: old reports stay in the buffer


class BoardWriter:
    """Grows `text`, the NDJSON of a board; what stands in it never changes.

    Yield `text` at most every FRAME seconds. `due` says when the next whole report may be written.
    """

    def __init__(self, title: str) -> None:
        self.text = line("board", id=uuid4().hex, title=title)
        self._begun = self._whole = self._frame = monotonic()
        self._pieces: dict[tuple[str, str], int] = {}
        self._lanes: dict[tuple[str, int], _LanePlaces] = {}

    def due(self) -> bool:
        """Whether enough time has passed since the last report or charts to write whole ones again."""
        now = monotonic()
        return now - self._whole > max(WHOLE, WHOLE_SHARE * (now - self._begun))

    def frame_due(self) -> bool:
        """Whether the page may be updated again; says so once every FRAME seconds."""
        now = monotonic()
        if now - self._frame < FRAME:
            return False
        self._frame = now
        return True

    def report(self, report: Report, folded: Collection[str] = ()) -> None:
        """Sentences and tables, in place of what is shown of them. folded: keys of tables to fold, below the charts."""
        self.text += line("report", report=shown_report(report, folded))
        self._whole = monotonic()

    def charts(self, charts: Mapping[str, Chart]) -> None:
        """Charts by name, in place of those that are shown."""
        self.text += line("charts", charts=dict(charts))
        self._whole = monotonic()

    def stream(self, key: str, title: str, lanes: Sequence[str]) -> None:
        """Open a row of token streams; lanes: their titles, top to bottom."""
        self.text += line("stream", key=key, title=title, lanes=list(lanes))

    def tokens(self, key: str, traces: Mapping[int, Trace]) -> None:
        """What the lanes of a stream, by their place in it, emitted since they were last written."""
        fresh: dict[int, Piece] = {}
        lanes = {}
        for index, trace in traces.items():
            places = self._lanes.setdefault((key, index), _LanePlaces())
            if tokens := places.more(trace):
                lanes[index] = [[self._piece(piece, fresh), origin, at] for piece, origin, at in tokens]
        if lanes:
            self.text += line("tokens", key=key, pieces={i: to_plain(p) for i, p in fresh.items()}, lanes=lanes)

    def progress(self, done: int, of: int, text: str = "") -> None:
        """How far the work is."""
        self.text += line("progress", done=done, of=of, text=text)

    def decodes(self, step: MeasuredStep, measurement: Measurement, repeats: int, more: str = "") -> None:
        """How far a measurement is, and at which prompt; more: what to add."""
        turn = f", repeat {step.repeat + 1} of {repeats}" if repeats > 1 else ""
        done, of = measurement.done, measurement.of
        self.progress(done, of, f"{done} of {count(of, 'decode')} · {step.prompt}{turn}{more}")

    def end(self, sentence: str, exports: Mapping[str, str] | None = None) -> None:
        """Close the board; exports: file name -> text, see `report_exports`."""
        self.text += line("end", sentence=sentence, exports=dict(exports or {}))

    def end_with(self, sentence: str, report: Callable[[], Report] | None) -> str:
        """Close the board with the files of a last report, if there is one to make and it has tables.

        If it cannot be made the board is closed all the same, and says why. Returns why, or "".
        """
        exports: dict[str, str] = {}
        why = ""
        try:
            made = report() if report else None
            exports = report_exports(made) if made and made.tables else {}
        except Exception as error:
            why = f"No report could be made of it: {told(error)}"
        self.end(" ".join(filter(None, [sentence, why])), exports)
        return why

    def _piece(self, piece: Piece, fresh: dict[int, Piece]) -> int:
        number = self._pieces.get((piece.text, piece.kind))
        if number is None:
            number = self._pieces[piece.text, piece.kind] = len(self._pieces)
            fresh[number] = piece
        return number


def report_exports(report: Report) -> dict[str, str]:
    """A report as files: JSON, Markdown, and one CSV per table."""
    tables = {f"{key}.csv": table.csv() for key, table in report.keyed().items()}
    return {"report.json": report_json(report), "report.md": report_markdown(report), **tables}


def shown_report(report: Report, folded: Collection[str] = ()) -> dict[str, Any]:
    """A report as the board shows it: every value a text."""
    return {
        "title": report.title,
        "sentences": report.sentences,
        "tables": [_shown_table(key, table, table.key in folded) for key, table in report.keyed().items()],
        "sources": [source_text(source) for source in report.provenance],
    }


def _shown_table(key: str, table: Table, folded: bool) -> dict[str, Any]:
    columns = [{"key": c.key, "title": c.title, "about": c.about, "kind": c.kind} for c in table.columns]
    rows = [[_cell(column, row) for column in table.columns] for row in table.rows]
    texts = {"key": key, "title": table.title, "note": table.note}
    return {**texts, "folded": folded, "columns": columns, "rows": rows}


def _cell(column: Column, row: Row) -> str | list[str]:
    """A value's text, or that and the text of its interval."""
    value = cell_text(replace(column, low=None, high=None), row)
    interval = cell_text(column, row)[len(value) :].strip()
    return [value, interval] if interval else value


class _LanePlaces:
    """Where in the output the tokens of one lane begin, in characters."""

    def __init__(self) -> None:
        self._rounds = self._at = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def more(self, trace: Trace) -> list[tuple[Piece, str, int]]:
        """(piece, origin, first character) of the tokens that came since the last call."""
        found = []
        for record in trace.rounds[self._rounds :]:
            for token in record.emitted:
                piece = trace.pieces[token.id]
                found.append((piece, token.origin, self._at))
                self._at += self._characters(piece)
        self._rounds = len(trace.rounds)
        return found

    def _characters(self, piece: Piece) -> int:
        """How many characters a piece ends; the parts of a split one count with its last part."""
        if piece.kind == "bytes":
            return len(self._decoder.decode(bytes.fromhex(piece.text)))
        return len(self._decoder.decode(b"", final=True)) + len(piece.text)
