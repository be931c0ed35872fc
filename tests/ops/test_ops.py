"""Every row of the op table: values, dtypes, broadcasting, sizes, views, special values, fusion."""

import numpy as np
import pytest
from helpers.compare import check, close, values
from helpers.inputs import (
    KINDS,
    SIZED,
    arrays,
    declared,
    has_whole,
    host,
    main_kind,
    of_dtype,
    tensors,
    with_kernels,
)  # fmt: skip
from helpers.views import expanded, flipped, mixed, padded, sliced, transposed
from rows import ELEMENTWISE, FREE, ROWS, SOURCE, In

import flambeau as fb
from flambeau.core.op import COMPOSED, OPS
from flambeau.ops.contract import contract

BINARY = [n for n, r in ELEMENTWISE.items() if len(r.inputs) > 1]
PLAIN = [n for n in ROWS if n not in SOURCE]
SIZES = [(), (0,), (1,), (3,), (5,), (63,), (65,), (1000,), (7, 0, 2), (5, 13)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e4, -1e4, 1e-40, -1e-40]


# what is added up or counted, and places: int64, as in PyTorch
LONG = (
    "argmax", "argmin", "argsort", "argwhere", "bincount", "bucketize", "count_nonzero", "cumprod",
    "cumsum", "iota", "linalg_matrix_rank", "multinomial", "nansum", "nonzero", "nonzero_static", "one_hot",
    "prod", "randint", "randperm", "searchsorted", "sum", "sum_to_size", "trace", "tril_indices",
    "triu_indices", "unique",
    "unique_consecutive", "unravel_index",
)  # fmt: skip


def promised(name, kind):
    """The dtype of a result of NumPy's kind."""
    return fb.int64 if name in LONG and kind in "iu" else KINDS[kind]


def test_rows_are_the_table():
    assert set(ROWS) == set(OPS) | set(COMPOSED)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.share(5, only=["gpu"])
def test_value(name, device):
    row, rng = ROWS[name], np.random.default_rng(1)
    given = arrays(row, rng)
    y = row.compute(name, *tensors(given, device))
    want = np.asarray(row.expected(*map(host, given)))
    assert y.dtype is promised(name, want.dtype.kind)
    check(y.numpy(), want, row.tol, name)


@pytest.mark.parametrize("name", [n for n in ROWS if ROWS[n].kinds])
@pytest.mark.share(5, only=["gpu"])
def test_kinds(name, device):
    row, rng = ROWS[name], np.random.default_rng(2)
    made, wanted = [], []
    for kind in row.kinds:
        given = arrays(row, rng, kind=kind)
        made.append(row.compute(name, *tensors(given, device)))
        wanted.append(np.asarray(row.expected(*given)))
        assert made[-1].dtype is promised(name, wanted[-1].dtype.kind), f"{name} of {kind}: {made[-1].dtype}"
    for got, want, kind in zip(values(*made), wanted, row.kinds):
        check(got, want, row.tol, f"{name} of {kind}")


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.share(5, only=["gpu"])
def test_sizes(name, device):
    row, rng = ROWS[name], np.random.default_rng(3)
    cases = [arrays(row, rng, shape) for shape in SIZES]
    made = [row.compute(name, *tensors(c, device)) for c in cases]
    for got, case, shape in zip(values(*made), cases, SIZES):
        check(got, row.expected(*map(host, case)), row.tol, f"{name} of {shape}")


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.share(5, only=["gpu"])
def test_broadcasting(name, device):
    row, rng = ROWS[name], np.random.default_rng(4)
    n = len(row.inputs)
    shapes = [[(4, 1), (1, 5), (4, 5)], [(5,), (3, 1, 1), (2, 1)], [(), (2, 3), (3,)]]
    cases = [[i.make(rng, s) for i, s in zip(row.inputs, pick[:n])] for pick in shapes]
    made = [row.compute(name, *tensors(c, device)) for c in cases]
    for got, case in zip(values(*made), cases):
        check(got, row.expected(*map(host, case)), row.tol, name)


# results that are wider than 16-bit inputs: what is asked for, what sums are made in, what a step is of, and
# what comes of a float32 target
WIDE_RESULT = (
    "cast", "_back", "_contract", "_logcumsumexp", "_shares_after", "_shares_before", "float_power",
    "nextafter", "margin_ranking_loss", "soft_margin_loss", "_norms", "_scores_slopes", "_slopes",
    "_stored_weights", "bincount", *FREE,
)  # fmt: skip


