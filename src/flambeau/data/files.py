"""Datasets from files: tables, lines, memory maps."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flambeau.data.dataset import Dataset, TensorDataset, check_index
from flambeau.errors import FlambeauError

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none
    import numpy.typing as npt

READERS = {".csv": "read_csv", ".parquet": "read_parquet"}
PIECE = 1 << 20  # bytes searched at a time


def import_package(name: str, call: str, package: str) -> Any:
    """Import an optional package; FlambeauError, with its install command, if it is missing."""
    try:
        return import_module(name)
    except ImportError:
        fix = f"pip install 'flambeau[data]', or only {package}"
        raise FlambeauError(f"{call}: needs {package}, which is not installed: {fix}") from None


class Columns(Dataset):
    """Columns of equal length by name: item i is a dict of their values, a batch a dict of arrays.

    columns: a dict of arrays, or a frame of polars. Numbers of a batch become tensors, texts stay. ValueError
    if lengths differ.
    """

    def __init__(self, columns: Any):
        import numpy as np

        named = columns.to_dict() if hasattr(columns, "to_dict") else columns
        self.columns = {
            k: v.to_numpy() if hasattr(v, "to_numpy") else np.asarray(v) for k, v in named.items()
        }
        lengths = {len(v) for v in self.columns.values()}
        if len(lengths) != 1:
            sizes = ", ".join(f"{k} {len(v)}" for k, v in self.columns.items())
            raise ValueError(f"Columns({sizes}): lengths differ: pass one or more columns of one length")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index: int) -> dict[str, Any]:
        if isinstance(index, str):
            rule = f"items are rows: for a column write .columns[{index!r}]"
            raise TypeError(f"{type(self).__name__}[{index!r}]: {rule}")
        position = check_index(self, index)
        return {name: column[position] for name, column in self.columns.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} rows of {', '.join(self.columns)})"

    def gather(self, indices: np.ndarray) -> dict[str, np.ndarray]:
        """Index each column once."""
        return {name: column[indices] for name, column in self.columns.items()}


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    missing: Sequence[str] = ("", "NA", "N/A", "NaN", "null"),
) -> Columns:
    """Return a CSV or Parquet file (`path`) as a Columns, all of it or some columns, read by polars.

    missing: texts of a CSV that stand for missing cells, which become NaN among numbers and None among texts.
    FlambeauError if polars is not installed, ValueError for other files.
    """
    kind = Path(path).suffix.lower()
    if kind not in READERS:
        raise ValueError(
            f"read_table('{path}'): only {' and '.join(READERS)} files are supported: pass one of these"
        )
    polars = import_package("polars", f"read_table('{path}')", "polars")
    options = {"null_values": list(missing)} if kind == ".csv" else {}
    chosen = None if columns is None else list(columns)
    return Columns(getattr(polars, READERS[kind])(path, columns=chosen, **options))


class ThreadOwn(threading.local):
    """Attributes of each thread, which pickling leaves out."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class TextLines(Dataset):
    """The lines of a text file by number, without line ends. The file is scanned once and not kept in memory.

    path: the file; encoding: of its text. Each thread opens the file.
    """

    def __init__(self, path: str | os.PathLike[str], encoding: str = "utf-8"):
        import numpy as np

        self.path, self.encoding, self._local = Path(path), encoding, ThreadOwn()
        offset = 0
        line_ends: list[np.ndarray[Any, Any]] = []
        with open(self.path, "rb") as file:
            while piece := file.read(PIECE):
                # offsets after each newline: where lines begin; 8 bytes a line in memory
                line_ends.append(np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n")) + offset + 1)
                offset += len(piece)
        starts = np.concatenate([[0], *line_ends])
        # the last line may lack a line end
        self.starts = starts if starts[-1] == offset else np.append(starts, offset)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> str:
        position = check_index(self, index)
        if not hasattr(self._local, "file"):
            self._local.file = open(self.path, "rb")  # noqa: SIM115 - as long as its thread
        start, end = self.starts[position : position + 2].tolist()
        self._local.file.seek(start)
        # a file position is shared by threads: hence a file for each
        return self._local.file.read(end - start).decode(self.encoding).rstrip("\r\n")


def memory_map(
    path: str | os.PathLike[str], dtype: npt.DTypeLike | None = None, shape: Sequence[int] | None = None
) -> TensorDataset:
    """Open a file of numbers (`path`), a .npy or raw numbers, as a dataset that reads rows on demand.

    dtype: of raw numbers; shape: of the dataset, its length first. ValueError if raw numbers have neither.
    """
    import numpy as np

    if Path(path).suffix == ".npy":
        return TensorDataset(np.load(path, mmap_mode="r"))
    if dtype is None:
        raise ValueError(f"memory_map('{path}'): a raw file has no header: pass dtype and shape")
    return TensorDataset(np.memmap(path, dtype, "r", shape=None if shape is None else tuple(shape)))
