"""Python source text: fetched from pinned wheels, filtered, deduplicated, split by file.

A `SourceFile` is one file of one package. Whether it is held out depends only on the hash of
"package/path", so a file never moves between the splits when the corpus grows.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
import sysconfig
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

from tqdm import tqdm

from specviz.training.quality import is_ordinary_code, without_licence_header
from specviz.training.sources import (
    ALLOWED_LICENCES,
    REFUSED_WORDS,
    STDLIB,
    WHEELS,
    Source,
)

HELD_OUT_ONE_IN = 50
TESTS = {"test", "tests", "testing", "test_data", "testdata", "benchmarks"}
COPIES = {"vendor", "_vendor", "vendored", "_vendored", "extern", "externals", "_extern", "site-packages"}
TABLES = {"locale", "locales", "data", "datasets", "encodings", "unicode_codes", "pydoc_data", "migrations"}
CURIOSITIES = {"idlelib", "lib2to3", "turtledemo", "__pycache__"}
SKIPPED_PARTS = frozenset(TESTS | COPIES | TABLES | CURIOSITIES)


class LicenceError(ValueError):
    """A package's own metadata does not name a licence on the allow-list."""


@dataclass(frozen=True)
class SourceFile:
    """One source file: `path` is relative to the wheel or standard library root."""

    package: str
    path: str
    licence: str
    text: str

    @property
    def key(self) -> str:
        return f"{self.package}/{self.path}"


def stable_hash(text: str) -> int:
    """A 64-bit integer that is the same in every process and on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def is_held_out(key: str) -> bool:
    """About one file in fifty, chosen by the hash of "package/path" alone."""
    return stable_hash(key) % HELD_OUT_ONE_IN == 0


def fetch_wheels(folder: Path, sources: Iterable[Source] = WHEELS) -> None:
    """Download every pinned wheel that `folder` lacks, through pip and without dependencies."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [source for source in sources if find_wheel(folder, source) is None]
    for source in tqdm(missing, desc="wheels", disable=not missing):
        requirement = f"{source.name}=={source.version}"
        command = [sys.executable, "-m", "pip", "--quiet", "download", "--no-deps"]
        subprocess.run([*command, "--only-binary=:all:", "--dest", str(folder), requirement], check=True)


def find_wheel(folder: Path, source: Source) -> Path | None:
    """The wheel of exactly this name and version, whatever its platform tag."""
    stem = f"{source.name.replace('-', '_').lower()}-{source.version}-"
    found = [path for path in folder.glob("*.whl") if path.name.lower().startswith(stem)]
    return sorted(found)[0] if found else None


def licence_in_metadata(metadata: str) -> str:
    """What a wheel's METADATA says of its licence: expression, field and classifiers, joined."""
    headers = Parser().parsestr(metadata, headersonly=True)
    classifiers = [c for c in headers.get_all("Classifier", []) if c.startswith("License ::")]
    # The free-text field sometimes holds the whole licence; its first line names it.
    field = (headers.get("License") or "").strip().split("\n")[0]
    return " | ".join(filter(None, [headers.get("License-Expression"), field, *classifiers]))


def check_licence(source: Source, metadata: str) -> None:
    """Refuse a package whose declared licence is not allowed or not what its metadata says."""
    if source.licence not in ALLOWED_LICENCES:
        raise LicenceError(f"{source.name}: {source.licence} is not on the allow-list")
    said = licence_in_metadata(metadata).lower()
    allowed = any(word in said for word in ALLOWED_LICENCES[source.licence])
    if not allowed or any(word in said for word in REFUSED_WORDS):
        raise LicenceError(f"{source.name}: listed as {source.licence}, metadata says {said!r}")


def wheel_files(wheel: Path, source: Source) -> Iterator[SourceFile]:
    """Every .py file of a wheel, after its licence has been checked."""
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(archive.namelist())
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        check_licence(source, archive.read(metadata).decode("utf-8", "replace"))
        for name in names:
            if name.endswith(".py"):
                text = archive.read(name).decode("utf-8", "replace")
                yield SourceFile(source.name, name, source.licence, text)


def stdlib_files() -> Iterator[SourceFile]:
    """Every .py file of the running interpreter's standard library."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        yield SourceFile(STDLIB.name, name, STDLIB.licence, text)


def is_wanted_path(path: str) -> bool:
    """Not a test, not vendored, not data: judged by the names in the path."""
    parts = path.lower().split("/")
    name = parts[-1]
    is_test = name.startswith(("test_", "conftest")) or name.endswith("_test.py")
    return not is_test and not SKIPPED_PARTS.intersection(parts)


def parses(text: str) -> bool:
    """Valid syntax for the running interpreter (Python 2 leftovers and templates are not)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return False
    return True


def clean(file: SourceFile) -> SourceFile | None:
    """The file with its licence header cut, or None if it should not be learnt from."""
    if not is_wanted_path(file.path) or "\ufffd" in file.text:
        return None
    text = without_licence_header(file.text.replace("\r\n", "\n")).strip() + "\n"
    if not is_ordinary_code(text) or not parses(text):
        return None
    return SourceFile(file.package, file.path, file.licence, text)


def capped(files: list[SourceFile], cap_bytes: int) -> list[SourceFile]:
    """A fixed pseudo-random choice of files whose sizes sum to at most `cap_bytes`."""
    chosen, total = [], 0
    for file in sorted(files, key=lambda f: stable_hash("cap:" + f.key)):
        size = len(file.text.encode())
        if total + size <= cap_bytes:
            chosen.append(file)
            total += size
    return chosen


def collect(wheel_folder: Path) -> list[SourceFile]:
    """All cleaned files, each content once, no package above its cap, in a fixed order."""
    seen: set[str] = set()
    kept: list[SourceFile] = []
    for source in tqdm((STDLIB, *WHEELS), desc="packages"):
        raw = stdlib_files() if source is STDLIB else wheel_files(_wheel(wheel_folder, source), source)
        fresh = []
        for file in filter(None, map(clean, raw)):
            digest = hashlib.sha256("".join(file.text.split()).encode()).hexdigest()
            if digest not in seen:
                seen.add(digest)
                fresh.append(file)
        kept += capped(fresh, source.cap_bytes)
    return kept


def _wheel(folder: Path, source: Source) -> Path:
    wheel = find_wheel(folder, source)
    if wheel is None:
        raise FileNotFoundError(f"no wheel of {source.name} {source.version}; run --stage corpus first")
    return wheel
