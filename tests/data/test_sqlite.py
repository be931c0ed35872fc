"""Tables of SQLite files, read and written, against Python's sqlite3."""

import os
import signal
import sqlite3
import subprocess
import sys
import weakref
from collections import namedtuple
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from helpers.paths import ROOT

import flambeau as fb
from flambeau import data
from flambeau.data import DataLoader


def rows_of(path, query):
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def said(call, root):
    with pytest.raises(ValueError) as e:
        call()
    return str(e.value).replace(str(root), "T")


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "numbers.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE t (x)")
        db.execute("INSERT INTO t VALUES (5)")
    return path


def test_sqlite(tmp_path):
    path = tmp_path / "some?mode=memory#ü.db"  # no part of this is an option
    with closing(sqlite3.connect(path)) as db, db:
        db.execute('CREATE TABLE "some rows" (x REAL, label INTEGER, name TEXT)')
        db.executemany('INSERT INTO "some rows" VALUES (?, ?, ?)', [(i / 2, i, f"n{i}") for i in range(6)])
        db.execute('DELETE FROM "some rows" WHERE label = 2')
    rows = data.SQLiteDataset(path, "some rows")
    assert len(rows) == 5 and rows[2] == (1.5, 3, "n3") == rows[-3] and rows.columns == ["x", "label", "name"]
    few = data.SQLiteDataset(path, "some rows", ["label", "x"])
    found = [[p.tolist() for p in batch] for batch in DataLoader(few, 3, num_workers=2)]
    assert found == [[[0, 1, 3], [0, 0.5, 1.5]], [[4, 5], [2, 2.5]]]


ODD = 'ta"ble; drop ü'


def test_write_and_read(tmp_path):
    """Odd names and every kind of value; columns have no type, so that none is changed."""
    path = tmp_path / "a?b#ü.db"
    rows = [
        {"x": 1, 'a "b"': "1", "select": None},
        {"x": 2**63 - 1, 'a "b"': "ü\0♪", "select": b"\0\xff"},
        {"select": np.float32(0.1), "x": np.int64(-3), 'a "b"': np.str_("s")},
        {"x": True, 'a "b"': np.bool_(False), "select": np.array(7, np.uint8)},
        {"x": fb.tensor(1.5, device="cpu"), 'a "b"': float("nan"), "select": float("inf")},
    ]
    data.write_sqlite(path, ODD, rows)
    expected = [
        (1, "1", None),
        (2**63 - 1, "ü\0♪", b"\0\xff"),
        (-3, "s", float(np.float32(0.1))),
        (1, 0, 7),
        (1.5, None, float("inf")),
    ]
    found = rows_of(path, f'SELECT * FROM "{ODD.replace(chr(34), chr(34) * 2)}"')
    assert found == expected and [list(map(type, r)) for r in found] == [list(map(type, r)) for r in expected]
    read = data.SQLiteDataset(path, ODD)
    assert list(read) == expected and read.columns == ["x", 'a "b"', "select"]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


Point = namedtuple("Point", "x y")


def torch_like(items):
    """A dataset that has a length and items, and no end that iterating would find."""
    return type(
        "Set", (), {"__len__": lambda _: len(items), "__getitem__": lambda _, i: items[i % len(items)]}
    )()


@pytest.mark.parametrize(
    "rows, columns",
    [
        ([(1, 0.5), (2, 1.5)], ["a", "b"]),
        ([[1, 0.5], [2, 1.5]], ("a", "b")),
        (iter([Point(1, 0.5), Point(2, 1.5)]), ["a", "b"]),
        (data.TensorDataset(np.array([1, 2]), np.array([0.5, 1.5])), ["a", "b"]),
        (data.Columns({"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"]}), ["a", "b"]),
        (data.Columns({"a": [1, 2], "b": [0.5, 1.5]}), None),
        (torch_like([(1, 0.5), (2, 1.5)]), ["a", "b"]),
    ],
)
def test_datasets(tmp_path, rows, columns):
    data.write_sqlite(tmp_path / "a.db", "t", rows, columns)
    assert rows_of(tmp_path / "a.db", "SELECT a, b FROM t") == [(1, 0.5), (2, 1.5)]
    x, y = next(iter(DataLoader(data.SQLiteDataset(tmp_path / "a.db", "t"), 2, num_workers=2)))
    assert x.tolist() == [1, 2] and y.tolist() == [0.5, 1.5]


