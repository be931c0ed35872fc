"""Products on matrix units: tiles and edges, layouts, batches, epilogues, ranges, precisions, training.

Where an adapter has units, these tests use them (an NVIDIA GPU through Dawn); elsewhere the same kernels run
with `subgroup_matrix.PLAIN`, the units' work in plain WGSL.
"""

import re

import numpy as np
import pytest
from helpers.draws import in_turn
from helpers.kernels import planned_for
from helpers.paper import PaperDevice

import flambeau as fb
from flambeau.core import choose
from flambeau.core.limits import Limits, Unit
from flambeau.core.node import toposort
from flambeau.fusion.planner import Planner
from flambeau.kernels.contract import subgroup_matrix
from flambeau.kernels.contract.product import product_of
from flambeau.kernels.contract.subgroup_matrix import PLAIN

F = fb.nn.functional
EXACT, HIGH, MEDIUM = 6e-4, 2e-5, 5e-4  # of float16 results; as documented
REAL = Unit("subgroup", 16, 16, 16, 32)


@pytest.fixture
def units(gpu, monkeypatch):
    """The GPU with matrix units, its own or plain ones, whose smaller tiles compile sooner."""
    monkeypatch.setenv("FLAMBEAU_VARIANT", "contract=matrix64")
    choose.forced.cache_clear()
    with planned_for(gpu, False, matrix=gpu.limits.matrix or (PLAIN,)):
        yield gpu
    monkeypatch.undo()
    choose.forced.cache_clear()


def templates(t) -> list[str]:
    return [k.shader.template for k in t.plan()]


def made(rng, *shape, dtype="f4"):
    return rng.standard_normal(shape).astype(dtype)


def off(got, want) -> float:
    """The error beside the whole result."""
    return float(np.linalg.norm(got.numpy().astype("f8") - want) / np.linalg.norm(want))


def on_units(t) -> bool:
    return "contract/subgroup_matrix.wgsl" in templates(t)


SIZES = [(64, 64, 64), (72, 40, 256), (130, 72, 96), (33, 65, 17), (1, 200, 40), (3, 3, 3)]


@pytest.mark.parametrize("m,n,k", SIZES)
@pytest.mark.share(5)
def test_sizes(m, n, k, units):
    rng = np.random.default_rng(m)
    a, b = made(rng, m, k, dtype="f2"), made(rng, k, n, dtype="f2")
    y = fb.tensor(a, device=units) @ fb.tensor(b, device=units)
    want = a.astype("f8") @ b.astype("f8")
    assert y.dtype is fb.float16
    assert on_units(y) or min(m, n, k) < 32
    assert off(y, want) < EXACT


@pytest.mark.parametrize("turned", ["a", "b", "ab"])
@pytest.mark.share(2)
def test_layouts_are_read_as_they_lie(turned, units):
    rng = np.random.default_rng(1)
    a, b = made(rng, 128, 192, dtype="f2"), made(rng, 192, 64, dtype="f2")
    x, y = fb.tensor(a, device=units), fb.tensor(b, device=units)
    x = fb.tensor(np.ascontiguousarray(a.T), device=units).T if "a" in turned else x
    y = fb.tensor(np.ascontiguousarray(b.T), device=units).T if "b" in turned else y
    z = x @ y
    assert templates(z)[0] == "contract/subgroup_matrix.wgsl" and len(templates(z)) <= 2
    assert off(z, a.astype("f8") @ b.astype("f8")) < EXACT


@pytest.mark.share(2)
def test_batches_and_strides(units):
    rng = np.random.default_rng(2)
    a, b = made(rng, 2, 3, 64, 128, dtype="f2"), made(rng, 3, 64, 64, dtype="f2")
    x, y = fb.tensor(a, device=units)[:, :, :, ::2], fb.tensor(b, device=units)
    want = a[:, :, :, ::2].astype("f8") @ b.astype("f8")
    assert on_units(x @ y) and off(x @ y, want) < EXACT


