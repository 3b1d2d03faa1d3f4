"""What the weight files of a model hold, read from their headers: no weight is touched.

A safetensors file is the length of its header (8 bytes, little-endian), the header (JSON: tensor name -> dtype, shape,
data_offsets), then the data (github.com/huggingface/safetensors, "Format").
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.models.loading import locate

_MOST_HEADER = 100_000_000  # bytes; the format's own limit
_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
_INDEX, _WHOLE = "model.safetensors.index.json", "model.safetensors"


@dataclass(frozen=True, slots=True)
class Stored:
    """sizes: bytes by dtype, as the files name them. numbers: how many elements there are in all.

    damaged: names of files that are missing, cut short or unreadable. pickled: there are weights, but only as pickles.
    """

    sizes: dict[str, int]
    numbers: int = 0
    damaged: tuple[str, ...] = ()
    pickled: bool = False

    @property
    def bytes(self) -> int:
        """Of all tensors together."""
        return sum(self.sizes.values())

    @property
    def dtype(self) -> str | None:
        """What most of the bytes are in, e.g. "BF16"; None if no header was read."""
        return max(self.sizes, key=self.sizes.__getitem__, default=None)


def read_stored(name: str) -> Stored | None:
    """The headers of a model by folder or hub name; None if the hub does not tell. Raises SpecvizError for no name."""
    where = locate(name)
    return _of_folder(where) if isinstance(where, Path) else _of_hub(where)


def _of_folder(folder: Path) -> Stored:
    there = {file for file in (_INDEX, _WHOLE, *_PICKLES) if (folder / file).is_file()}
    if there and not there & {_INDEX, _WHOLE}:
        return Stored({}, pickled=True)
    names = (_shards(folder / _INDEX) or [_INDEX]) if _INDEX in there else [_WHOLE]
    headers = {name: _header(folder / name) for name in names}
    tensors = [tensor for header in headers.values() for tensor in header or ()]
    return _summed(tensors, tuple(name for name, header in headers.items() if header is None))


def _of_hub(name: str) -> Stored | None:
    from huggingface_hub import get_safetensors_metadata
    from huggingface_hub.errors import NotASafetensorsRepoError

    try:
        files = get_safetensors_metadata(name).files_metadata.values()
    except NotASafetensorsRepoError:
        return Stored({}, pickled=True)
    except Exception:  # whatever the network says: the configuration was there, so the model can still be examined
        return None
    return _summed((t.dtype, t.parameter_count, *t.data_offsets) for file in files for t in file.tensors.values())


def _summed(tensors: Iterable[tuple[str, int, int, int]], damaged: tuple[str, ...] = ()) -> Stored:
    """Of (dtype, elements, first byte, byte after the last) of each tensor."""
    sizes, numbers = Counter(), 0
    for dtype, elements, begin, end in tensors:
        sizes[dtype] += end - begin
        numbers += elements
    return Stored(dict(sizes), numbers, damaged)


def _shards(index: Path) -> list[str]:
    """The files that an index names, none if it cannot be read; never one outside its folder."""
    try:
        return sorted({Path(name).name for name in json.loads(index.read_text())["weight_map"].values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _header(file: Path) -> list[tuple[str, int, int, int]] | None:
    """Each tensor as `_summed` takes it; None if the file is missing, cut short or not of this format."""
    try:
        with file.open("rb") as data:
            length = int.from_bytes(data.read(8), "little")
            header: dict[str, Any] = json.loads(data.read(length)) if length <= _MOST_HEADER else {}
        header.pop("__metadata__", None)
        tensors = [(t["dtype"], _elements(t["shape"]), *t["data_offsets"]) for t in header.values()]
        whole = file.stat().st_size == 8 + length + max((end for *_, end in tensors), default=0)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return tensors if whole and tensors else None


def _elements(shape: list[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