def test_a_row_that_another_deleted_is_told(tmp_path, numbers):
    rows = data.SQLiteDataset(numbers, "t")
    assert rows[0] == (5,)
    with closing(sqlite3.connect(numbers)) as db, db:
        db.execute("DELETE FROM t")
    rule = "row 1 was deleted after the dataset was opened: open it again"
    assert said(lambda: rows[0], tmp_path) == f"SQLiteDataset('T/numbers.db', 't'): {rule}"


def test_no_rows(tmp_path):
    data.write_sqlite(tmp_path / "a.db", "t", [], ["x", "y"])
    empty = data.SQLiteDataset(tmp_path / "a.db", "t")
    assert len(empty) == 0 and empty.columns == ["x", "y"]
    data.write_sqlite(tmp_path / "a.db", "copy", empty)  # which knows its columns
    assert data.SQLiteDataset(tmp_path / "a.db", "copy").columns == ["x", "y"]


def test_a_table_beside_others(numbers):
    """A view and a table stay; what is replaced may be what is read."""
    data.write_sqlite(numbers, "u", [{"y": i} for i in range(3)])
    assert rows_of(numbers, "SELECT x FROM t") == [(5,)] and len(data.SQLiteDataset(numbers, "u")) == 3
    doubled = data.Mapped(data.SQLiteDataset(numbers, "u"), lambda y: {"y": 2 * y})
    data.write_sqlite(numbers, "u", doubled, replace=True)
    assert list(data.SQLiteDataset(numbers, "u")) == [(0,), (2,), (4,)]
    data.write_sqlite(numbers, "v", [{"z": 1}], replace=True)  # there was none
    assert rows_of(numbers, "SELECT z FROM v") == [(1,)]


def test_whole_or_nothing(tmp_path, numbers):
    """Rows that end in an error leave no file, and a file as it was, a table that was to be replaced too."""

    def failing():
        for i in range(20_000):  # more than SQLite holds back from the file
            yield {"x": "x" * 500 + str(i)}
        raise OSError("the source is gone")

    before = numbers.read_bytes()
    for path, replace in ((tmp_path / "new.db", False), (numbers, True)):
        with pytest.raises(OSError, match="^the source is gone$"):
            data.write_sqlite(path, "t", failing(), replace=replace)
    assert [p.name for p in tmp_path.iterdir()] == ["numbers.db"]
    assert numbers.read_bytes()[100:] == before[100:] and rows_of(numbers, "SELECT * FROM t") == [(5,)]


KILLED = """
import os, signal, sys
from flambeau import data

def rows():
    for _ in range(20_000):
        yield {"x": "x" * 500}
    os.kill(os.getpid(), signal.SIGKILL)

data.write_sqlite(sys.argv[1], "t", rows(), replace=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_writer(tmp_path, numbers):
    """A new file is not there; one that is has its table as it was, for a reader too. The next sweeps."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    new, before = tmp_path / "new.db", numbers.stat().st_size
    for path in (new, numbers):
        done = subprocess.run([sys.executable, "-c", KILLED, path], env=env)
        assert done.returncode == -signal.SIGKILL
    assert not new.exists() and numbers.stat().st_size > before
    assert list(data.SQLiteDataset(numbers, "t")) == [(5,)] and numbers.stat().st_size == before
    data.write_sqlite(new, "t", [{"x": 1}])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.db", "numbers.db"]


class Row(dict):
    """A dict that a weak reference can be to."""


