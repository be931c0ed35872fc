"""Reads tables of SQLite files as datasets, and writes datasets as such tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from flambeau.core.files import write_whole
from flambeau.data.dataset import Dataset, Indexable, check_index
from flambeau.data.files import ThreadOwn

from ..core.tree import is_mapping, is_sequence


class SQLiteDataset(Dataset):
    """The rows of a table (or view with a rowid) of an SQLite file, each a tuple of its columns, read one
    by one.

    path: the file; table: its name; columns: those to read, None for all. Each thread has its own connection.
    ValueError for an unknown table or column, and for an item whose row was deleted.
    """

    def __init__(self, path: str | os.PathLike[str], table: str, columns: Sequence[str] | None = None):
        self.path, self.table = Path(path), table
        if not self.path.is_file():
            raise ValueError(f"SQLiteDataset('{path}'): no such file: check the path")
        # an escaped URI, which a "?" in the name does not end
        self._local, self._uri = ThreadOwn(), self.path.absolute().as_uri()
        self._roll_back_journal()
        chosen = "*" if columns is None else ", ".join(map(_quote, columns))
        self._query = f"SELECT {chosen} FROM {_quote(table)} WHERE rowid = ?"
        try:
            # Row ids may have gaps after deletions, so an index selects from this list.
            rows = self._connection().execute(f"SELECT rowid FROM {_quote(table)} ORDER BY rowid")
            self.rows = [row for (row,) in rows]
            description = self._connection().execute(self._query, (0,)).description
        except self._error() as error:
            call = f"SQLiteDataset('{path}', {table!r})"
            is_busy = getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY"
            cure = "try again once the writer has finished" if is_busy else "name a table of the file"
            raise ValueError(f"{call}: {error}: {cure}") from None
        self.columns = [name for name, *_ in description]
        missing = [name for name in columns or () if name not in self.columns or not self._has_column(name)]
        if missing:
            call = f"SQLiteDataset('{path}', {table!r})"
            raise ValueError(f"{call}: no column {missing[0]!r}: name a column of the table")

    def _roll_back_journal(self) -> None:
        """Roll back the unfinished transaction of a killed writer: SQLite does so for a writable
        connection."""
        import sqlite3

        if Path(f"{self.path}-journal").exists():
            with suppress(sqlite3.Error), closing(sqlite3.connect(f"{self._uri}?mode=rw", uri=True)) as db:
                db.execute("SELECT 1 FROM sqlite_master").fetchall()

    def _has_column(self, column: str) -> bool:
        info = self._connection().execute(f"PRAGMA table_info({_quote(self.table)})")
        return column in {name for _, name, *_ in info}

    def _error(self) -> Any:
        import sqlite3

        return sqlite3.Error

    def _connection(self) -> Any:
        import sqlite3

        if not hasattr(self._local, "connection"):
            # one connection for each thread: SQLite's objects belong to the thread that created them
            self._local.connection = sqlite3.connect(f"{self._uri}?mode=ro", uri=True)
        return self._local.connection

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        row = self.rows[check_index(self, index)]
        values = self._connection().execute(self._query, (row,)).fetchone()
        if values is None:  # deleted by another connection
            problem = f"row {row} was deleted after the dataset was opened: open it again"
            raise ValueError(f"SQLiteDataset('{self.path}', {self.table!r}): {problem}")
        return values


def write_sqlite(
    path: str | os.PathLike[str],
    table: str,
    rows: Indexable | Iterable[Any],
    columns: Sequence[str] | None = None,
    replace: bool = False,
) -> None:
    """Write `rows`, a dataset or an iterable of dicts or tuples, as a table that an SQLiteDataset reads.

    path: the file, created if missing; its other tables are kept; table: its name; columns: their names, None
    for the keys of the first dict; replace: whether to replace an existing table. The write is atomic:
    all rows or none. A value is None, a number, a string or bytes, or a 0-d array or tensor; SQLite stores
    NaN as NULL.
    ValueError for other values, with the row's number, and for an existing table without `replace`.
    """
    call, target = f"write_sqlite('{path}', {table!r})", Path(path)
    if not target.parent.is_dir():
        raise ValueError(f"{call}: the folder '{target.parent}' does not exist: create it")
    each = iter(rows) if isinstance(rows, Iterable) else (rows[i] for i in range(len(rows)))
    # the first row names the columns; it is chained in front of the others again
    head = list(islice(each, 1))
    names = _names(head, rows, columns, call)
    values = _check_rows(chain(head, each), names, columns is None, call)
    new_table = TableWriter(table, names, values, replace, call)
    if target.exists():
        new_table.write(target)
    else:
        write_whole(target, partial(new_table.write, alone=True))


@dataclass
class TableWriter:
    """Writes the rows of one table."""

    name: str
    columns: list[str]
    rows: Iterator[list[Any]]
    replace: bool
    call: str

    def write(self, path: Path, alone: bool = False) -> None:
        """Write in one transaction. `alone`: no other process uses this file, and it is removed on
        failure, so it needs no journal and no locks (on macOS they would conflict with the lock of
        `write_whole`)."""
        import sqlite3

        uri = path.absolute().as_uri() + ("?nolock=1" if alone else "")
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
                if alone:
                    db.execute("PRAGMA journal_mode = OFF")
                # takes the write lock at once, so that two writers fail at the start and not at the commit
                db.execute("BEGIN IMMEDIATE")
                self._fill(db)
                db.execute("COMMIT")
        except sqlite3.Error as error:
            fix = "use a path and names that SQLite accepts"
            raise ValueError(f"{self.call}: {error}: {fix}") from None

    def _fill(self, db: Any) -> None:
        same = db.execute(
            "SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE", (self.name,)
        ).fetchall()
        if self.replace:
            db.execute(f"DROP TABLE IF EXISTS {_quote(self.name)}")
        elif same:
            raise ValueError(
                f"{self.call}: the table already exists: choose another name, or pass replace=True"
            )
        # columns without a type keep values as they are: the text "1" stays a text
        db.execute(f"CREATE TABLE {_quote(self.name)} ({', '.join(map(_quote, self.columns))})")
        places = ", ".join("?" * len(self.columns))
        db.executemany(f"INSERT INTO {_quote(self.name)} VALUES ({places})", self.rows)


def _names(head: list[Any], rows: Any, columns: Sequence[str] | None, call: str) -> list[str]:
    """Return the column names: the argument, the keys of the first dict, or the names that `rows` has."""
    first_keys = list(head[0]) if head and is_mapping(head[0]) else None
    names: list[Any] = list(columns or first_keys or getattr(rows, "columns", None) or ())
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{call}: its columns have no names: pass columns, one name for each")
    if any(name.lower() == "rowid" for name in names):
        raise ValueError(f"{call}: SQLite uses the name 'rowid' for row numbers: rename that column")
    return names


def _check_rows(rows: Iterable[Any], names: list[str], all_keys: bool, call: str) -> Iterator[list[Any]]:
    for i, row in enumerate(rows):
        try:
            yield [_value(value, name) for name, value in zip(names, _parts(row, names, all_keys))]
        except _Unfit as error:
            raise ValueError(f"{call}: row {i}: {error}") from None


class _Unfit(Exception):
    """A value of a row that can't be written, with a remedy."""


