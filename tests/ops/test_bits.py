"""Tensors seen as elements of another dtype, against NumPy's views and bits written out; written through."""

import re

import numpy as np
import pytest

import flambeau as fb

WHOLE = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
NAMES = (*WHOLE, "float16", "float32", "float64", "complex64", "complex128")
PAIRS = (  # on GPUs: each way of making words, and each of making floats
    "float32 uint8, uint8 float32, float16 uint16, int16 float16, float32 int32, int64 float16,"
    " float32 int64, complex64 int16, int32 complex64"
)
EDGES = np.array([0, -0.0, 1, -2.5, 65504, 6e-5, 6e-8, -6e-8, np.inf, -np.inf, np.nan, 3e-6], "f2")


def bytes_of(name):
    """Drawn bytes, whose floats are numbers: NaNs may become others on their way."""
    rng = np.random.default_rng(1)
    if name.startswith(("float", "complex")):
        return rng.uniform(-3, 3, (2, 96)).astype("f4").astype(name)[:, : 96 // np.dtype(name).itemsize]
    return rng.integers(0, 120, (2, 96), dtype="u1").view(name)


def pairs(device):
    if device == "cpu":
        return [(a, b) for a in NAMES for b in NAMES]
    return [tuple(p.split()) for p in PAIRS.split(", ")]


def test_every_dtype_as_every_other(device):
    for was, now in pairs(device):
        x = bytes_of(was)
        given = fb.tensor(x, dtype=getattr(fb, was), device=device)
        got, want = given.view(getattr(fb, now)), x.view(now)
        assert got.dtype is getattr(fb, now) and got.shape == want.shape, (was, now)
        assert np.array_equal(got.numpy(), want, equal_nan=True), (was, now)


def test_halves_at_their_ends(device):
    given = fb.tensor(EDGES, device=device)
    bits = given.view(fb.uint16)
    found = ["nan" if b & 0x7FFF > 0x7C00 else hex(b) for b in bits.tolist()]  # a driver chooses NaN's bits
    assert " ".join(found) == "0x0 0x8000 0x3c00 0xc100 0x7bff 0x3ef 0x1 0x8001 0x7c00 0xfc00 nan 0x32"
    back = fb.tensor(EDGES.view("u2"), device=device).view(fb.float16)
    assert np.array_equal(back.numpy(), EDGES, equal_nan=True)
    assert np.array_equal(np.signbit(back.numpy()), np.signbit(EDGES))
    brain = fb.tensor([1.0, -2.0, 3.0e38, 0.0], dtype=fb.bfloat16, device=device)
    assert [hex(b) for b in brain.view(fb.uint16).tolist()] == ["0x3f80", "0xc000", "0x7f62", "0x0"]
    assert (brain.view(fb.int16).view(fb.bfloat16) == brain).all().item()


def test_bools_and_single_ones():
    x = fb.tensor([True, False, True, True], device="cpu")
    assert x.view(fb.uint8).tolist() == [1, 0, 1, 1] and x.view(fb.int32).tolist() == [0x01010001]
    assert fb.tensor([0, 1], dtype=fb.int8, device="cpu").view(fb.bool_).tolist() == [False, True]
    one = fb.tensor(1.0, device="cpu")
    assert one.view(fb.int32).item() == 0x3F800000 and one.view(fb.float32) is not None
    assert fb.tensor([1 + 2j], device="cpu").view(fb.float32).tolist() == [1, 2]
    assert fb.zeros(3, 0, device="cpu").view(fb.int8).shape == (3, 0)
    assert (
        fb.arange(6, device="cpu").view(2, 3).shape == (2, 3) == fb.arange(6, device="cpu").view((2, 3)).shape
    )


def test_written_through(device):
    x = fb.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    bits, halves = x.view(fb.int32), x.view(fb.uint16)
    bits[0, 1] = 0x40400000  # 3.0
    assert x.tolist() == [[1, 3], [3, 4]] and halves[0].tolist() == [0, 0x3F80, 0, 0x4040]
    x[1, 0] = -1.0
    assert bits[1, 0].item() == np.float32(-1).view("i4") and halves[1, 1].item() == 0xBF80
    halves[1, 3] = 0x4100  # 8.0
    assert x.tolist() == [[1, 3], [-1, 8]]


def test_what_fits_no_elements_is_told():
    x = fb.zeros(2, 3, dtype=fb.uint8, device="cpu")
    cases = {
        "the last dim of 3 is not a multiple of 4, the number": lambda: x.view(fb.float32),
        "elements of int8 have another": lambda: fb.tensor(1.0, device="cpu").view(fb.int8),
    }
    for text, call in cases.items():
        with pytest.raises(ValueError, match=re.escape(text)):
            call()


def test_no_doubles_on_a_gpu(gpu):
    with pytest.raises(TypeError, match="float64 is not on GPUs"):
        fb.zeros(2, dtype=fb.int64, device=gpu).view(fb.float64)


def test_agrees_with_torch(torch):
    for was, now in pairs("cpu"):
        x = bytes_of(was)
        want = torch.from_numpy(x).view(getattr(torch, now))
        got = fb.tensor(x, dtype=getattr(fb, was), device="cpu").view(getattr(fb, now))
        assert np.array_equal(got.numpy(), want.numpy(), equal_nan=True), (was, now)
    with pytest.raises(RuntimeError):
        torch.zeros(2, 3, dtype=torch.uint8).view(torch.float32)
    with pytest.raises(RuntimeError):
        torch.tensor(1.0).view(torch.int8)