def test_many_rows_are_not_held(tmp_path):
    """They are taken one by one: at most the one before is still there."""
    refs, held = [], []

    def rows():
        for i in range(5000):
            row = Row(i=i)
            refs.append(weakref.ref(row))
            yield row
            del row
            held.append(sum(ref() is not None for ref in refs[-10:]))

    data.write_sqlite(tmp_path / "a.db", "t", rows())
    assert rows_of(tmp_path / "a.db", "SELECT count(*), sum(i) FROM t") == [(5000, 5000 * 4999 // 2)]
    assert max(held[10:]) <= 1


VALUES = "only numbers, strings and bytes are supported: store its bytes, or one column for each number"
BAD_ROWS = [
    (
        [{"x": 1}, {"y": 1}],
        None,
        ("row 1: no 'x': use the same keys in each row, with None for missing values"),
    ),
    (
        [{"x": 1}, {"x": 1, "y": 2}],
        None,
        ("row 1: 'y' is not a column: use the same keys in each row, or pass columns"),
    ),
    ([(1, 2), (1,)], ["a", "b"], "row 1: 1 values for 2 columns: pass one for each"),
    (["ab"], ["a", "b"], "row 0: it is a str: pass dicts, or tuples with columns"),
    ([(np.zeros((2, 3)),)], ["a"], f"row 0: column 'a': it is a ndarray [2, 3]: {VALUES}"),
    ([{"a": 1}, {"a": [1, 2]}], None, f"row 1: column 'a': it is a list: {VALUES}"),
    ([(1j,)], ["a"], f"row 0: column 'a': it is a complex: {VALUES}"),
    ([(np.datetime64("2020-01-01"),)], ["a"], f"row 0: column 'a': it is a date: {VALUES}"),
    (
        [(0,), (2**63,)],
        ["a"],
        "row 1: column 'a': 9223372036854775808 has more than 64 bits: store it as a float or a string",
    ),
    ([("\ud83d",)], ["a"], "row 0: column 'a': the string has a lone surrogate: store it as bytes"),
]


@pytest.mark.parametrize("rows, columns, told", BAD_ROWS, ids=[told for *_, told in BAD_ROWS])
def test_bad_rows(tmp_path, rows, columns, told):
    path = tmp_path / "a.db"
    assert said(lambda: data.write_sqlite(path, "t", rows, columns), tmp_path) == (
        f"write_sqlite('T/a.db', 't'): {told}"
    )
    assert not list(tmp_path.iterdir())


def test_errors_of_writing(tmp_path, numbers):
    def told(name, table, rows, columns=None, **kwargs):
        return said(lambda: data.write_sqlite(tmp_path / name, table, rows, columns, **kwargs), tmp_path)

    call, row = "write_sqlite('T/numbers.db', ", [{"x": 1}]
    assert told("numbers.db", "T", row) == (
        f"{call}'T'): the table already exists: choose another name, or pass replace=True"
    )
    fix = "use a path and names that SQLite accepts"
    assert told("a.db", "t", [(1, 2)], ["x", "X"]) == (
        f"write_sqlite('T/a.db', 't'): duplicate column name: X: {fix}"
    )
    (tmp_path / "text.db").write_text("no database " * 100)
    assert told("text.db", "t", row) == f"write_sqlite('T/text.db', 't'): file is not a database: {fix}"
    assert told("none/a.db", "t", row) == (
        "write_sqlite('T/none/a.db', 't'): the folder 'T/none' does not exist: create it"
    )
    nameless = f"{call}'u'): its columns have no names: pass columns, one name for each"
    assert [told("numbers.db", "u", rows) for rows in ([], [(1,)], [{}], [{1: 2}])] == [nameless] * 4
    assert told("numbers.db", "u", [{"RowID": 1}]) == (
        f"{call}'u'): SQLite uses the name 'rowid' for row numbers: rename that column"
    )
    assert rows_of(numbers, "SELECT name FROM sqlite_master") == [("t",)]


def test_errors_of_reading(tmp_path, numbers, monkeypatch):
    assert said(lambda: data.SQLiteDataset(tmp_path / "no.db", "t"), tmp_path) == (
        "SQLiteDataset('T/no.db'): no such file: check the path"
    )
    assert said(lambda: data.SQLiteDataset(numbers, "u"), tmp_path) == (
        "SQLiteDataset('T/numbers.db', 'u'): no such table: u: name a table of the file"
    )
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))  # nobody waits for a lock
    with closing(sqlite3.connect(numbers)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert said(lambda: data.SQLiteDataset(numbers, "t"), tmp_path) == (
            "SQLiteDataset('T/numbers.db', 't'): database is locked: try again once the writer has finished"
        )
    assert said(lambda: data.SQLiteDataset(numbers, "t", ["y"]), tmp_path) == (
        "SQLiteDataset('T/numbers.db', 't'): no column 'y': name a column of the table"
    )