@pytest.mark.share(2)
def test_epilogue(units):
    rng = np.random.default_rng(3)
    x, w, b = (fb.tensor(made(rng, *s, dtype="f2"), device=units) for s in ((96, 64), (72, 64), (72,)))
    y = F.linear(x, w, b).relu()
    want = np.maximum(x.numpy().astype("f8") @ w.numpy().astype("f8").T + b.numpy(), 0)
    assert on_units(y) and off(y, want) < EXACT


@pytest.mark.share(2)
def test_convolution(units):
    rng = np.random.default_rng(4)
    x, w = made(rng, 2, 32, 10, 10, dtype="f2"), made(rng, 64, 32, 3, 3, dtype="f2")
    y = F.conv2d(fb.tensor(x, device=units), fb.tensor(w, device=units), padding=1)
    want = F.conv2d(
        fb.tensor(x.astype("f4"), device="cpu"), fb.tensor(w.astype("f4"), device="cpu"), padding=1
    )
    assert off(y, want.numpy().astype("f8")) < EXACT


def drawn_product(rng, split: int):
    """Sizes whose sums have `split` pieces, of whole turns or beside them, and which sides are turned."""
    k = 512 * split + int(rng.choice([0, 64, 1, 130]))
    m, n = (int(rng.choice([16, 33, 72])) for _ in "mn")
    return int(rng.choice([1, 2])), m, n, k, rng.random(2) < 0.5


def drawn_sides(rng, split: int, dtype: str, device):
    """A product's sides as arrays and as tensors, and its sizes."""
    batch, m, n, k, turned = sizes = drawn_product(rng, split)
    arrays = made(rng, batch, m, k, dtype=dtype), made(rng, batch, k, n, dtype=dtype)
    sides = [
        fb.tensor(np.ascontiguousarray(s.swapaxes(1, 2)), device=device).mT
        if t
        else fb.tensor(s, device=device)
        for s, t in zip(arrays, turned)
    ]
    return arrays, sides, sizes


@pytest.mark.parametrize("split", in_turn([2, 8], 2))
@pytest.mark.share(5)
def test_sums_in_pieces(split, units, monkeypatch):
    """Where few tiles leave cores idle: drawn sizes, sides as they lie, with an epilogue behind the sum."""
    monkeypatch.setattr(choose, "forced", lambda: {"contract": f"matrix64/{split}"})
    for seed in range(2):
        (a, b), (x, y), sizes = drawn_sides(np.random.default_rng([split, seed]), split, "f2", units)
        z = (x @ y).float() * 2 + 1
        assert templates(z) == ["contract/subgroup_matrix.wgsl", "contract/split_k_sum.wgsl"], sizes
        want = (a.astype("f8") @ b.astype("f8")).astype("f2").astype("f8") * 2 + 1
        assert off(z, want) < EXACT, (split, *sizes)


def test_gradients_of_few_weights_fill_the_cores(gpu, monkeypatch):
    """[64, 100352] @ [100352, 288] are five tiles: on an H200 one alone took ten times as long as float32."""
    with planned_for(gpu, False, matrix=(PLAIN,)):
        x, g = (fb.zeros(512, c, 14, 14, dtype=fb.float16, device=gpu) + 0 for c in (32, 64))
        w = fb.zeros(64, 32, 3, 3, dtype=fb.float16, device=gpu).realize().detach().requires_grad_()
        fb.realize(x, g)
        dw = (F.conv2d(x, w, padding=1) * g).sum().backward()[w]
        units, added = dw.plan()
        assert units.shader.template == "contract/subgroup_matrix.wgsl" and np.prod(units.grid) >= 132
        assert added.shader.template == "contract/split_k_sum.wgsl"
        many = fb.zeros(1664, 512, dtype=fb.float16, device=gpu).realize()
        assert templates(many @ many.T) == ["contract/subgroup_matrix.wgsl"]  # 169 tiles


# --- float32 on units ---