def _parts(row: Any, names: list[str], all_keys: bool) -> Sequence[Any]:
    """Return a row's values in the order of the columns. `all_keys`: reject other keys of a dict."""
    if is_mapping(row):
        if missing := [name for name in names if name not in row]:
            raise _Unfit(f"no {missing[0]!r}: use the same keys in each row, with None for missing values")
        if all_keys and len(row) > len(names):
            more = next(key for key in row if key not in names)
            raise _Unfit(f"{more!r} is not a column: use the same keys in each row, or pass columns")
        return [row[name] for name in names]
    if not is_sequence(row):
        raise _Unfit(f"it is a {type(row).__name__}: pass dicts, or tuples with columns")
    if len(row) != len(names):
        raise _Unfit(f"{len(row)} values for {len(names)} columns: pass one for each")
    return row


def _value(value: Any, name: str) -> Any:
    """Convert a value to a type of SQLite."""
    # 0-d arrays and tensors; a tensor on a device is read here
    plain = value.item() if getattr(value, "shape", None) == () else value
    if isinstance(plain, int):
        if not -(2**63) <= plain < 2**63:
            raise _Unfit(f"column {name!r}: {plain} has more than 64 bits: store it as a float or a string")
    elif isinstance(plain, str):
        if not plain.isascii() and any("\ud800" <= letter <= "\udfff" for letter in plain):
            raise _Unfit(f"column {name!r}: the string has a lone surrogate: store it as bytes")
    elif plain is not None and not isinstance(plain, float | bytes):
        shape = getattr(plain, "shape", None)
        kind = f"{type(plain).__name__} {list(shape)}" if shape else type(plain).__name__
        rule = "only numbers, strings and bytes are supported: store its bytes, or one column for each number"
        raise _Unfit(f"column {name!r}: it is a {kind}: {rule}")
    return plain


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
