"""Files from strangers: whatever is changed in them, tensors come or one error, soon and in little memory."""

import json
import os
import random
import tracemalloc

import numpy as np
import pytest
from helpers.strangers import changed, good_files, tried

import flambeau as fb


def test_any_change_of_a_file_is_told_or_another_file(monkeypatch):
    ran = []
    monkeypatch.setattr(os, "system", lambda *_: ran.append(1))
    rng, refused, count = random.Random(5), 0, 0
    files = good_files()
    assert not any(tried(name, data) for name, data in files.items())
    tracemalloc.start()
    for name, whole in files.items():
        for _ in range(50):
            refused += tried(name, changed(whole, rng))
            count += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count * 0.5 < refused < count and peak < 20e6 and not ran


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_what_is_no_file_is_told(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path, kind in ((tmp_path / "fifo", "a FIFO"), ("/dev/zero", "a device")):
        for read in (fb.load, fb.io.load_torch, fb.io.load_gguf, fb.io.load_npz, fb.io.load_safetensors):
            with pytest.raises(fb.FlambeauError) as told:
                read(path)
            assert (
                str(told.value) == f"{read.__name__}({str(path)!r}): can't be read: it is {kind}, not a file"
            )
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(fb.FlambeauError, match="can't be read: "):
        fb.load(tmp_path / "loop")
    with pytest.raises(fb.FlambeauError, match="can't be read: embedded null byte"):
        fb.load("a\0b")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(fb.FlambeauError, match="it ends before its header"):
        fb.load(tmp_path / "empty")


def test_what_is_neither_a_path_nor_bytes_is_told(tmp_path):
    (tmp_path / "x").write_text("text")
    rule = "pass a path, bytes, or a file open in mode 'rb'"
    with open(tmp_path / "x") as f, pytest.raises(TypeError) as told:
        fb.load(f)
    assert str(told.value).endswith(f"): {rule}")
    with pytest.raises(TypeError) as told:
        fb.io.load_gguf(5)
    assert str(told.value) == f"load_gguf(5): {rule}"


def test_what_is_not_asked_for_is_not_read(tmp_path):
    """A file of 8 GB, which is nearly all hole: two numbers of it."""
    path, size = tmp_path / "large.safetensors", 1 << 30
    spans = [[i * size, (i + 1) * size] for i in range(8)]
    entries = {f"{i}": {"dtype": "U64", "shape": [size // 8], "data_offsets": s} for i, s in enumerate(spans)}
    entries["last"] = {"dtype": "F32", "shape": [2], "data_offsets": [8 * size, 8 * size + 8]}
    text = json.dumps(entries).encode()
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        f.truncate(8 + len(text) + 8 * size)
        f.seek(0, 2)
        f.write(np.array([1.5, 2.5], "f4").tobytes())
    tracemalloc.start()
    with fb.io.open_weights(path, "cpu") as weights:
        assert weights["last"].tolist() == [1.5, 2.5]
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_headers_that_would_take_much_memory_are_told():
    """Ten million empty lists in a header would be 600 MB."""
    text = b'{"a":[' + b"[]," * 3_000_000 + b"[]]}"
    data = len(text).to_bytes(8, "little") + text
    tracemalloc.start()
    with pytest.raises(fb.FlambeauError, match="more than tensors need"):
        fb.load(data)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