@pytest.fixture(params=["matrix64", "matrix64/f16"])
def variant(request, units, monkeypatch):
    """Units that split float32 on the way to workgroup memory, or in a pass before."""
    monkeypatch.setenv("FLAMBEAU_VARIANT", f"contract={request.param}")
    choose.forced.cache_clear()
    units.plans = {}
    return units, request.param


def ran_as(t, variant: str) -> bool:
    return on_units(t) and ("contract/to_f16.wgsl" in templates(t)) == ("/" in variant)


SHAPES = [((64, 96), (96, 72)), ((130, 33), (33, 70)), ((65, 128), (128, 64)), ((2, 3, 64, 40), (3, 40, 72))]


BOUNDS = {"high": HIGH, "medium": MEDIUM}
READ = [  # each shape in the better precision, one way or the other, and each way in both
    (0, True, "high"),
    (1, False, "high"),
    (2, True, "high"),
    (3, False, "high"),
    (1, True, "medium"),
    (3, False, "medium"),
]


@pytest.mark.parametrize("shape,turned,precision", in_turn(READ, 2))
@pytest.mark.share(5)
def test_float32_of_every_shape(shape, turned, precision, variant):
    units, name = variant
    rng = np.random.default_rng(13)
    a, b = (made(rng, *size) for size in SHAPES[shape])
    x, y = (
        fb.tensor(np.ascontiguousarray(t.swapaxes(-1, -2)) if turned else t, device=units) for t in (a, b)
    )
    if turned:
        x, y = x.transpose(-1, -2), y.transpose(-1, -2)
    with fb.set_matmul_precision(precision):
        z = (x @ y + 1).relu()
        assert ran_as(z, name)
        assert off(z, np.maximum(a.astype("f8") @ b.astype("f8") + 1, 0)) < BOUNDS[precision]


@pytest.mark.parametrize(
    "split,precision", in_turn([("2", "high"), ("3/f16", "high"), ("5", "medium"), ("7/f16", "medium")], 2)
)
@pytest.mark.share(5)
def test_float32_in_pieces(split, precision, units, monkeypatch):
    monkeypatch.setattr(choose, "forced", lambda: {"contract": f"matrix64/{split}"})
    count = int(split[0])
    (a, b), (x, y), sizes = drawn_sides(np.random.default_rng(count), count, "f4", units)
    with fb.set_matmul_precision(precision):
        z = x @ y - 1
        assert templates(z)[-2:] == ["contract/subgroup_matrix.wgsl", "contract/split_k_sum.wgsl"], sizes
        assert ran_as(z, split) and off(z, a.astype("f8") @ b.astype("f8") - 1) < BOUNDS[precision], sizes


def test_pieces_fill_the_cores():
    """Gradients of weights are few tiles of long sums; float32 as much as float16 is cut for them."""
    device = PaperDevice(Limits(matrix=(REAL,), workgroup_memory=49152))
    for dtype, precision in ((fb.float16, "highest"), (fb.float32, "high"), (fb.float32, "medium")):
        x, g, w = (
            fb.zeros(*s, dtype=dtype, device=device).realize() for s in ((8192, 768), (8192, 768), (768, 768))
        )
        with fb.set_matmul_precision(precision):
            few, whole = x.T @ g, x @ w
            assert templates(few)[-1] == "contract/split_k_sum.wgsl"
            assert 132 < np.prod(few.plan()[-2].grid) <= 264
            assert templates(whole)[-1] == "contract/subgroup_matrix.wgsl"


@pytest.mark.share(2)
def test_views_are_split_as_they_are_read(variant):
    units, name = variant
    rng = np.random.default_rng(14)
    a, w = made(rng, 4, 100, 64), made(rng, 3, 72, 32)
    x, y = fb.tensor(a, device=units)[1:3, 10:80, ::2], fb.tensor(w, device=units)[1]
    with fb.set_matmul_precision("high"):
        z = F.linear(x, y)
        assert ran_as(z, name)
        assert off(z, a[1:3, 10:80, ::2].astype("f8") @ w[1].T.astype("f8")) < HIGH


