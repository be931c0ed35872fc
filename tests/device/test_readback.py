"""Large values come to the host by several threads, and are those that one copy would give."""

import mmap

import numpy as np
import pytest

import flambeau as fb
from flambeau.device import memory

SEED = 20261123


@pytest.fixture(params=["large pages", "without"])
def lower(request, monkeypatch):
    """Threads from 64 bytes on, in pieces of 32."""
    for name, value in (("LARGE", 64), ("PAGE", 32), ("THREADS", 4)):
        monkeypatch.setattr(memory, name, value)
    if request.param == "without":
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)


def test_drawn_sizes_are_read_as_they_were_written(gpu, lower):
    draw = np.random.default_rng(SEED)
    sizes = [0, 1, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, *draw.integers(66, 5000, 20)]
    arrays = [draw.integers(0, 1 << 32, n, dtype=np.uint32) for n in sizes]
    tensors = [fb.tensor(a) for a in arrays]
    for read, wrote in zip(fb.read(*tensors), arrays, strict=True):  # all of them out of one staging buffer
        assert np.array_equal(read, wrote)
    for t, wrote in zip(tensors, arrays, strict=True):
        assert np.array_equal(t.numpy(), wrote)


def test_what_is_read_stays_and_is_not_written_to(gpu, lower):
    x = fb.arange(1000)
    first = x.numpy()
    x += 1
    second = x.numpy()
    assert first[0] == 0 and second[0] == 1 and first[999] == 999
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 5


def test_files_of_what_threads_read_are_the_same(gpu, lower, tmp_path):
    x, y = fb.randn(40, 30), fb.arange(7)
    fb.save({"x": x, "y": y}, tmp_path / "a.safetensors")
    found = fb.load(tmp_path / "a.safetensors")
    assert np.array_equal(found["x"].numpy(), x.numpy()) and found["y"].tolist() == y.tolist()