KERNELS_OF_DTYPES = with_kernels(ROWS)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.share(5)
def test_declared_dtypes(name, gpu):
    """Every dtype that an op declares: GPU and NumPy agree, and 16-bit floats are as precise as they can be.
    Of composed ops a share is computed by kernels, the others by NumPy alone.

    A primitive rounds once (half of eps, and as much for two roundings that fall apart); an op of several
    rounds each on the CPU device, and its error grows with their number.
    """
    row, rng = ROWS[name], np.random.default_rng(8)
    made = []
    for dtype in (d for kind in declared(name) for d in SIZED[kind] if d.is_float or has_whole(row)):
        given = of_dtype(row, dtype, rng)
        to = [dtype if i.kind == main_kind(row) else None for i in row.inputs]
        first = gpu if name in KERNELS_OF_DTYPES else "cpu"
        of = {
            device: row.compute(name, *(fb.tensor(a, t, device) for a, t in zip(given, to)))
            for device in (first, "cpu")
        }
        on = [of[first], of["cpu"]]
        assert on[0].dtype is on[1].dtype
        made.append((dtype, on, [t.numpy() for t in (fb.tensor(a, t, "cpu") for a, t in zip(given, to))]))
    found = values(*(y[0] for _, y, _ in made))
    for got, (dtype, y, exact) in zip(found, made):
        what = f"{name} of {dtype.name}"
        if not dtype.is_float:
            check(got, y[1].numpy(), max(row.tol, 3e-6), what)
            continue
        want = np.asarray(row.expected(*map(host, exact)))
        assert y[0].dtype is dtype or y[0].dtype.kind != "f" or name in WIDE_RESULT, f"{what}: {y[0].dtype}"
        eps = fb.finfo(dtype).eps
        for values_ in (got, y[1].numpy()):
            check(values_, want, eps if name in OPS and row.call is None else 16 * eps, what)


# what looks at further operands before dtypes is none that is called by hand: _scatter_sorted
REFUSING = [n for n, op in OPS.items() if op.dtypes not in ("", "fiub") and n != "_scatter_sorted"]


@pytest.mark.parametrize("name", REFUSING)
def test_other_dtypes_are_refused(name):
    row, rng = ROWS[name], np.random.default_rng(9)
    for kind in set("fiub") - set(OPS[name].dtypes):
        given = tensors(of_dtype(row, KINDS[kind], rng), "cpu")
        with pytest.raises(TypeError, match=r": takes |: bools have no signs or differences: use "):
            OPS[name](*given, **row.attrs)


def test_primitives_declare_their_dtypes():
    kinds = ("elementwise", "movement", "reduce", "gather", "contract", "fold")
    assert not [n for n, op in OPS.items() if op.kind in kinds and not op.dtypes]


@pytest.mark.parametrize("name", with_kernels([n for n in PLAIN if all(i.shape for i in ROWS[n].inputs)]))
def test_mixed_view(name, gpu):
    row, rng = ROWS[name], np.random.default_rng(5)
    given = arrays(row, rng)
    y = row.compute(name, *(mixed(a, gpu) for a in given))
    check(y.numpy(), row.expected(*map(host, given)), row.tol, name)


VIEWED = [
    "exp",
    "add",
    "where",
    "_sum",
    "amax",
    "matmul",
    "conv2d",
    "gather",
    "cat",
    "flatten",
    "softmax",
    "flip",
]


