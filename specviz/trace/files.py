"""Traces in and out of files: .json and .json.gz, the JSON schema, and CSV tables of rounds and tokens."""

import csv
import gzip
import io
import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from specviz.trace.errors import SpecvizError
from specviz.trace.schema import FORMAT, VERSION, Round, Trace, round_ids

MAX_BYTES = 64 * 1024 * 1024  # of JSON text, after decompression: a trace of 4,096 tokens is about 4 MB


@cache
def _adapter(kind: type = Trace) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_plain(record: Any, leave_out: tuple[str, ...] = ()) -> Any:
    """A record as dicts, lists and numbers; fields that are None are left out (`leave_out` at the top only)."""
    return _adapter(type(record)).dump_python(record, mode="json", exclude_none=True, exclude=set(leave_out))


def dumps(trace: Trace) -> str:
    """The trace as one line of JSON."""
    return _adapter().dump_json(trace, exclude_none=True).decode()


def loads(text: str | bytes) -> Trace:
    """Read and check a trace. Raises SpecvizError with a plain sentence if it is none, or inconsistent."""
    if len(text) > MAX_BYTES:
        raise SpecvizError(f"This trace is larger than {MAX_BYTES >> 20} MB; record fewer tokens.")
    try:
        trace = _adapter().validate_json(text)
    except ValidationError as error:
        raise SpecvizError(_explain(text, error)) from None
    check(trace)
    return trace


def check(trace: Trace) -> None:
    """Raise SpecvizError unless counts agree with each other, drafts are chains or trees, and every id can be shown."""
    for lane in filter(None, (trace, trace.baseline)):
        emitted = [e.id for r in lane.rounds for e in r.emitted]
        if emitted != lane.output_ids:
            raise SpecvizError("This trace contradicts itself: the tokens of its rounds are not its output.")
        if not all(map(_parents_stand_before, lane.rounds)):
            raise SpecvizError(
                "This trace contradicts itself: a drafted token names a parent that does not stand before it."
            )
        if missing := set(lane.prompt.ids).union(*map(round_ids, lane.rounds)) - lane.pieces.keys():
            raise SpecvizError(f"This trace has no text for token id {min(missing)}.")
    if trace.baseline and trace.baseline.baseline:
        raise SpecvizError("This trace is nested more than once; a baseline cannot have a baseline.")


def _parents_stand_before(record: Round) -> bool:
    """Whether the draft is a chain, where no token names a parent, or a tree, where each follows an earlier one."""
    parents = [d.parent for d in record.drafted]
    if all(parent is None for parent in parents):
        return True
    return all(parent is not None and -1 <= parent < place for place, parent in enumerate(parents))


def save_trace(trace: Trace, path: str | Path) -> Path:
    """Write `path`; a name that ends in .gz is compressed."""
    path, data = Path(path), dumps(trace).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def load_trace(path: str | Path) -> Trace:
    """Read `path` (.json or .json.gz, told apart by content)."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SpecvizError(f"Cannot read {path.name}: {error.strerror or error}.") from None
    return loads(_unzip(data) if data[:2] == b"\x1f\x8b" else data)


def json_schema() -> dict[str, Any]:
    """The JSON schema of the format (JSON Schema 2020-12); assets/trace.schema.json is this, checked by a test."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_adapter().json_schema()}


def rounds_csv(trace: Trace) -> str:
    """One row per round: counts, and seconds by phase."""
    columns = ["round", "start", "drafted", "judged", "accepted", "emitted", "draft_s", "verify_s", "sampling_s",
               "other_s", "recording_s"]  # fmt: skip
    rows = (
        [r.index, r.start, len(r.drafted), r.judged, r.accepted, len(r.emitted), sum(r.timing.draft), r.timing.verify,
         r.timing.sampling, r.timing.other, r.timing.recording]
        for r in trace.rounds
    )  # fmt: skip
    return _csv(columns, rows)


def tokens_csv(trace: Trace) -> str:
    """One row per drafted token and per emitted token that was not drafted."""
    columns = ["round", "place", "id", "text", "role", "p", "q", "accept_prob", "uniform", "beta"]
    return _csv(columns, (row for r in trace.rounds for row in _token_rows(trace, r)))


def _token_rows(trace: Trace, record: Any) -> list[list[Any]]:
    text = lambda i: trace.pieces[i].text  # noqa: E731
    rows = [[record.index, k, d.id, text(d.id), d.verdict, d.p, d.q, d.accept_prob, d.uniform, d.beta]
            for k, d in enumerate(record.drafted)]  # fmt: skip
    for k, e in enumerate(record.emitted):
        if e.origin != "accepted":
            rows.append([record.index, k, e.id, text(e.id), e.origin, e.p, None, None, None, None])
    return rows


def _csv(columns: list[str], rows: Any) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_inert(cell) for cell in row] for row in rows)
    return out.getvalue()


def _inert(cell: Any) -> Any:
    """Model text must not start a formula in a spreadsheet (OWASP, CSV injection)."""
    return "'" + cell if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell


def _unzip(data: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as source:
            return source.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise SpecvizError("This file ends early or is damaged; export the trace again.") from None


def _explain(text: str | bytes, error: ValidationError) -> str:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return "This file is not JSON, so it is not a specviz trace."
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return "This file is JSON but not a specviz trace (its format field does not say so)."
    if content.get("version") != VERSION:
        return f"This trace has version {str(content.get('version'))[:20]}; this specviz reads version {VERSION}."
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][:6])
    return f"This trace is damaged at {where}: {first['msg']}."
