"""8-bit floats: what is stored, how numbers are rounded to them, and what they refuse."""

import io

import numpy as np
import pytest

import flambeau as fb
from flambeau.core import float8, host

NAMES = ("float8_e4m3fn", "float8_e5m2")
# numbers with their codes: rounded to even, subnormal, too large, NaN (arXiv:2209.05433, table 1)
EXAMPLES = {
    "float8_e4m3fn": {
        1.0: 0x38,
        -1.0625: 0xB8,
        1.1875: 0x3A,
        2.0**-9: 1,
        2.0**-10: 0,
        448.0: 0x7E,
        1e9: 0x7E,
    },
    "float8_e5m2": {
        1.0: 0x3C,
        -1.125: 0xBC,
        1.375: 0x3E,
        2.0**-16: 1,
        2.0**-17: 0,
        61439.0: 0x7B,
        61440.0: 0x7C,
    },
}


def numbers_of(dtype):
    """The numbers of a dtype, the midpoints between neighbours, and float32s beside them."""
    values = np.asarray(float8.values(dtype), "f4")
    values = np.sort(values[np.isfinite(values)])
    middle = (values[1:] + values[:-1]) / np.float32(2)
    beside = [np.nextafter(middle, np.float32(end)) for end in (-np.inf, np.inf)]
    ends = np.float32([np.inf, -np.inf, np.nan, 464, 480, 61440, 65536, 1e30, -1e30, 1e-30, -0.0])
    return np.concatenate([values, middle, *beside, ends]).astype("f4")


@pytest.mark.parametrize("name", NAMES)
def test_codes_of_numbers(name):
    dtype = getattr(fb, name)
    for number, code in EXAMPLES[name].items():
        assert fb.tensor([number], device="cpu").to(dtype).view(fb.uint8).tolist() == [code], number
        assert bytes(host.PACK[dtype]([number])) == bytes([code]), number  # without NumPy
    values = float8.values(dtype)
    numbers = numbers_of(dtype)
    codes = float8.codes_of(numbers, dtype)
    assert bytes(host.PACK[dtype](numbers.tolist())) == codes.tobytes()
    is_number = np.isfinite(numbers)
    off = np.abs(np.asarray(values, "f4")[codes][is_number] - numbers[is_number])
    finite = np.asarray([v for v in values if np.isfinite(v)])
    nearest = np.abs(finite[:, None] - np.clip(numbers[is_number], finite.min(), finite.max())).min(0)
    within = np.abs(numbers[is_number]) <= finite.max()
    np.testing.assert_array_equal(off[within], nearest[within])


@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_rounds_as_numpy(name):
    dtype = getattr(fb, name)
    numbers = numbers_of(dtype)
    x = fb.tensor(numbers)
    got = x.to(dtype).view(fb.uint8).numpy()
    np.testing.assert_array_equal(got, float8.codes_of(numbers, dtype))
    np.testing.assert_array_equal(
        x.to(dtype).float().numpy(), fb.tensor(numbers, device="cpu").to(dtype).numpy()
    )
    rows = x[:250].reshape(5, 50).to(dtype)
    turned = fb.cat([rows.t(), rows.t().flip(0)])[3:90:2]
    want = np.concatenate([rows.float().numpy().T, rows.float().numpy().T[::-1]])[3:90:2]
    np.testing.assert_array_equal(turned.float().numpy(), want)


def test_only_storage():
    x = fb.ones(3, device="cpu").to(fb.float8_e4m3fn)
    for call in (
        lambda: x + x,
        lambda: x.sum(),
        lambda: x.exp(),
        lambda: x + fb.ones(3, device="cpu"),
        lambda: fb.cat([x, fb.ones(3, device="cpu")]),
        lambda: x.to(fb.float8_e5m2) == x,
    ):
        with pytest.raises(NotImplementedError, match="float8_e4m3fn"):
            call()
    assert (x.float() + 1).tolist() == [2, 2, 2] and x.nbytes == 3 and x[0].item() == 1
    assert fb.tensor([1, 300], dtype=fb.float8_e4m3fn, device="cpu").tolist() == [1, 288]
    assert fb.finfo("float8_e5m2").max == 57344


@pytest.mark.parametrize("name", NAMES)
def test_torch_rounds_the_same(torch, name):
    ours, theirs = getattr(fb, name), getattr(torch, name)
    codes = np.arange(256, dtype=np.uint8)
    bits = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)
    numbers = np.concatenate([numbers_of(ours), bits.view("f4"), codes.view("i1").astype("f4")])
    want = torch.from_numpy(numbers).to(theirs).view(torch.uint8).numpy()
    np.testing.assert_array_equal(fb.tensor(numbers, device="cpu").to(ours).view(fb.uint8).numpy(), want)
    stored, known = fb.tensor(codes, device="cpu").view(ours), torch.from_numpy(codes).view(theirs)
    halves = np.arange(1 << 16, dtype=np.uint16)
    for wide, raw in (("float16", halves.view("f2")), ("bfloat16", halves.astype("u4") << 16)):
        values = raw.view("f4") if wide == "bfloat16" else raw.astype("f4")
        values = np.where(np.isnan(values), np.float32(1), values)
        there = torch.from_numpy(values).to(getattr(torch, wide)).to(theirs).view(torch.uint8).numpy()
        here = fb.tensor(values, device="cpu").to(getattr(fb, wide)).to(ours).view(fb.uint8).numpy()
        np.testing.assert_array_equal(here, there)
        a, b = stored.to(getattr(fb, wide)).float(), known.to(getattr(torch, wide)).float()
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    np.testing.assert_array_equal(stored.numpy(), known.float().numpy())
    file = io.BytesIO()
    fb.io.save_torch({"w": stored}, file)
    back = torch.load(io.BytesIO(file.getvalue()))["w"]
    assert back.dtype is theirs
    np.testing.assert_array_equal(back.float().numpy(), known.float().numpy())
