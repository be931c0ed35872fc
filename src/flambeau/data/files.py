"""Turns files into datasets: tables, SQLite, folders of images, lines, memory maps."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flambeau.data.dataset import Dataset, TensorDataset, checked
from flambeau.errors import FlambeauError

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none

IMAGES = frozenset((".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"))
READERS = {".csv": "read_csv", ".parquet": "read_parquet"}
PIECE = 1 << 20  # bytes that are looked through at a time


def needed(name: str, call: str, package: str) -> Any:
    """A package that is not always there; FlambeauError says how to get it."""
    try:
        return import_module(name)
    except ImportError:
        fix = f"pip install 'flambeau[data]', or {package} by itself"
        raise FlambeauError(f"{call}: needs {package}, which is not installed: {fix}") from None


class Columns(Dataset):
    """Columns of one length by name: item i is a dict of their values, a batch a dict of arrays.

    columns: a dict of arrays, or a frame of polars. Numbers of a batch become tensors, texts stay. ValueError
    where lengths differ.
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
            raise ValueError(f"Columns({sizes}): lengths differ: give one or more columns of one length")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index: int) -> dict[str, Any]:
        position = checked(self, index)
        return {name: column[position] for name, column in self.columns.items()}

    def gather(self, indices: np.ndarray) -> dict[str, np.ndarray]:
        """One index of each column."""
        return {name: column[indices] for name, column in self.columns.items()}


def read_table(path: str | os.PathLike, columns: Sequence[str] | None = None) -> Columns:
    """A CSV or Parquet file (`path`) as a Columns, all of it or some columns, read by polars.

    FlambeauError where that is not installed, ValueError for other files.
    """
    kind = Path(path).suffix.lower()
    if kind not in READERS:
        raise ValueError(f"read_table('{path}'): reads {' and '.join(READERS)}: give such a file")
    polars = needed("polars", f"read_table('{path}')", "polars")
    return Columns(getattr(polars, READERS[kind])(path, columns=None if columns is None else list(columns)))


class _ThreadOwn(threading.local):
    """What each thread has for itself; a pickle takes none of it along."""

    def __reduce__(self) -> tuple:
        return type(self), ()


class SQLiteDataset(Dataset):
    """The rows of a table (or view with a rowid) of an SQLite file, each a tuple of its columns, read one
    by one.

    path: the file; table: its name; columns: some of them, all where None. Each thread has a connection of
    its own. ValueError where there is no such table or column.
    """

    def __init__(self, path: str | os.PathLike, table: str, columns: Sequence[str] | None = None):
        self.path, self.table = Path(path), table
        if not self.path.is_file():
            raise ValueError(f"SQLiteDataset('{path}'): no such file: give one that is there")
        self._local = _ThreadOwn()
        chosen = "*" if columns is None else ", ".join(map(_quoted, columns))
        self._query = f"SELECT {chosen} FROM {_quoted(table)} WHERE rowid = ?"
        try:
            rows = self._connection().execute(f"SELECT rowid FROM {_quoted(table)} ORDER BY rowid")
            self.rows = [row for (row,) in rows]
            known = self._connection().execute(self._query, (0,)).description
        except self._error() as error:
            call = f"SQLiteDataset('{path}', {table!r})"
            raise ValueError(f"{call}: {error}: give a table of the file") from None
        self.columns = [name for name, *_ in known]
        missing = [name for name in columns or () if name not in self.columns or not self._has(name)]
        if missing:
            call = f"SQLiteDataset('{path}', {table!r})"
            raise ValueError(f"{call}: no column {missing[0]!r}: give one of the table")

    def _has(self, column: str) -> bool:
        info = self._connection().execute(f"PRAGMA table_info({_quoted(self.table)})")
        return column in {name for _, name, *_ in info}

    def _error(self) -> Any:
        import sqlite3

        return sqlite3.Error

    def _connection(self) -> Any:
        import sqlite3

        if not hasattr(self._local, "connection"):
            self._local.connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        return self._local.connection

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple:
        row = self.rows[checked(self, index)]
        return self._connection().execute(self._query, (row,)).fetchone()


class ImageFolder(Dataset):
    """Images in a folder for each class, as torchvision's: items are (image, number of the class).

    root: has the folders, whose names in order are `classes`; transform: of an image, uint8 [height, width,
    3], before it is given; loader: of a path, in place of Pillow. ValueError where there are no images.
    """

    def __init__(
        self,
        root: str | os.PathLike,
        transform: Callable[[Any], Any] | None = None,
        loader: Callable[[Path], Any] | None = None,
    ):
        self.root, self.transform, self.loader = Path(root), transform, loader or read_image
        folders = sorted(p for p in self.root.iterdir() if p.is_dir()) if self.root.is_dir() else []
        self.classes = [p.name for p in folders]
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        found = [(p, i) for i, folder in enumerate(folders) for p in sorted(folder.rglob("*"))]
        self.samples = [(p, i) for p, i in found if p.suffix.lower() in IMAGES]
        if not self.samples:
            rule = "no images in it: give a folder that has one for each class"
            raise ValueError(f"ImageFolder('{root}'): {rule}")

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path, label = self.samples[checked(self, index)]
        image = self.loader(path)
        return (image if self.transform is None else self.transform(image)), label


def read_image(path: str | os.PathLike) -> np.ndarray:
    """An image file (`path`) as uint8 [height, width, 3], by Pillow. FlambeauError without it."""
    import numpy as np

    image = needed("PIL.Image", f"read_image('{path}')", "pillow")
    with image.open(path) as opened:
        return np.array(opened.convert("RGB"))


class TextLines(Dataset):
    """The lines of a text file by number, without their ends; the file is looked through once, and not kept.

    path: the file; encoding: of its text. Each thread has the file open by itself.
    """

    def __init__(self, path: str | os.PathLike, encoding: str = "utf-8"):
        import numpy as np

        self.path, self.encoding, self._local = Path(path), encoding, _ThreadOwn()
        ends, at = [], 0
        with open(self.path, "rb") as file:
            while piece := file.read(PIECE):
                ends.append(np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n")) + at + 1)
                at += len(piece)
        starts = np.concatenate([[0], *ends])
        self.starts = starts if starts[-1] == at else np.append(starts, at)  # the last line may have no end

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> str:
        position = checked(self, index)
        if not hasattr(self._local, "file"):
            self._local.file = open(self.path, "rb")  # noqa: SIM115 - as long as its thread
        start, end = self.starts[position : position + 2].tolist()
        self._local.file.seek(start)
        return self._local.file.read(end - start).decode(self.encoding).rstrip("\r\n")


def memory_map(
    path: str | os.PathLike, dtype: Any = None, shape: Sequence[int] | None = None
) -> TensorDataset:
    """A file of numbers (`path`) as a dataset that reads the rows that are asked for: a .npy, or raw numbers.

    dtype: of raw numbers; shape: of the whole, the length first. ValueError where raw numbers have neither.
    """
    import numpy as np

    if Path(path).suffix == ".npy":
        return TensorDataset(np.load(path, mmap_mode="r"))
    if dtype is None:
        raise ValueError(f"memory_map('{path}'): a raw file says nothing of itself: give dtype and shape")
    return TensorDataset(np.memmap(path, dtype, "r", shape=None if shape is None else tuple(shape)))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
