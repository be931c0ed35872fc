"""Datasets of files: tables, lines, memory maps; what is said where a package is missing."""

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
    polars = SimpleNamespace(read_csv=lambda p, columns, null_values: asked.append((p, columns)) or frame)
    monkeypatch.setitem(sys.modules, "polars", polars)
    table = data.read_table("some.csv", ("x", "name"))
    assert asked == [("some.csv", ["x", "name"])] and table[-1] == {"x": 3.5, "name": "c"} and len(table) == 3
    batch = next(iter(DataLoader(table, 2)))
    assert batch["x"].tolist() == [1.5, 2.5] and batch["name"].tolist() == ["a", "b"]
    assert data.Columns({"a": [1, 2]})[0] == {"a": 1}


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


def test_errors(monkeypatch):
    def said(kind, call):
        with pytest.raises(kind) as e:
            call()
        return str(e.value)

    monkeypatch.setitem(sys.modules, "polars", None)
    assert said(fb.FlambeauError, lambda: data.read_table("a.csv")) == (
        "read_table('a.csv'): needs polars, which is not installed: pip install"
        " 'flambeau[data]', or only polars"
    )
    assert said(ValueError, lambda: data.read_table("a.xls")) == (
        "read_table('a.xls'): only .csv and .parquet files are supported: pass one of these"
    )
    assert said(ValueError, lambda: data.Columns({"a": [1], "b": []})) == (
        "Columns(a 1, b 0): lengths differ: pass one or more columns of one length"
    )
    assert said(ValueError, lambda: data.memory_map("a.bin")) == (
        "memory_map('a.bin'): a raw file has no header: pass dtype and shape"
    )


def test_datasets_name_their_items():
    items = data.TensorDataset(fb.ones(1200, 2, device="cpu"))
    assert repr(items) == "TensorDataset(1,200 items)" and repr(data.Subset(items, [0])) == "Subset(1 items)"
    assert repr(data.Columns({"age": [1, 2], "city": ["a", "b"]})) == "Columns(2 rows of age, city)"
    assert repr(data.FakeData(6, num_classes=3)) == "FakeData(6 items)"
    assert repr(type("Mine", (data.Dataset,), {})()) == "Mine()"
