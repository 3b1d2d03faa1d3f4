"""Measurements as files to download: the folder that `python -m specviz bench --from` reads, packed."""

import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

from specviz.trace.decodes import save_decodes
from specviz.trace.measured import Decoded

_NAME = "specviz-comparison"


class TraceFiles:
    """Keeps the last measurement of each visitor until the next one, or until the visitor leaves."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="specviz-")

    def save(self, visitor: str, decoded: Sequence[Decoded]) -> str:
        """Path of the packed folder."""
        place = self._place(visitor)
        place.mkdir(exist_ok=True)
        path = place / f"{_NAME}.zip"
        with tempfile.TemporaryDirectory(prefix="specviz-") as folder, ZipFile(path, "w", ZIP_STORED) as packed:
            save_decodes(decoded, [], folder)
            for file in sorted(Path(folder).iterdir()):
                packed.write(file, f"{_NAME}/{file.name}")
        return str(path)

    def forget(self, visitor: str) -> None:
        """Remove what this visitor has left."""
        place = self._place(visitor)
        (place / f"{_NAME}.zip").unlink(missing_ok=True)
        if place.is_dir():
            place.rmdir()

    def _place(self, visitor: str) -> Path:
        return Path(self._folder.name) / sha256(visitor.encode()).hexdigest()[:16]