@pytest.mark.parametrize("view", [transposed, sliced, flipped, padded, expanded], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", VIEWED)
@pytest.mark.share(5)
def test_view(name, view, gpu):
    row, rng = ROWS[name], np.random.default_rng(6)
    given = arrays(row, rng)
    if view is padded:
        given = [np.pad(a[tuple(slice(1, -1) for _ in a.shape)], 1) for a in given]
    if view is expanded:
        given = [np.ascontiguousarray(np.broadcast_to(a[:1], a.shape)) for a in given]
    y = row.compute(name, *(view(a, gpu) for a in given))
    check(y.numpy(), row.expected(*map(host, given)), row.tol, f"{name} of {view.__name__}")


@pytest.mark.parametrize("name", with_kernels(PLAIN, first=2))
def test_fused_equals_unfused(name, gpu):
    row, rng = ROWS[name], np.random.default_rng(7)
    given = arrays(row, rng)

    def chain(settle):
        before = [
            settle((t * 1.5 - 0.5) * (2 / 3) + 1 / 3) if t.dtype is fb.float32 else t
            for t in tensors(given, gpu)
        ]
        y = settle(row.compute(name, *before))
        return settle(settle(y.float() * 0.5) + 1.0)

    lazy, eager = values(chain(lambda t: t), chain(lambda t: t.realize()))
    check(lazy, eager, 2e-6, name)


def test_a_product_whose_operands_no_movement_reads(gpu):
    a, b = fb.ones(4, 1, 6, device=gpu), fb.ones(1, 5, 6, device=gpu)
    assert (contract(a + 1, b + 1, 1).numpy() == 24).all()


@pytest.mark.parametrize("name", [n for n, r in ELEMENTWISE.items() if r.special and r.inputs[0].kind == "f"])
def test_special_values(name, gpu):
    row = ROWS[name]
    some = (
        SPECIAL[:-2] if name in ("remainder", "fmod") else SPECIAL
    )  # their quotient by a denormal overflows
    grid = np.meshgrid(*[np.array(some, "f4")] * sum(i.kind == "f" for i in row.inputs), indexing="ij")
    given = [*grid, *(np.ones(grid[0].shape, bool) for i in row.inputs if i.kind == "b")]
    got = row.compute(name, *tensors(given, gpu)).numpy()
    flushed = [np.where(np.abs(a) < 1e-38, np.copysign(0, a), a) if a.dtype.kind == "f" else a for a in given]
    ok = np.zeros(got.shape, bool)
    for case in (given, flushed):  # an adapter may take denormals for zero, in or out
        want = np.asarray(row.expected(*map(host, case)))
        ok |= close(got, want, 1e-4)
    at = [tuple(float(a[tuple(i)]) for a in given) for i in np.argwhere(~ok)]
    assert ok.all(), f"{name}: {[(x, float(got[tuple(i)])) for x, i in zip(at, np.argwhere(~ok))][:12]}"


def test_small_arguments_keep_their_digits(gpu):
    """Odd functions are x near 0: the error is small beside the result, not beside 1."""
    names = ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "expm1", "log1p"]
    x = np.geomspace(1e-6, 0.5, 400).astype("f4") * np.resize([1, -1], 400).astype("f4")
    made = [ROWS[name].compute(name, fb.tensor(x, device=gpu)) for name in names]
    for got, name in zip(values(*made), names):
        want = ROWS[name].expected(host(x))
        assert np.abs(got / want - 1).max() < 1e-6, f"{name}: {np.abs(got / want - 1).max()}"


