"""What dtypes promote to: torch.result_type's own tables, as data, and what is known of each dtype."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.core.dtype import DTYPES

# torch.result_type of (row, column): both with dims, then the column 0-d

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32"]
WITH_DIMS = """
bool uint8 int8 int16 int32 int64 float16 bfloat16 float32
uint8 uint8 int16 int16 int32 int64 float16 bfloat16 float32
int8 int16 int8 int16 int32 int64 float16 bfloat16 float32
int16 int16 int16 int16 int32 int64 float16 bfloat16 float32
int32 int32 int32 int32 int32 int64 float16 bfloat16 float32
int64 int64 int64 int64 int64 int64 float16 bfloat16 float32
float16 float16 float16 float16 float16 float16 float16 float32 float32
bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 float32 bfloat16 float32
float32 float32 float32 float32 float32 float32 float32 float32 float32
"""
WITHOUT = """
bool uint8 int8 int16 int32 int64 float16 bfloat16 float32
uint8 uint8 uint8 uint8 uint8 uint8 float16 bfloat16 float32
int8 int8 int8 int8 int8 int8 float16 bfloat16 float32
int16 int16 int16 int16 int16 int16 float16 bfloat16 float32
int32 int32 int32 int32 int32 int32 float16 bfloat16 float32
int64 int64 int64 int64 int64 int64 float16 bfloat16 float32
float16 float16 float16 float16 float16 float16 float16 float16 float16
bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16
float32 float32 float32 float32 float32 float32 float32 float32 float32
"""
SCALARS = {  # beside a tensor of each of NAMES, with dims or without
    True: "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32",
    2: "int64 uint8 int8 int16 int32 int64 float16 bfloat16 float32",
    2.5: "float32 float32 float32 float32 float32 float32 float16 bfloat16 float32",
}


def table(text):
    return [line.split() for line in text.strip().splitlines()]


@pytest.mark.parametrize("text, shape", [(WITH_DIMS, (2,)), (WITHOUT, ())], ids=["dims", "0-d"])
def test_promotion_is_torchs(text, shape):
    for a, row in zip(NAMES, table(text)):
        for b, want in zip(NAMES, row):
            x, y = fb.ones(2, dtype=a, device="cpu"), fb.ones(shape, dtype=b, device="cpu")
            want = DTYPES[want]
            assert fb.result_type(x, y) is fb.result_type(y, x) is want, f"{a} with {b}"
            assert (x * y).dtype is (y * x).dtype is want
            assert (x == y).dtype is fb.bool_
            if shape:
                assert fb.promote_types(a, b) is want and (x[0] * y[0]).dtype is want


def test_promotion_of_numbers_is_torchs():
    for scalar, line in SCALARS.items():
        for a, want in zip(NAMES, table(line)[0]):
            for x in (fb.ones(2, dtype=a, device="cpu"), fb.ones((), dtype=a, device="cpu")):
                found = (x * scalar).dtype, (scalar * x).dtype, fb.result_type(x, scalar)
                if (a, scalar) != ("bool", True):  # products of bools are bools
                    assert all(f is DTYPES[want] for f in found), f"{a} with {scalar}"
    x = fb.tensor([0.1], dtype=fb.float16, device="cpu")
    assert (x == 0.1).item() and (x + 1 == 1.1).dtype is fb.bool_


def test_torch_itself_agrees(torch):
    shapes = ((2,), (2,), WITH_DIMS), ((2,), (), WITHOUT)
    for s, t, text in shapes:
        ones = lambda n, shape: torch.ones(shape, dtype=getattr(torch, n))  # noqa: E731
        found = [[str(torch.result_type(ones(a, s), ones(b, t)))[6:] for b in NAMES] for a in NAMES]
        assert found == [line.split() for line in text.strip().splitlines()]


def test_numbers_of_dtypes():
    f, b = fb.finfo(fb.float16), fb.finfo("bfloat16")
    assert (f.eps, f.max, f.min, f.tiny, f.bits) == (2**-10, 65504, -65504, 2**-14, 16)
    assert (b.eps, b.max, b.smallest_normal) == (0.0078125, float(np.float32(3.3895314e38)), 2**-126)
    assert fb.finfo(fb.float32).eps == np.finfo("f4").eps and fb.finfo("float32").max == np.finfo("f4").max
    assert [(fb.iinfo(d).min, fb.iinfo(d).max) for d in (fb.int8, fb.uint8)] == [(-128, 127), (0, 255)]
    assert (fb.iinfo(fb.int64).min, fb.iinfo("u64").max, fb.iinfo(int).bits) == (-(2**63), 2**64 - 1, 64)
    assert fb.promote_types(fb.uint32, fb.int64) is fb.promote_types(fb.uint64, fb.int32) is fb.int64
    assert fb.promote_types(fb.uint64, fb.uint8) is fb.uint64  # of unsigned ones, which PyTorch promotes not
    assert fb.half is fb.float16 and fb.can_cast(fb.int8, fb.uint8) and not fb.can_cast("float16", "int32")
    refused = [
        (lambda: fb.finfo(fb.int8), "finfo(int8): takes a float dtype: use iinfo"),
        (lambda: fb.iinfo("f16"), "iinfo(float16): takes an integer dtype: use finfo for floats"),
    ]
    for call, said in refused:
        with pytest.raises(TypeError) as e:
            call()
        assert str(e.value) == said


def test_a_scaled_sum_of_bools_is_bools():
    """As in PyTorch."""
    x, y = fb.tensor([True, False], device="cpu"), fb.tensor([False, True], device="cpu")
    assert fb.add(x, y, alpha=2).tolist() == [True, True] and fb.add(x, y, alpha=0).tolist() == [True, False]
    assert fb.add(x.int(), y, alpha=2).tolist() == [1, 2]


def test_the_default_integer_can_be_int32(device):
    assert fb.get_default_integer() is fb.int64 and fb.tensor(1).dtype is fb.arange(3).dtype is fb.int64
    fb.set_default_integer("int32")
    try:
        x = fb.tensor([3, 1, 2], device=device)
        made = [
            x,
            x.sum(),
            x.argmax(),
            x.bool() + 1,
            x.sort()[1],
            fb.arange(4),
            fb.tensor(np.arange(3)),
            x.bool().sum(),
        ]
        assert (
            {t.dtype for t in made} == {fb.int32} and fb.long is fb.int64 and x.long().sum().dtype is fb.int64
        )
        with pytest.raises(ValueError) as e:
            fb.tensor(2**31)
        assert (
            str(e.value) == "tensor(...): 2147483648 does not fit i32, which holds -2147483648 to 2147483647"
        )
        assert repr(fb.tensor(1)) == "tensor(1)"
    finally:
        fb.set_default_integer(fb.int64)
    assert repr(fb.tensor(1)) == "tensor(1)"
    assert repr(fb.tensor(1, dtype="i32")) == "tensor(1, dtype=flambeau.int32)"
    with pytest.raises(TypeError) as e:
        fb.set_default_integer("int8")
    assert str(e.value) == "set_default_integer(int8): must be int32 or int64"
