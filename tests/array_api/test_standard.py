"""The array API's functions against NumPy's of the same names: values, shapes and dtypes."""

import itertools
from enum import IntEnum

import numpy as np
import pytest

import flambeau as fb
from flambeau import array_api as xp

KINDS = {"b": "bool", "i": "int8 int32 int64", "u": "uint8 uint32", "f": "float32 float64"}
KINDS["c"] = "complex64 complex128"
# functions: the kinds they take
OF_ONE = {
    "abs negative positive sign square round": "iufc",
    "ceil floor trunc": "iuf",
    "isfinite isinf isnan": "iufc",
    "acos asin atan atanh": "fc",
    "acosh asinh cos cosh exp expm1 log log10 log1p log2 sin sinh sqrt tan tanh reciprocal": "fc",
    "conj imag real": "c",
    "signbit": "f",
    "bitwise_invert": "biu",
    "logical_not": "b",
}
OF_TWO = {
    "add multiply subtract": "iufc",
    "divide": "fc",
    "floor_divide maximum minimum remainder greater greater_equal less less_equal": "iuf",
    "pow": "iufc",
    "equal not_equal": "biufc",
    "atan2 copysign hypot logaddexp nextafter": "f",
    "bitwise_and bitwise_or bitwise_xor": "biu",
    "bitwise_left_shift bitwise_right_shift": "iu",
    "logical_and logical_or logical_xor": "b",
}
REDUCING = {
    "sum prod count_nonzero": "iufc",
    "max min": "iuf",
    "mean": "fc",
    "std var": "f",
    "all any": "bif",
}


def rows(table):
    return [(name, kinds) for names, kinds in table.items() for name in names.split()]