def test_large_products_are_split_before():
    for n, ready in ((4096, True), (1024, False)):
        device = PaperDevice(Limits(matrix=(REAL,), workgroup_memory=49152))
        x = fb.zeros(n, n, device=device).realize()
        with fb.set_matmul_precision("high"):
            assert ran_as(x @ x, "matrix/f16" if ready else "matrix")


@pytest.mark.parametrize("precision,bound", [("high", HIGH), ("medium", MEDIUM)])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e-6, 1e30, 1e-30])
@pytest.mark.share(5)
def test_precision_at_every_size(precision, bound, size, variant):
    """Beyond 65504 float16 is infinite, and below 1e-7 nothing: factors are scaled first."""
    units, _ = variant
    rng = np.random.default_rng(5)
    a, b = made(rng, 64, 96) * np.float32(size), made(rng, 96, 72)
    with fb.set_matmul_precision(precision):
        y = fb.tensor(a, device=units) @ fb.tensor(b, device=units)
    assert on_units(y) and off(y, a.astype("f8") @ b.astype("f8")) < bound


def test_high_is_better_than_medium(units):
    rng = np.random.default_rng(6)
    a, b = made(rng, 64, 96), made(rng, 96, 72)
    errors = []
    for precision in ("high", "medium"):
        with fb.set_matmul_precision(precision):
            errors.append(off(fb.tensor(a, device=units) @ fb.tensor(b, device=units), a.astype("f8") @ b))
    assert errors[0] < 5e-6 < 1e-4 < errors[1]


def test_elements_of_many_sizes(units):
    """What is far below the largest element of its matrix still counts."""
    rng = np.random.default_rng(7)
    a, b = made(rng, 64, 64), made(rng, 64, 64)
    a[:32] *= np.float32(1e-3)
    with fb.set_matmul_precision("high"):
        y = (fb.tensor(a, device=units) @ fb.tensor(b, device=units)).numpy().astype("f8")
    want = a.astype("f8") @ b.astype("f8")
    for rows in (slice(0, 32), slice(32, 64)):
        assert np.linalg.norm((y - want)[rows]) < HIGH * np.linalg.norm(want[rows])


@pytest.mark.share(2)
def test_zeros_infinities_and_nan(variant):
    units, _ = variant
    zeros, ones = (np.full((64, 64), n, "f4") for n in (0, 1))
    odd = ones.copy()
    odd[3, 5], odd[4, 6] = np.inf, np.nan
    x = fb.tensor(ones, device=units)
    for precision in ("high", "medium"):
        with fb.set_matmul_precision(precision):
            assert not (fb.tensor(zeros, device=units) @ x).numpy().any()
            y = (fb.tensor(odd, device=units) @ x).numpy()
        assert not np.isfinite(y[3:5]).any() and np.allclose(np.delete(y, (3, 4), 0), 64)


@pytest.mark.parametrize("variant", in_turn(["matrix64", "matrix64/f16"], 2), indirect=True)
@pytest.mark.share(5)
def test_long_sums_are_added_in_pieces(variant):
    units, _ = variant
    rng = np.random.default_rng(8)
    a, b = made(rng, 32, 8200), made(rng, 8200, 40)
    with fb.set_matmul_precision("high"):
        y = fb.tensor(a, device=units) @ fb.tensor(b, device=units)
    assert (
        templates(y)[-2] == "contract/subgroup_matrix.wgsl" and off(y, a.astype("f8") @ b.astype("f8")) < HIGH
    )


@pytest.mark.share(5)
def test_gradients_have_the_precision_of_their_backward(units):
    rng = np.random.default_rng(9)
    a, b = made(rng, 64, 64), made(rng, 64, 64)
    x, y = (fb.tensor(t, device=units).requires_grad_() for t in (a, b))
    with fb.set_matmul_precision("medium"):
        grads = (x @ y).sum().backward()
        assert on_units(grads[x])
    assert off(grads[x], np.ones((64, 64)) @ b.T.astype("f8")) < MEDIUM


# --- the setting ---


