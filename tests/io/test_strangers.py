"""Files from strangers: whatever is changed in them, tensors come or one error, soon and in little memory."""

import asyncio
import io
import json
import os
import random
import re
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import flambeau as fb
from flambeau.io import save_bytes, save_gguf

HERE = Path(__file__).parent / "made_by_torch"
WORDS = [b"\0\0\0\0", b"\xff" * 8, b"\x80\x02", b"PK\x03\x04", b"PK\x05\x06", b"(" * 9, b"]" * 9, b"R", b"."]
WORDS += [
    b"cos\nsystem\n",
    b"X\xff\xff\xff\xff",
    b"\x8a\xff",
    b"{",
    b"}",
    b"[" * 30,
    b"-1",
    b"9" * 30,
    b"'",
    b"GGUF",
]


def good_files() -> dict[str, bytes]:
    """One of each kind."""
    t = {"w": fb.arange(64, device="cpu").float().reshape(2, 32), "b": fb.tensor([True], device="cpu")}
    gguf, torch, npz, npy, deflated = (io.BytesIO() for _ in range(5))
    save_gguf({"w": t["w"], "i": t["w"].to(fb.int8)}, gguf, {"a": ["x", "y"], "n": [1, 2]}, quantize="Q4_0")
    np.savez(npz, a=np.arange(6.0), b=np.asfortranarray(np.ones((2, 3))))
    np.save(npy, np.ones((2, 3), "i2"))
    np.savez_compressed(deflated, a=np.arange(600.0))
    with zipfile.ZipFile(torch, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a/data.pkl", b"\x80\x02}X\x01\x00\x00\x00aK\x01s.")
    files = {p.name: p.read_bytes() for p in sorted(HERE.iterdir())}
    return files | {
        "safetensors": asyncio.run(save_bytes(t, {"by": "a test"})),
        "gguf": gguf.getvalue(),
        "npz": npz.getvalue(),
        "npy": npy.getvalue(),
        "deflated.npz": deflated.getvalue(),
        "deflated.pt": torch.getvalue(),
    }


def changed(whole: bytes, rng: random.Random) -> bytes:
    """A file after one to three changes: bytes set, removed, put in, repeated, moved, or the end cut off."""
    data = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(max(len(data), 1))
        kind = rng.randrange(7)
        if kind == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at : at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if at < len(data) else b""
        elif kind == 2:
            del data[at : at + rng.choice((1, 2, 9, 100))]
        elif kind == 3:
            word = rng.choice(WORDS)
            data[at : at + len(word) * rng.randrange(2)] = word
        elif kind == 4:
            data[at:at] = data[at : at + rng.choice((1, 8, 50))]
        elif kind == 5:
            other = rng.randrange(max(len(data), 1))
            data[at : at + 16] = data[other : other + 16]
        else:
            del data[at:]
    return bytes(data)


def sizes(found, seen=None) -> int:
    """Elements of all tensors of a nest."""
    seen = set() if seen is None else seen
    if id(found) in seen:
        return 0
    seen.add(id(found))
    if isinstance(found, fb.Tensor):
        return found.numel()
    if isinstance(found, dict | list | tuple):
        return sum(sizes(v, seen) for v in (found.values() if isinstance(found, dict) else found))
    return 0


def tried(name: str, data: bytes) -> bool:
    """Whether a file is refused; AssertionError where it takes long, much, or fails in another way."""
    began = time.process_time()
    try:
        sizes(fb.load(data, device="cpu"))
        refused = False
    except fb.FlambeauError as e:
        text = str(e)
        assert text.startswith("load(...): ") or re.match(r"element \d+ of ", text), text
        assert "\n" not in text and len(text) < 1200, text
        refused = True
    assert time.process_time() - began < 2, name
    return refused


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
    rule = "takes a path, bytes, or a file that is open for reading bytes (mode 'rb')"
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