def array(dtype, shape=(2, 3, 4), seed=0):
    """Numbers that are not 0 and small; those of floats are below 1 in the first row."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) > 0.5
    numbers = rng.integers(1, 5, shape) * (1 if dtype[0] == "u" else rng.choice([-1, 1], shape))
    numbers = numbers if dtype[0] in "iu" else numbers / 8
    return (numbers + 1j * rng.normal(size=shape) if dtype[0] == "c" else numbers).astype(dtype)


def converted(value):
    if isinstance(value, np.ndarray):
        return xp.asarray(value)
    if isinstance(value, list | tuple):
        return type(value)(map(converted, value))
    return getattr(xp, np.dtype(value).name) if isinstance(value, type | np.dtype) else value


def check(name, *args, by=None, tol=1e-5, **kw):
    """The function's result is that of NumPy's (or `by`), in the same shapes and dtypes."""
    theirs, mine = np, xp
    for part in name.split("."):
        theirs, mine = getattr(theirs, part, None), getattr(mine, part)
    with np.errstate(all="ignore"):
        want = (by or theirs)(*args, **kw)
    with fb.device("cpu"):
        got = mine(*converted(args), **{k: converted(v) for k, v in kw.items()})
    want, got = ([r] if not isinstance(r, list | tuple) else list(r) for r in (want, got))
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        w = np.asarray(w)
        assert (g.shape, g.dtype.name) == (w.shape, w.dtype.name)
        np.testing.assert_allclose(g.numpy(), w, rtol=tol, atol=tol)


def dtypes(kinds):
    return [dtype for kind in kinds for dtype in KINDS[kind].split()]


@pytest.mark.parametrize("name, kinds", rows(OF_ONE))
def test_functions_of_one_array(name, kinds):
    for dtype in dtypes(kinds):
        given = array(dtype)
        given = (
            np.abs(given) if name in ("log", "log10", "log1p", "log2", "sqrt") and dtype[0] == "f" else given
        )
        given = np.abs(given) + given.dtype.type(1) if name == "acosh" else given
        for x in (given, given[:0], np.asarray(given[0, 0, 0])):
            check(name, x)


@pytest.mark.parametrize("name, kinds", rows(OF_TWO))
def test_functions_of_two_arrays_and_numbers(name, kinds):
    for one, other in itertools.product(dtypes(kinds), repeat=2):
        a, b = array(one), array(other, (4,), 1)
        if (a.dtype.kind in "iu") != (b.dtype.kind in "iu"):
            continue  # the standard leaves it open
        if name in ("pow", "bitwise_left_shift", "bitwise_right_shift"):
            a, b = np.abs(a).astype(one), np.abs(b).astype(other)
        if name == "subtract" and "u" in a.dtype.kind + b.dtype.kind:
            a = a + a.dtype.type(5)
        check(name, a, b, tol=1e-4)
        check(name, a, np.asarray(b[0]), tol=1e-4)  # an array without axes promotes as others do
    for dtype in dtypes(kinds):
        number = {"b": True, "f": 1.5, "c": 1 + 2j}.get(np.dtype(dtype).kind, 2)
        check(name, np.abs(array(dtype)).astype(dtype), number, tol=1e-4)
        check(name, number, np.abs(array(dtype)).astype(dtype), tol=1e-4)


@pytest.mark.parametrize("name, kinds", rows(REDUCING))
def test_reductions(name, kinds):
    for dtype, axis, keepdims in itertools.product(dtypes(kinds), (None, -1, (0, 2), ()), (False, True)):
        check(name, array(dtype), axis=axis, keepdims=keepdims, tol=1e-4)
    check(name, np.asarray(array("float32")[0, 0, 0]))
    if name not in ("max", "min", "std", "var", "mean"):
        check(name, array("float32")[:0])


def test_places_and_sums_on_the_way():
    for dtype in dtypes("iuf"):
        x = array(dtype)
        for axis, keepdims in itertools.product((None, 0, -1), (False, True)):
            check("argmax", x, axis=axis, keepdims=keepdims)
            check("argmin", x, axis=axis, keepdims=keepdims)
        for name in ("cumulative_sum", "cumulative_prod"):
            check(name, x[0, 0], include_initial=True)
            check(name, x, axis=1, include_initial=True, tol=1e-4)
            check(name, x, axis=-1, dtype=np.float32, tol=1e-4)


x, v = array("float32"), array("int32", (5,))
MOVES = [
    ("concat", [x, x], {"axis": None}), ("concat", [x, x], {"axis": -1}), ("stack", [x, x], {"axis": -1}),
    ("unstack", x, {"axis": 1}), ("expand_dims", x, {"axis": (0, 2)}), ("expand_dims", x, {"axis": -1}),
    ("squeeze", x[:1, :, :1], {"axis": (0, 2)}), ("flip", x, {}), ("flip", x, {"axis": (0, -1)}),
    ("roll", x, 3, {}), ("roll", x, 1, {"axis": (0, 2)}), ("tile", x, (2, 1, 1, 2), {}), ("repeat", x, 2, {}),
    ("repeat", v, np.array([1, 0, 2, 1, 3]), {}), ("moveaxis", x, (0, 1), (2, 0), {}),
    ("reshape", x, (-1,), {}), ("permute_dims", x, (2, 0, 1), {}), ("broadcast_arrays", x, x[:1], {}),
    ("matrix_transpose", x, {}),
    ("broadcast_to", v, (3, 5), {}), ("take", v, np.array([-1, 0]), {}), ("tril", x, {"k": 1}),
    ("take", x, np.array([1, 0]), {"axis": 1}), ("triu", x, {"k": -1}), ("diff", x, {"axis": 1}),
    ("take_along_axis", x, np.zeros((2, 1, 4), "i8"), {"axis": 1}), ("diff", v, {"n": 2}),
    ("nonzero", v > 0, {}), ("where", x > 0, x, 2.0, {}), ("where", x > 0, 2.0, x, {}),
    ("where", v > 0, v, np.asarray(v[0]), {}),
    ("clip", x, -0.1, 0.2, {}), ("clip", v, 0, 2, {}), ("sort", x, {"axis": 1}), ("argsort", x, {"axis": 0}),
    ("searchsorted", np.sort(v), v, {"side": "right"}), ("searchsorted", v, v, {"sorter": np.argsort(v)}),
    ("unique_all", v, {}), ("unique_counts", v, {}), ("unique_inverse", x, {}), ("full", (2, 3), 7, {}),
    ("full", (2,), True, {}), ("full", (), 1j, {"dtype": np.complex64}), ("zeros", 3, {"dtype": np.int8}),
    ("ones", (), {"dtype": np.float32}), ("arange", 5, {}), ("arange", 5, 1, -2, {}), ("arange", 5, 1, {}),
    ("linspace", 0, 1, 5, {"endpoint": False, "dtype": np.float32}),
    ("eye", 4, 3, {"k": -2, "dtype": np.int8}), ("linspace", 3, -2, 1, {"dtype": np.float32}),
    ("full_like", v, 2, {}), ("meshgrid", v, v[:2], {}),
    ("meshgrid", v, v[:2], x[0, 0], {"indexing": "ij"}), ("meshgrid", {}), ("count_nonzero", v, {}),
    ("tensordot", x, x.swapaxes(0, 2), {"axes": 1}), ("vecdot", x + 1j, x, {}),
    ("matmul", x, x.swapaxes(1, 2), {}),
]  # fmt: skip


@pytest.mark.parametrize("row", MOVES, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(MOVES)])
def test_functions_that_move_and_make(row):
    name, *args, kw = row
    check(name, *args, **kw)


square = array("float64", (2, 3, 3)) + 3 * np.eye(3)
LINALG = [
    ("det", square, {}), ("inv", square, {}), ("slogdet", square, {}), ("svdvals", x, {}), ("pinv", x, {}),
    ("solve", square, square[0, 0], {}), ("solve", square, square[0], {}), ("solve", square[0], square, {}),
    ("solve", array("float64", (3, 3, 3)) + 3 * np.eye(3), square[0], {}), ("matrix_rank", x, {}),
    ("cholesky", square @ square.swapaxes(1, 2), {}), ("eigvalsh", square @ square.swapaxes(1, 2), {}),
    ("matrix_power", square, -2, {}), ("matrix_power", square, 0, {}), ("trace", x, {"offset": 1}),
    ("trace", array("uint8"), {}), ("diagonal", x, {"offset": -1}), ("outer", v, v, {}),
    ("cross", square, square[0], {}), ("vecdot", square, square[0, 0], {}),
    ("matrix_norm", x, {"ord": "nuc"}), ("matrix_norm", x, {"ord": -2, "keepdims": True}),
    ("vector_norm", x, {}),
    ("vector_norm", x, {"axis": ()}), ("vector_norm", x, {"axis": (0, 2), "ord": 3, "keepdims": True}),
    ("vector_norm", x, {"ord": float("-inf")}),
]  # fmt: skip


@pytest.mark.parametrize("row", LINALG, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(LINALG)])
def test_linear_algebra(row):
    name, *args, kw = row
    check(f"linalg.{name}", *args, tol=1e-4, **kw)


def test_factors_make_the_matrix():
    with fb.device("cpu"):
        a = xp.asarray(square)
        q, r = xp.linalg.qr(a)
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        values, vectors = xp.linalg.eigh(a @ a.mT)
        again = (vectors * values[..., None, :]) @ vectors.mT
        for made, want in [(q @ r, a), ((u * s[..., None, :]) @ vh, a), (again, a @ a.mT)]:
            assert np.allclose(made.numpy(), want.numpy(), atol=1e-5)


def test_fourier_transforms():
    c = array("complex64")
    for name in ("fft", "ifft", "hfft"):
        check(f"fft.{name}", c, n=3, axis=1, norm="ortho")
    for name in ("fftn", "ifftn", "irfftn"):
        check(f"fft.{name}", c, s=(2, 3), axes=(0, 2))
    check("fft.rfft", x, n=7)
    check("fft.irfft", c, norm="forward")
    check("fft.rfftn", x)
    check("fft.ihfft", x)
    check("fft.fftshift", x, axes=(1,))
    check("fft.ifftshift", x)
    check("fft.fftfreq", 7, d=0.5, by=lambda n, d: np.fft.fftfreq(n, d).astype("f4"))
    check("fft.rfftfreq", 8, by=lambda n: np.fft.rfftfreq(n).astype("f4"))


def test_dtypes_and_what_they_promote_to():
    assert xp.isdtype(xp.uint8, ("bool", "integral")) and not xp.isdtype(xp.bool, "numeric")
    assert xp.isdtype(xp.complex64, "numeric") and xp.isdtype(xp.int8, xp.int8)
    with pytest.raises(ValueError, match=r"'float'\): unknown kind"):
        xp.isdtype(xp.int8, "float")
    for one, other in itertools.product(dtypes("iu"), repeat=2):
        assert xp.result_type(converted(np.dtype(one)), converted(np.dtype(other))).name == np.result_type(
            one, other
        )
    a = fb.zeros(2, dtype=fb.int8, device="cpu")
    assert xp.result_type(a, 1) is fb.int8 and xp.result_type(a, 1.0) is fb.float32
    assert xp.result_type(xp.float64, 1j) is fb.complex128 and xp.result_type(xp.bool, 2) is fb.int64
    # numbers of subclasses count as Python's
    assert xp.result_type(a, IntEnum("Level", "ONE").ONE) is fb.int8
    assert xp.result_type(a, np.complex128(1j)) is fb.complex64
    assert xp.can_cast(fb.int32, fb.int64) and not xp.can_cast(fb.int64, fb.int32)
    assert xp.finfo(fb.zeros(1, device="cpu")).bits == 32 and xp.iinfo(xp.int16).max == 32767


def test_copies_are_made_where_they_are_asked_for():
    a = fb.zeros(2, device="cpu")
    assert xp.asarray(a) is a and xp.astype(a, xp.float32, copy=False) is a and xp.asarray(a, copy=False) is a
    for made in (xp.asarray(a, copy=True), xp.astype(a, xp.float32), xp.reshape(a, (2,), copy=True)):
        made += 1
        assert a.tolist() == [0, 0] and made.tolist() == [1, 1]
    for wrong in (lambda: xp.asarray(a, dtype=xp.int8, copy=False), lambda: xp.asarray([1], copy=False)):
        with pytest.raises(ValueError, match="copy"):
            wrong()
    assert xp.asarray([a, a], device="cpu").shape == (2, 2)
    assert xp.asarray(np.ones(2), device="cpu").dtype is fb.float64


def test_arrays_of_numpy_see_values():
    a = fb.tensor([1.0, 2.0], device="cpu")
    assert np.asarray(a).flags.writeable and np.array(a, copy=True).flags.writeable
    seen = np.array(a, copy=False)
    assert np.shares_memory(seen, np.from_dlpack(a)) and not seen.flags.writeable
    with pytest.raises(ValueError, match=r"needs a copy of the value on cpu: allow copy"):
        np.array(a, dtype="f8", copy=False)


def test_the_namespace_tells_its_version_and_devices(device):
    a = fb.zeros(2, device=device)
    assert a.__array_namespace__(api_version="2024.12") is xp is fb.array_api
    with pytest.raises(ValueError, match=r"api_version='2019.01'\): unknown: use one of 2021.12"):
        a.__array_namespace__(api_version="2019.01")
    info = xp.__array_namespace_info__()
    assert device in [*info.devices(), device] and info.default_device() in info.devices()
    assert info.default_dtypes()["indexing"] is xp.argmax(a).dtype
    assert ("float64" in info.dtypes(device=device)) == (device.kind == "cpu")
    assert set(info.dtypes(kind="bool")) == {"bool"} and info.capabilities()["boolean indexing"]


def test_on_a_gpu(gpu):
    given = fb.tensor(x, device=gpu)
    with fb.device(gpu):
        assert xp.asarray(np.ones(2)).dtype is fb.float32
        assert xp.add(fb.tensor([1], dtype=fb.uint32), fb.tensor([-2], dtype=fb.int32)).tolist() == [-1]
        assert np.allclose(xp.std(given, axis=(0, 2)).numpy(), x.std((0, 2)), atol=1e-5)
        assert xp.unique_all(fb.tensor(v))[1].tolist() == np.unique_all(v).indices.tolist()
        assert xp.round(fb.tensor([1.5 + 2.5j])).tolist() == [2 + 2j]
        with pytest.raises(ValueError, match="allow copy"):
            np.array(given, copy=False)
        with pytest.raises(BufferError, match="shares no memory"):
            given.__dlpack__(copy=False)


def test_values_and_shapes_at_the_edges():
    with fb.device("cpu"):
        assert np.array_equal(xp.sign(fb.tensor([np.nan, -2.0])).numpy(), [np.nan, -1], equal_nan=True)
        for wrong in (lambda: xp.nonzero(fb.tensor(1)), lambda: xp.linalg.outer(xp.ones((2, 2)), xp.ones(2))):
            with pytest.raises(ValueError):
                wrong()
        assert xp.vecdot(xp.ones((3, 1, 4)), xp.ones((2, 4))).tolist() == [[4.0, 4.0]] * 3
        assert xp.linalg.inv(xp.ones((0, 0))).shape == (0, 0) and float(xp.linalg.det(xp.ones((0, 0)))) == 1
        assert xp.reshape(xp.ones((0, 3)), (-1, 3)).shape == (0, 3)
        assert xp.diff(xp.asarray([1, 4]), n=5).shape == (0,)