def test_the_setting():
    assert fb.get_matmul_precision() == "highest"
    with fb.set_matmul_precision("medium"):
        assert fb.get_matmul_precision() == "medium"
        with fb.set_matmul_precision("high"):
            assert fb.get_matmul_precision() == "high"
        assert fb.get_matmul_precision() == "medium"
    assert fb.get_matmul_precision() == "highest"
    assert fb.set_matmul_precision("high")(fb.get_matmul_precision)() == "high"
    assert fb.get_matmul_precision() == "highest"
    with pytest.raises(ValueError) as e:
        fb.set_matmul_precision("low")
    told = "set_matmul_precision('low'): unknown precision: use 'highest', 'high' or 'medium'"
    assert str(e.value) == told


def test_without_units_it_changes_nothing(gpu):
    if gpu.limits.matrix:
        pytest.skip("this adapter has matrix units")
    rng = np.random.default_rng(10)
    x, y = (fb.tensor(made(rng, 64, 64), device=gpu) for _ in range(2))
    exact = (x @ y).numpy()
    with fb.set_matmul_precision("medium"):
        assert np.array_equal((x @ y).numpy(), exact)


def test_highest_is_float32(units):
    x = fb.zeros(64, 64, device=units).realize()
    assert not on_units(x @ x)


# --- what fits ---


@pytest.mark.parametrize(
    "limits,fits",
    [
        (Limits(matrix=(REAL,), workgroup_memory=49152), ["matrix", "matrix64"]),
        (Limits(matrix=(REAL,), workgroup_memory=19000), ["matrix64"]),
        (Limits(matrix=(REAL,), workgroup_memory=16384), []),
        (Limits(matrix=(REAL._replace(m=24),), workgroup_memory=49152), []),
        (Limits(matrix=(REAL._replace(lanes=128),), workgroup_memory=49152), []),
        (Limits(workgroup_memory=49152), []),
    ],
)
def test_only_what_fits_is_a_candidate(limits, fits):
    x = fb.zeros(64, 64, device=PaperDevice(limits)).half().realize()
    order = toposort([(x @ x).node])
    context = Planner([order[-1]], order, limits).context
    head = next(n for n in order if n.op.kind == "contract")
    assert sorted(map(str, subgroup_matrix.candidates(product_of(context, head, head)))) == fits


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_checking_compilers_see_that_places_are_inside(precision):
    """Tint clamps no index into an array of known length that it can bound; what it can't bound costs half
    the speed: the subgroup's number, and views without a length."""
    device = PaperDevice(Limits(matrix=(REAL,), workgroup_memory=49152))
    x = fb.zeros(256, 256, device=device).realize()
    with fb.set_matmul_precision(precision):
        (x @ x).realize()
    (text,) = (wgsl for wgsl in device.shaders if "subgroupMatrixLoad" in wgsl)
    assert text.count("subgroup_id") == 3  # builtin, its name, and once more: bounded
    assert "let subgroup = min(subgroup_id, 3u);" in text
    assert not re.search(r"bufferView<array<[\w<>]+>>\(", text)


# --- training ---


@pytest.mark.share(5)
def test_float16_training_with_float32_masters(units):
    """An MLP whose forward and backward passes are of float16, and whose weights are kept in float32."""
    fb.manual_seed(0)
    x = fb.randn(64, 32, device=units).realize()
    target = (x[:, :8] * 0.5).tanh().realize()
    masters = [(fb.randn(*s, device=units) * s[0] ** -0.5).requires_grad_() for s in ((32, 64), (64, 8))]

    def loss_of():
        first, second = (w.half() for w in masters)
        y = ((x.half() @ first).relu() @ second).float()
        return ((y - target) ** 2).mean()

    optimizer = fb.optim.Adam(masters, lr=0.05)
    losses = []
    for _ in range(12):
        loss = loss_of()
        optimizer.step(loss.backward())
        losses.append(loss.item())
    assert all(w.dtype is fb.float32 for w in masters)
    assert losses[-1] < 0.25 * losses[0], losses