def test_signs_of_integer_division(device):
    x, y = np.meshgrid([-7, -6, -1, 0, 1, 6, 7], [-3, -2, 2, 3])
    a, b = fb.tensor(x, device=device), fb.tensor(y, device=device)
    found = values(a % b, a // b, a.fmod(b), a.float() % b, a.float() // b)
    for got, want in zip(found, (x % y, x // y, np.fmod(x, y), x % y, x // y)):
        check(got, want, 0)


def test_integer_division_by_zero_is_zero(device):
    x, zero = fb.tensor([-5, 0, 5], device=device), fb.tensor([0, 0, 0], device=device)
    u, uzero = (
        fb.tensor([0, 5], dtype=fb.uint32, device=device),
        fb.tensor([0, 0], dtype=fb.uint32, device=device),
    )
    for got in values(x // zero, x % zero, x.fmod(zero), u // uzero, u % uzero, u.fmod(uzero)):
        assert not got.any()


def test_integer_powers(device):
    x, y = np.meshgrid([-3, -2, -1, 0, 1, 2, 3], [0, 1, 2, 5])
    a = fb.tensor(x, device=device)
    assert np.array_equal(a.pow(fb.tensor(y, device=device)).numpy(), x**y)
    assert a.pow(fb.tensor(-1, device=device)).numpy()[0].tolist() == [0, 0, -1, 0, 1, 0, 0]
    with pytest.raises(ValueError) as e:
        a**-1
    assert str(e.value) == "pow(i64[4, 7], -1): integers have no negative powers: cast with .float()"


def test_a_row_can_fail():
    with pytest.raises(AssertionError, match="got"):
        check(np.float32([1, 2.001]), np.array([1, 2.0]), 1e-5, "doctored")
    with pytest.raises(AssertionError, match="shape"):
        check(np.zeros(3, "f4"), np.zeros((3, 1)), 1)


PROMOTION = {
    ("b", "b", "add"): "b", ("b", "b", "mul"): "b", ("b", "b", "div"): "f", ("b", "i", "add"): "i",
    ("b", "f", "add"): "f", ("i", "f", "mul"): "f", ("i", "i", "div"): "f", ("i", "b", "sub"): "i",
    ("i", "i", "remainder"): "i", ("b", "b", "maximum"): "b", ("i", "f", "maximum"): "f",
    ("f", "i", "pow"): "f", ("b", "b", "eq"): "b", ("i", "f", "lt"): "b", ("b", "b", "bitwise_and"): "b",
    ("b", "i", "bitwise_or"): "i",
    ("i", "i", "floor_divide"): "i", ("f", "i", "floor_divide"): "f", ("i", "f", "atan2"): "f",
}  # fmt: skip


@pytest.mark.parametrize("x, y, name", PROMOTION)
def test_promotion(x, y, name):
    a, b = fb.zeros(2, dtype=KINDS[x], device="cpu"), fb.ones(2, dtype=KINDS[y], device="cpu")
    assert getattr(a, name)(b).dtype is KINDS[PROMOTION[x, y, name]]


def test_scalars_keep_the_tensors_dtype(device):
    i, b, f = (fb.tensor(v, device=device) for v in ([1, 2], [True, False], [1.5, 2.5]))
    made = [
        i + 1,
        i + 1.5,
        i + True,
        b + 1,
        b + True,
        b + 1.5,
        f + 1,
        2 - i,
        1 / i,
        7 % i,
        7 // i,
        2**i,
        2.0**i,
    ]
    kinds = [t.dtype.kind for t in made]
    assert kinds == list("ifiibffifiiif")
    got = [v.tolist() for v in values(*made)]
    assert got[:6] == [[2, 3], [2.5, 3.5], [2, 3], [2, 1], [True, True], [2.5, 1.5]]
    assert got[6:] == [[2.5, 3.5], [1, 0], [1.0, 0.5], [0, 1], [7, 3], [2, 4], [2.0, 4.0]]


def test_where_promotes(device):
    c = fb.tensor([True, False], device=device)
    x = fb.tensor([1, 2], device=device)
    assert [t.dtype.kind for t in (c.where(1, 0), c.where(1.0, 0), c.where(x, 0), c.where(x, 0.5))] == list(
        "ifif"
    )
    assert c.where(x, 0.5).tolist() == [1.0, 0.5]


def test_cast_between_all(device):
    raw = {"f": np.float32([-2.7, -0.5, 0, 0.5, 2.7, 100]), "i": np.int32([-2, 0, 1, 100]),
           "u": np.uint32([0, 1, 7, 100]), "b": np.array([True, False])}  # fmt: skip
    pairs = [(a, b) for a in raw for b in raw if (a, b) != ("f", "u")]
    made = [fb.tensor(raw[a], device=device).cast(KINDS[b]) for a, b in pairs]
    for got, (a, b) in zip(values(*made), pairs):
        want = raw[a].astype({"f": "f4", "i": "i4", "u": "u4", "b": "?"}[b])
        assert np.array_equal(got, want), f"{a} to {b}"


@pytest.mark.parametrize("dim", [0, -1])
def test_one_number_is_a_row_of_its_own(device, dim):
    x = fb.tensor(3.0, device=device).requires_grad_()
    made = [x.softmax(dim), x.log_softmax(dim), x.argmax(dim), x.argmin(dim, keepdim=True), x.max(dim)[1]]
    assert [(t.shape, t.item()) for t in made] == [((), 1.0), ((), 0.0), ((), 0), ((), 0), ((), 0)]
    assert (x.softmax(dim) * 3).backward()[x].item() == 0
    with pytest.raises(IndexError) as e:
        x.softmax(1)
    assert str(e.value) == "softmax(f32[], 1): dim 1 is out of range for rank 0: use -1 to 0"


def test_in_makes_what_it_says():
    made = In((50,), 0.5, 4, "i").make(np.random.default_rng(0))
    assert made.min() == 1 and made.max() == 4
