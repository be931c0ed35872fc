"""64-bit integers by kernels that have none: exact, on what carries, wraps and lies at the ends of words."""

import numpy as np
import pytest
from helpers.paper import PaperDevice
from helpers.plans import GPU, SOFTWARE, names_of
from rows import ROWS

import flambeau as fb
from flambeau.core.node import toposort
from flambeau.core.op import OPS
from flambeau.custom import custom_op
from flambeau.legalize import complex_numbers
from flambeau.legalize.rewrite import legalize
from flambeau.runtime.pipeline import counters
from flambeau.runtime.run import realize
from flambeau.tensor import HostScalar

F = fb.nn.functional

EDGES = {
    "i8": [0, 1, -1, 7, -7, 65535, 65536, -65537, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1]
    + [2**32 - 1, 2**32, -(2**32), 2**62 + 1, 2**63 - 1, -(2**63)],
    "u8": [0, 1, 3, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**33 + 1, 2**63, 2**64 - 1],
}


def edges(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of them."""
    line = np.array(EDGES[kind], kind)
    return np.repeat(line, len(line)), np.tile(line, len(line))


def drawn(seed: int, *shape: int, bits: int = 63) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(2**bits), 2**bits - 1, shape)


def compare(**pairs) -> None:
    """Tensors, computed by one plan, with arrays: the same dtypes, shapes and values."""
    found = [t for t, _ in pairs.values()]
    realize(*found)
    for name, (t, wanted) in pairs.items():
        got, wanted = t.numpy(), np.asarray(wanted)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), name
        bad = np.flatnonzero((got != wanted).reshape(-1))[:4]
        assert not bad.size, (name, bad, got.reshape(-1)[bad], wanted.reshape(-1)[bad])


@pytest.fixture
def upload(device):
    return lambda values: fb.tensor(values, device=device)


VIEWS = {  # four pairs are read at once where whole fours lie side by side, else one
    "whole": lambda x: x,
    "from an odd place": lambda x: x[:, 1:],
    "from a four on": lambda x: x[:, 4:],
    "from a later row": lambda x: x[1:],
    "every other": lambda x: x[:, ::2],
    "backwards": lambda x: x[:, ::-1],
    "turned": lambda x: x.T,
    "one row": lambda x: x[:1],
}


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 8, 12])
def test_pairs_of_all_lengths_and_views(upload, columns):
    a, b = drawn(1, 3, columns), drawn(2, 3, columns)
    x, y, row = upload(a), upload(b), upload(b[:1])
    found = {}
    for name, view in VIEWS.items():
        if (name in ("backwards", "turned") and columns == 1) or 0 in view(a).shape:
            continue
        picked = view(a) if name != "backwards" else a[:, ::-1]
        moved = view(x) if name != "backwards" else x.flip(1)
        found[name] = (moved + moved * 3, picked + picked * 3)
    with np.errstate(over="ignore"):
        compare(beside=(x * y - y, a * b - b), across=(x + row, a + b[:1]), **found)
        compare(
            narrow=(x + upload(a.astype("i4")), a + a.astype("i4")),
            chosen=((x > y).where(x, y), np.maximum(a, b)),
        )
    z, w = a.astype("f4") + 1j, b.astype("f4") * 1e-9 - 2j
    np.testing.assert_allclose((upload(z) * upload(w)).numpy(), z * w, rtol=1e-6)


@pytest.mark.parametrize("kind", EDGES)
def test_elementwise(upload, kind):
    a, b = edges(kind)
    x, y = upload(a), upload(b)
    assert x.dtype is (fb.int64 if kind == "i8" else fb.uint64)
    with np.errstate(all="ignore"):
        compare(
            add=(x + y, a + b),
            sub=(x - y, a - b),
            mul=(x * y, a * b),
            neg=(-x, 0 - a),
            abs=(x.abs(), np.abs(a)),
            sign=(x.sign(), np.sign(a)),
            square=(x**2, a * a),
            relu=(x.relu(), np.maximum(a, a.dtype.type(0))),
            maximum=(x.maximum(y), np.maximum(a, b)),
            minimum=(x.minimum(y), np.minimum(a, b)),
            where=((x < y).where(x, y), np.where(a < b, a, b)),
            number=(x * 3 - 10**9, a * a.dtype.type(3) - a.dtype.type(10**9)),
            bitwise=((x & y) ^ (x | ~y), (a & b) ^ (a | ~b)),
        )
        compare(
            lt=(x < y, a < b),
            le=(x <= y, a <= b),
            gt=(x > y, a > b),
            ge=(x >= y, a >= b),
            eq=(x == y, a == b),
            ne=(x != y, a != b),
            logic=(x.logical_and(y), np.logical_and(a, b)),
        )


@pytest.mark.parametrize("kind", EDGES)
def test_division(upload, kind):
    a, b = edges(kind)
    x, y = upload(a), upload(b)
    with np.errstate(all="ignore"):
        compare(
            floor_divide=(x // y, a // b),
            remainder=(x % y, a % b),
            fmod=(x.fmod(y), np.fmod(a, b)),
            gcd=(x.gcd(y), np.gcd(a, b)),
            power=(x ** (y % 7), a ** (b % b.dtype.type(7))),
        )
    small = upload(np.arange(-50, 50))
    ones = np.array([v if abs(v) == 1 else 0 for v in range(-50, 50)])
    compare(negative_power=(small ** (small * 0 - 9), ones))


@pytest.mark.parametrize("kind", EDGES)
def test_shifts(upload, kind):
    a, counts = np.repeat(np.array(EDGES[kind], kind), 64), np.tile(np.arange(64), len(EDGES[kind]))
    x, n = upload(a), upload(counts.astype(kind))
    compare(left=(x << n, a << counts.astype(kind)), right=(x >> n, a >> counts.astype(kind)))
    out = upload(np.array([64, 100] if kind == "u8" else [64, -1], kind))
    gone = upload(np.array([5, 2**63 - 1], kind))
    compare(left=(gone << out, np.zeros(2, kind)), right=(gone >> out, np.zeros(2, kind)))


def test_casts(upload):
    a = np.concatenate([edges("i8")[0], drawn(1, 500), drawn(2, 200, bits=40)])
    x = upload(a)
    compare(
        float32=(x.float(), a.astype("f4")),
        int32=(x.int(), a.astype("i4")),
        uint64=(x.to(fb.uint64), a.astype("u8")),
        uint32=(x.to(fb.uint32), a.astype("u4")),
        int8=(x.char(), a.astype("i1")),
        bool=(x.bool(), a != 0),
        unsigned=(x.to(fb.uint64).float(), a.astype("u8").astype("f4")),
    )
    f = (np.random.default_rng(3).standard_normal(300) * 10.0 ** np.arange(300) % 17).astype("f4") * 1e10
    compare(
        from_float=(upload(f).long(), f.astype("i8")),
        from_int32=(upload(a.astype("i4")).long(), a.astype("i4").astype("i8")),
        from_uint32=(upload(a.astype("u4")).long(), a.astype("u4").astype("i8")),
        from_int8=(upload(a.astype("i1")).to(fb.uint64), a.astype("i1").astype("u8")),
        from_bool=(upload(a > 0).long() * 2**40, (a > 0).astype("i8") * 2**40),
    )


def test_what_moves_elements(upload):
    a, index = drawn(4, 4, 6), np.array([[0, 3], [1, 1], [2, 0], [3, 3]])
    x, i = upload(a), upload(index)
    compare(
        transposed=(x.T, a.T),
        sum_of_views=(x[1:, ::2] + x[:-1, 1::2], a[1:, ::2] + a[:-1, 1::2]),
        flipped=(x.flip([0, 1]), a[::-1, ::-1]),
        padded=(F.pad(x, (1, 2)), np.pad(a, ((0, 0), (1, 2)))),
        padded_sum=(F.pad(x + 1, (1, 2)), np.pad(a + 1, ((0, 0), (1, 2)))),
        expanded=(x[:, :1].expand(2, 4, 3), np.broadcast_to(a[:, :1], (2, 4, 3))),
        windows=(x.unfold(1, 3, 2), np.lib.stride_tricks.sliding_window_view(a, 3, 1)[:, ::2]),
        joined=(fb.cat([x, x + 1, x * 2, -x], 1), np.concatenate([a, a + 1, a * 2, -a], 1)),
        gathered=(x.gather(1, i), np.take_along_axis(a, index, 1)),
        picked=((x * 2)[i[:, 0]], (a * 2)[index[:, 0]]),
        masked=(x[x > 0], a[a > 0]),
        scalar=(x[1, 2] * x[0, 0], (a * a[0, 0])[1, 2]),
    )


def test_reductions(upload):
    a, b = drawn(5, 7, 30), drawn(6, 5, 9, bits=40)
    x, y = upload(a), upload(b)
    u = a.astype("u8")
    compare(
        sum=(x.sum(), a.sum()),
        rows=(x.sum(1, keepdim=True), a.sum(1, keepdims=True)),
        columns=(x.sum(0), a.sum(0)),
        prod=(y.prod(1), b.prod(1)),
        max=(x.amax(1), a.max(1)),
        min=(x.amin(), a.min()),
        unsigned_max=(upload(u).amax(0), u.max(0)),
        unsigned_min=(upload(u).amin(0), u.min(0)),
        equal_tops=((x % 5 + 2**40).amax(1), (a % 5 + 2**40).max(1)),
        count=((x > 0).long().sum(), (a > 0).sum()),
        product=(y @ y.T, b @ b.T),
        small_product=((y % 100) @ (y % 100).T, (b % 100) @ (b % 100).T),
        none=(x[:0].sum(0), a[:0].sum(0)),
        none_product=(x[:0].prod(0), a[:0].prod(0)),
    )


def test_sums_of_many(upload):
    """Of more elements than 16-bit limbs add up in 32 bits: pieces, and of small ones no pieces."""
    a = drawn(7, 200_001)
    x = upload(a)
    a2, x2 = a[:-1].reshape(2, 50_000, 2), x[:-1].reshape(2, 50_000, 2)
    compare(
        whole=(x.sum(), a.sum()),
        highest=((x | 2**63 - 1).sum(), (a | 2**63 - 1).sum()),
        dims=(x2.sum((0, 1)), a2.sum((0, 1))),
        scan=(x.cumsum(0), a.cumsum()),
        int32=(x.int().long().sum(), a.astype("i4").sum(dtype="i8")),
    )


def test_scans_sorts_and_searches(upload):
    a = drawn(8, 4, 40, bits=34) // 2**30 * 2**30  # with equals, also of the high words alone
    x = upload(a)
    line = np.sort(a.reshape(-1))
    u = a.astype("u8")
    compare(
        cumsum=(x.cumsum(1), a.cumsum(1)),
        cumprod=(x.cumprod(0), a.cumprod(0)),
        cummax=(x.cummax(1)[0], np.maximum.accumulate(a, 1)),
        cummin=(x.cummin(0)[0], np.minimum.accumulate(a, 0)),
        argsort=(x.argsort(1).long(), np.argsort(a, 1, kind="stable")),
        sorted=(x.sort(0, descending=True)[0], -np.sort(-a, 0)),
        unsigned=(upload(u).sort()[0], np.sort(u)),
        topk=(x.topk(3)[0], -np.sort(-a, 1)[:, :3]),
    )
    table, wanted = upload(line), x.reshape(-1)[:50] + 2**30
    values = a.reshape(-1)[:50] + 2**30
    compare(
        left=(fb.searchsorted(table, wanted).long(), np.searchsorted(line, values)),
        right=(
            fb.searchsorted(table, wanted, right=True).long(),
            np.searchsorted(line, values, side="right"),
        ),
    )
    assert np.array_equal(x.unique().numpy(), np.unique(a))


def test_scatters_with_many_duplicates(upload):
    places, values = np.random.default_rng(9).integers(0, 5, 3000), drawn(9, 3000, bits=62)
    index, src, start = upload(places), upload(values), upload(np.full(5, 7))

    def joined(f, begin=7):
        out = np.full(5, begin)
        f.at(out, places, values)
        return out

    last = np.full(5, 7)
    last[places] = values
    compare(
        sum=(start.scatter_add(0, index, src), joined(np.add)),
        max=(start.scatter_reduce(0, index, src, "amax"), joined(np.maximum)),
        min=(start.scatter_reduce(0, index, src, "amin"), joined(np.minimum)),
        last=(start.scatter(0, index, src), last),
        count=(fb.bincount(index).long(), np.bincount(places)),
    )


def test_writes_and_recorded_calls(upload):
    a = drawn(10, 3, 4)
    x = upload(a)
    row = x[1]
    row *= 2
    x[0] = 7
    x += 2**40
    expected = a.copy()
    expected[1] *= 2
    expected[0] = 7
    expected += 2**40
    assert np.array_equal(x.numpy(), expected) and np.array_equal(row.numpy(), expected[1])

    total = upload(np.zeros(4, "i8"))

    @fb.jit
    def step(v, k):
        total.add_(v.sum(0) * k)
        return (v * v).cumsum(1)

    known = np.zeros(4, "i8")
    for i in range(4):
        y = step(upload(a + i), 3)
        known += (a + i).sum(0) * 3
        assert np.array_equal(y.numpy(), ((a + i) ** 2).cumsum(1))
    assert np.array_equal(total.numpy(), known)


def test_indices(upload):
    """Labels and places of 64 bits are their low words, once they are inside."""
    weight = upload(np.arange(12, dtype="f4").reshape(4, 3)).requires_grad_()
    index = np.array([1, 3, 3, 0])
    loss = F.embedding(upload(index), weight).sum() + F.cross_entropy(weight, upload(index % 3))
    plain = F.embedding(upload(index.astype("i4")), weight).sum()
    plain = plain + F.cross_entropy(weight, upload((index % 3).astype("i4")))
    assert np.array_equal(loss.backward()[weight].numpy(), plain.backward()[weight].numpy())
    for bad in (4, 2**32, -(2**40), 2**31):
        with pytest.raises(IndexError, match="index_select.*out of range"):
            weight.index_select(0, upload(np.array([0, bad]))).numpy()


def test_leaves_stay_leaves(upload):
    """What a narrow value is made of may be the leaf itself, which is no result of the plan."""
    a = np.arange(5, dtype="i4")
    x = upload(a)
    compare(
        sums=(x.cumsum(0), a.cumsum()),
        same=(x.long(), a.astype("i8")),
        round=(x.long().round(), a.astype("i8")),
    )


@pytest.mark.parametrize("limits", [GPU, SOFTWARE])
def test_narrow_values_are_int32(limits):
    """Places, flags and their sums fit in 32 bits: nothing but what is stored is wider."""
    labels32, labels = fb.tensor(np.arange(8, dtype="i4")), fb.tensor(np.arange(8))
    x = fb.tensor(np.zeros((8, 10), "f4"))
    wide, plain = (names_of(F.cross_entropy(x, i), limits=limits) for i in (labels, labels32))
    assert len(wide) == len(plain)
    assert len(names_of(x[labels], limits=limits)) == 1
    assert len(names_of(((x > 0).long().sum(1) + 1).float(), limits=limits)) == 1
    assert len(names_of((labels * 3 + 1).int() + 1, limits=limits)) == 1
    # an iota and what is added to it stay where they fit, and a cast back costs nothing
    small = fb.arange(8, dtype=fb.int64)
    assert "product_high" not in (small * 100 + 5).wgsl()
    assert "product_high" in (small * 10**12).wgsl()


def test_what_has_no_kernel_says_so(gpu):
    third = custom_op("third_of", ["x"], expression="{{ x }} / 3", reference=lambda xp, x: x // 3)
    with pytest.raises(TypeError) as e:
        third(fb.tensor([3, 6], device=gpu)).numpy()
    assert str(e.value) == (
        "third_of(i64[2]): has no kernel for int64: cast with .int(), or .to(fb.int32), or use the CPU device"
    )
    assert third(fb.tensor([3, 6], device="cpu")).tolist() == [1, 2]
    assert third(fb.tensor([3, 6], device=gpu).int()).tolist() == [1, 2]


def has_a_rule(name, kind: str, device) -> bool:
    """Whether an op of the table is planned for 64-bit integers."""
    given = [
        fb.zeros(*i.shape, dtype={"i": fb.int64, "u": fb.uint64}[kind], device=device)
        for i in ROWS[name].inputs
    ]
    try:
        return bool(legalize(roots := [ROWS[name].compute(name, *given).node], toposort(roots)))
    except TypeError as e:
        if "has no kernel for" not in str(e):
            raise
        return False


@pytest.mark.parametrize("kind", ["i", "u"])
def test_no_op_on_64_bits_is_left_out(kind):
    device = PaperDevice()
    names = [n for n, row in ROWS.items() if kind in row.kinds and n in OPS]
    assert len(names) > 30
    missing = [n for n in names if not has_a_rule(n, kind, device)]
    assert not missing, "these have a rule in RULES of legalize/integers.py, or of integer_heads.py"


def test_no_op_on_complex_numbers_is_left_out():
    """Those that the host computes have none."""
    named = {n for n, op in OPS.items() if "c" in op.dtypes and (op.kind != "opaque" or op.launch)}
    missing = sorted(named - {*complex_numbers.RULES})
    assert len(named) > 40 and not missing, "these have a rule in RULES of legalize/complex_numbers.py"


def test_numbers_change_without_another_plan(gpu):
    """A host number is a quantity, of which the plan knows how many bits it needs at most."""
    x = fb.tensor([1, -2], device=gpu).realize()
    (x * 1000).numpy()
    made = counters.plans
    assert (x * 20_000).tolist() == [20_000, -40_000] and counters.plans == made
    assert (x * 2**40).tolist() == [2**40, -(2**41)] and counters.plans == made + 1
    assert (x * -(3**35)).tolist() == [-(3**35), 2 * 3**35] and counters.plans == made + 1
    number = HostScalar(7)
    step = fb.jit(lambda v: v + number)
    for value in (7, 2**40, -5, -(2**40)):
        number.value = value
        assert step(x).tolist() == [1 + value, -2 + value]


def test_parts_of_numbers_belong_to_every_device():
    """The default device is another one: the imaginary part of a real number was put there."""
    x = fb.tensor([[1.0]], device=PaperDevice())
    for y in (fb.logaddexp(x > 0, fb.complex(x, x * 0)).real, fb.where(x > 0, fb.complex(x, x), 1.0).imag):
        assert y.numpy().tolist() == [[0.0]] and y.device is x.device  # nothing is computed on paper


def test_nodes_below_a_value_that_was_read_stay_the_callers():
    """The gradient computes the comparison again, whose number a plan of int64 had taken for its own."""
    x, w = fb.arange(8), fb.ones(8, requires_grad=True)
    y = (x == 3).where(w * 2, 0.5)
    assert y.tolist() == [0.5, 0.5, 0.5, 2, 0.5, 0.5, 0.5, 0.5]
    assert (y.long() + 1).tolist() == [1, 1, 1, 3, 1, 1, 1, 1]
    assert y.sum().backward()[w].tolist() == [0, 0, 0, 2, 0, 0, 0, 0]
