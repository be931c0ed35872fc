"""Datasets of files: tables, SQLite, images, lines, memory maps; what is said where a package is missing."""

import sqlite3
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import flambeau as fb
from flambeau import data
from flambeau.data import DataLoader


class Frame:
    """As much of polars' frames as a Columns takes."""

    def __init__(self, **columns):
        self.columns = {k: SimpleNamespace(to_numpy=lambda v=v: np.array(v)) for k, v in columns.items()}

    def to_dict(self):
        return self.columns


def test_tables(monkeypatch):
    asked = []
    frame = Frame(x=[1.5, 2.5, 3.5], name=["a", "b", "c"])
    polars = SimpleNamespace(read_csv=lambda p, columns: asked.append((p, columns)) or frame)
    monkeypatch.setitem(sys.modules, "polars", polars)
    table = data.read_table("some.csv", ("x", "name"))
    assert asked == [("some.csv", ["x", "name"])] and table[-1] == {"x": 3.5, "name": "c"} and len(table) == 3
    batch = next(iter(DataLoader(table, 2)))
    assert batch["x"].tolist() == [1.5, 2.5] and batch["name"].tolist() == ["a", "b"]
    assert data.Columns({"a": [1, 2]})[0] == {"a": 1}


def test_sqlite(tmp_path):
    path = tmp_path / "numbers.db"
    with sqlite3.connect(path) as db:
        db.execute('CREATE TABLE "some rows" (x REAL, label INTEGER, name TEXT)')
        db.executemany('INSERT INTO "some rows" VALUES (?, ?, ?)', [(i / 2, i, f"n{i}") for i in range(6)])
        db.execute('DELETE FROM "some rows" WHERE label = 2')
    db.close()
    rows = data.SQLiteDataset(path, "some rows")
    assert len(rows) == 5 and rows[2] == (1.5, 3, "n3") == rows[-3] and rows.columns == ["x", "label", "name"]
    few = data.SQLiteDataset(path, "some rows", ["label", "x"])
    found = [[p.tolist() for p in batch] for batch in DataLoader(few, 3, num_workers=2)]
    assert found == [[[0, 1, 3], [0, 0.5, 1.5]], [[4, 5], [2, 2.5]]]


def test_folders_of_images(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    for name, colour in (("cat", (255, 0, 0)), ("dog", (0, 0, 255))):
        (tmp_path / name).mkdir()
        for i in range(2):
            pillow.new("RGB", (3, 2), colour).save(tmp_path / name / f"{i}.png")
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    folder = data.ImageFolder(tmp_path)
    assert folder.classes == ["cat", "dog"] and folder.class_to_idx["dog"] == 1 and len(folder) == 4
    images, labels = next(iter(DataLoader(folder, 4, num_workers=2)))
    assert images.shape == (4, 2, 3, 3) and images.dtype is fb.uint8 and labels.tolist() == [0, 0, 1, 1]
    assert images[2, 0, 0].tolist() == [0, 0, 255]
    small = data.ImageFolder(tmp_path, lambda image: image.mean(), lambda path: np.ones(2) * len(path.stem))
    assert small[3] == (1.0, 1)


@pytest.mark.parametrize("text", ["a\nbb\n\nccc", "a\nbb\r\n\nccc\n", "", "\n", "é\nü"])
def test_lines(tmp_path, text):
    path = tmp_path / "some.txt"
    path.write_bytes(text.encode())
    lines = data.TextLines(path)
    assert list(lines) == text.splitlines() and len(lines) == len(text.splitlines())
    if text:
        assert lines[-1] == text.splitlines()[-1]
    assert [t for batch in DataLoader(lines, 2, num_workers=2) for t in batch] == text.splitlines()


def test_memory_maps(tmp_path):
    rows = np.arange(12, dtype="f4").reshape(4, 3)
    np.save(tmp_path / "rows.npy", rows)
    rows.tofile(tmp_path / "rows.bin")
    for mapped in (
        data.memory_map(tmp_path / "rows.npy"),
        data.memory_map(tmp_path / "rows.bin", "f4", (4, 3)),
    ):
        assert isinstance(mapped.tensors[0], np.memmap)
        (x,) = next(iter(DataLoader(mapped, 2)))
        assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_errors(tmp_path, monkeypatch):
    def said(kind, call):
        with pytest.raises(kind) as e:
            call()
        return str(e.value).replace(str(tmp_path), "T")

    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    path = tmp_path / "some.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    assert said(fb.FlambeauError, lambda: data.read_table("a.csv")) == (
        "read_table('a.csv'): needs polars, which is not installed: pip install 'flambeau[data]', or polars"
        " by itself"
    )
    assert said(fb.FlambeauError, lambda: data.read_image("a.png")) == (
        "read_image('a.png'): needs pillow, which is not installed: pip install 'flambeau[data]', or pillow"
        " by itself"
    )
    assert said(ValueError, lambda: data.read_table("a.xls")) == (
        "read_table('a.xls'): reads .csv and .parquet: give such a file"
    )
    assert said(ValueError, lambda: data.Columns({"a": [1], "b": []})) == (
        "Columns(a 1, b 0): lengths differ: give one or more columns of one length"
    )
    assert said(ValueError, lambda: data.SQLiteDataset(tmp_path / "no.db", "t")) == (
        "SQLiteDataset('T/no.db'): no such file: give one that is there"
    )
    assert said(ValueError, lambda: data.SQLiteDataset(path, "u")) == (
        "SQLiteDataset('T/some.db', 'u'): no such table: u: give a table of the file"
    )
    assert said(ValueError, lambda: data.SQLiteDataset(path, "t", ["y"])) == (
        "SQLiteDataset('T/some.db', 't'): no column 'y': give one of the table"
    )
    assert said(ValueError, lambda: data.ImageFolder(tmp_path)) == (
        "ImageFolder('T'): no images in it: give a folder that has one for each class"
    )
    assert said(ValueError, lambda: data.memory_map("a.bin")) == (
        "memory_map('a.bin'): a raw file says nothing of itself: give dtype and shape"
    )
