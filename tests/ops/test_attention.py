"""Attention by its kernels: masks, sizes and gradients against the formula with all scores at once."""

import math
from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from helpers.compare import check, values
from helpers.draws import in_turn
from helpers.kernels import planned_for
from rows import ROWS
from rows.attention import attention, gradient

import flambeau as fb
from flambeau.core import choose
from flambeau.core.commands import dispatches
from flambeau.nn.functional import scaled_dot_product_attention as sdpa
from flambeau.ops.attention import launches

RNG = np.random.default_rng(0)
KEEP = RNG.random((5, 9)) > 0.4
KEEP[2] = False  # a row without any key
CASES = {
    "plain": ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4), {}),
    "longer than a workgroup, causal": ((3, 70, 8), (3, 70, 8), (3, 70, 8), {"is_causal": True}),
    "grouped queries, softcap": (
        (2, 4, 33, 6), (2, 2, 70, 6), (2, 2, 70, 10), {"enable_gqa": True, "softcap": 1.5},
    ),
    "broadcast heads": ((2, 3, 5, 8), (1, 1, 7, 8), (2, 1, 7, 8), {"scale": 0.3}),
    "bool mask of batches": ((2, 3, 5, 64), (2, 3, 100, 64), (2, 3, 100, 64),
                             {"mask": RNG.random((2, 1, 5, 100)) > 0.3}),
    "bias of heads": ((2, 3, 5, 8), (2, 3, 9, 8), (2, 3, 9, 8),
                      {"mask": RNG.normal(size=(3, 1, 9)).astype("f4")}),
    "a row without keys": ((5, 8), (9, 8), (9, 8), {"mask": KEEP}),
    "one query": ((2, 1, 16), (2, 50, 16), (2, 50, 16), {}),
    "wider than registers": ((1, 4, 264), (1, 6, 264), (1, 6, 8), {}),
}  # fmt: skip


def made(case, device):
    *shapes, attrs = CASES[case]
    attrs = dict(attrs)
    arrays = [np.random.default_rng(1).normal(size=s).astype("f4") for s in shapes]
    xs = [fb.tensor(a, device=device, requires_grad=True) for a in arrays]
    mask = attrs.pop("mask", None)
    given = None if mask is None else fb.tensor(mask, device=device)

    def reference(*arrays):
        return attention(*arrays, mask, **attrs)

    return [a.astype("f8") for a in arrays], xs, lambda *t: sdpa(*t, attn_mask=given, **attrs), reference


@pytest.mark.parametrize("scores", ["stored", "streamed"])  # where the device has the choice
@pytest.mark.parametrize("case", in_turn(CASES, 2))
@pytest.mark.share(5)
def test_attention_and_its_gradients(case, scores, device, monkeypatch):
    monkeypatch.setattr(choose, "forced", lambda: {"scores": scores})
    arrays, xs, compute, reference = made(case, device)
    y = compute(*xs)
    want = reference(*arrays)
    weights = np.random.default_rng(2).normal(size=want.shape).astype("f4")
    by_kernels = (y * fb.tensor(weights, device=device)).sum().backward()
    by_ops = (compute(*xs) * fb.tensor(weights, device=device)).sum().backward(create_graph=True)
    got, *grads = values(y, *(by_kernels[x] for x in xs), *(by_ops[x] for x in xs))
    check(got, want, 2e-6, case)
    for kernel, op in zip(grads[:3], grads[3:]):
        check(kernel, op, 5e-6, f"{case}: gradient by kernels and by ops")
    steps = [np.random.default_rng(3).normal(size=a.shape) for a in arrays]
    ends = [(reference(*(a + h * s for a, s in zip(arrays, steps))) * weights).sum() for h in (1e-4, -1e-4)]
    slope = sum((g * s).sum() for g, s in zip(grads[:3], steps))
    assert abs(slope - (ends[0] - ends[1]) / 2e-4) <= 2e-5 * max(1, *(np.abs(g).sum() for g in grads[:3]))


def test_software_adapters_store_scores_that_are_few(gpu):
    def kernels(n, software, **options):
        with planned_for(gpu, software):
            q, k, v = (fb.zeros(4, n, 16, device=gpu) for _ in range(3))
            return [k.name.split("+")[0] for k in sdpa(q, k, v, **options).plan()]

    few = kernels(64, True)
    assert few.count("matmul") == 2 and "attention" not in few
    assert "attention" in kernels(64, False)
    assert kernels(1024, True).count("matmul") == 2 and "attention" in kernels(1028, True)
    assert "attention" in kernels(64, True, is_causal=True, start=0)


def plan_gradients(device, heads):
    """The plan of attention's gradients for `heads` heads with 4,096 x 4,096 scores, 64 MB of each head."""
    from flambeau.fusion.planner import plan

    q, k, v = (fb.rand(heads, 4096, 16, device=device).requires_grad_() for _ in range(3))
    grads = sdpa(q, k, v).sum().backward()
    return plan([grads[t].node for t in (q, k, v)], device.limits)


def test_no_buffer_holds_the_scores(gpu):
    """The scores would be 256 MB; no value of the forward or backward pass has more than 2 MB."""
    planned = plan_gradients(gpu, 4)
    assert {"attention", "queries", "keys"} <= {k.name for k in planned.kernels}
    assert max(size for _, size in planned.stored) <= 2 << 20


def test_the_gradient_stores_at_most_256_megabytes(gpu, monkeypatch):
    """On a GPU weights and gradients of scores are stored up to 128 MB each, also if a tuned choice of fewer
    scores asks for them."""
    with planned_for(gpu, software=False, workgroup_memory=49152):
        large = [size for _, size in plan_gradients(gpu, 2).stored if size > 16 << 20]
        assert large == [128 << 20] * 2
        monkeypatch.setattr(choose, "forced", lambda: {"attention_slopes": "apart"})
        assert max(size for _, size in plan_gradients(gpu, 4).stored) <= 2 << 20
        # A line of one key is stored as four: 2 ** 24 queries would store 256 MB.
        nodes = [fb.zeros(1, n, 4, device=gpu).node for n in (1 << 24, 1, 1)]
        assert launches.way_of_slopes(gpu.limits, nodes, False) == "computed"


# --- the kernels of GPUs ---


@pytest.fixture
def forced(gpu, monkeypatch):
    """Plans for a GPU, with one variant wherever it serves; the gradients of the scores "computed" or
    "stored"."""

    def force(name, slopes="computed"):
        monkeypatch.setattr(choose, "forced", lambda: {"attention": name, "attention_slopes": slopes})
        return planned_for(gpu, software=False, workgroup_memory=49152)

    return force


def templates(y):
    return {k.shader.template for k in y.plan()}


@pytest.mark.parametrize("tile", in_turn(range(len(launches.FORWARD)), len(launches.FORWARD)))
@pytest.mark.share(2)
def test_forward_in_each_tile(tile, gpu, forced):
    rng, bias = np.random.default_rng(4), np.random.default_rng(5).normal(size=(4, 70, 75)).astype("f4")
    q, k, v = (rng.normal(size=s).astype("f4") for s in ((2, 4, 70, 20), (2, 2, 75, 20), (2, 2, 75, 36)))
    options = {"is_causal": True, "softcap": 2.0, "enable_gqa": True}
    with forced(launches.FORWARD[tile].name):
        y = sdpa(*(fb.tensor(x, device=gpu) for x in (q, k, v)), fb.tensor(bias, device=gpu), **options)
        (kernel,) = y.plan()
        got = y.numpy()
    assert dict(kernel.shader.options)["t"].name == launches.FORWARD[tile].name
    check(got, attention(*(x.astype("f8") for x in (q, k, v)), bias, **options), 2e-6, "tile")


GRADIENTS = {t.name: t for t in (*launches.QUERIES, *launches.KEYS)}


@pytest.mark.parametrize("tile", in_turn(GRADIENTS, len(GRADIENTS)))
@pytest.mark.share(2)
def test_gradients_in_each_tile(tile, gpu, forced):
    rng, keep = np.random.default_rng(6), np.random.default_rng(7).random((70, 75)) > 0.3
    shapes = ((2, 4, 70, 20), (2, 2, 75, 20), (2, 2, 75, 36))
    xs = [fb.tensor(rng.normal(size=s).astype("f4"), device=gpu).requires_grad_() for s in shapes]
    weights = fb.tensor(rng.normal(size=(2, 4, 70, 36)).astype("f4"), device=gpu)

    def grads(**kw):
        y = sdpa(*xs, fb.tensor(keep, device=gpu), is_causal=True, softcap=2.0, enable_gqa=True)
        found = (y * weights).sum().backward(**kw)
        return [found[x] for x in xs]

    with forced(tile):
        made = values(*grads())
    for got, want in zip(made, values(*grads(create_graph=True)), strict=True):
        check(got, want, 5e-6, tile)


@pytest.mark.parametrize("way", in_turn(("apart", "stored"), 2))
@pytest.mark.parametrize("causal", in_turn((False, True), 2))
@pytest.mark.parametrize("tile", in_turn(["64x64.8x8.16.0", "128x64.8x8.16.1", "64x32.4x4.8.0"], 3))
@pytest.mark.share(5)
def test_products_of_stored_gradients_of_scores(tile, causal, way, gpu, forced):
    """Lines of whole vec4s whose last keys are absent; rows below and beyond the diagonal; shared keys."""
    rng, keep = np.random.default_rng(6), np.random.default_rng(7).random((137, 75)) > 0.3
    shapes = ((2, 4, 137, 20), (2, 2, 75, 20), (2, 2, 75, 36))
    xs = [fb.tensor(rng.normal(size=s).astype("f4"), device=gpu).requires_grad_() for s in shapes]
    weights = fb.tensor(rng.normal(size=(2, 4, 137, 36)).astype("f4"), device=gpu)

    def grads(**kw):
        y = sdpa(*xs, fb.tensor(keep, device=gpu), is_causal=causal, softcap=2.0, enable_gqa=True)
        found = (y * weights).sum().backward(**kw)
        return [found[x] for x in xs]

    with forced(tile, way):
        by_query, *others = grads()
        assert "queries" not in {k.name for k in by_query.plan()}
        gradients = values(by_query, *others)
    for got, want in zip(gradients, values(*grads(create_graph=True)), strict=True):
        check(got, want, 5e-6, tile)


def test_few_gradients_of_scores_are_stored(gpu):
    """192 heads of 197 rows, 30 MB, and no 4,096 rows of 12 heads, 0.8 GB."""
    with planned_for(gpu, software=False, workgroup_memory=49152):
        for heads, n, names in ((192, 197, {"scores_slopes"}), (12, 4096, {"keys", "queries"})):
            q, k, v = (fb.empty(heads, n, 64, device=gpu).requires_grad_() for _ in range(3))
            found = sdpa(q, k, v).sum().backward()
            planned = {kernel.name for x in (q, k, v) for kernel in found[x].plan()}
            assert planned & {"keys", "queries", "scores_slopes"} == names


@pytest.mark.parametrize("dtype", in_turn((fb.float16, fb.bfloat16), 2))
@pytest.mark.share(5)
def test_tiles_read_and_write_16_bit_floats(dtype, gpu, forced):
    rng = np.random.default_rng(8)
    xs = [fb.tensor(rng.normal(size=(2, n, 20)), dtype, gpu).requires_grad_() for n in (70, 50, 50)]
    exact = [x.float().numpy().astype("f8") for x in xs]
    with forced("64x64.8x8.16.1"):
        y = sdpa(*xs)
        assert y.dtype is dtype and "attention/tiles.wgsl" in templates(y)
        found = y.sum().backward()
        made = values(y.float(), *(found[x].float() for x in xs))
    slow = sdpa(*xs).float().sum().backward(create_graph=True)
    eps = fb.finfo(dtype).eps
    for got, want in zip(made, [attention(*exact), *values(*(slow[x].float() for x in xs))], strict=True):
        assert np.abs(got - want).max() <= 4 * eps * max(1, np.abs(want).max())


FEW = {
    "one query": ((2, 3, 1, 20), (2, 3, 300, 20), (2, 3, 300, 36), {}),
    "a group": ((2, 8, 1, 64), (2, 2, 300, 64), (2, 2, 300, 64), {"enable_gqa": True, "softcap": 2.0}),
    "three of a group": ((4, 3, 16), (2, 140, 16), (2, 140, 16), {"enable_gqa": True, "is_causal": True}),
    "narrow heads": ((2, 16, 4), (2, 140, 4), (2, 140, 4), {}),
    "16 rows to a key": ((3, 16, 4), (3, 1, 4), (3, 1, 4), {}),
    "9 rows to 2 keys": ((1, 9, 4), (1, 2, 4), (1, 2, 4), {"is_causal": True, "scale": 20.0}),
    "a mask": ((2, 3, 5, 8), (2, 3, 300, 8), (2, 3, 300, 8), {"mask": RNG.random((3, 5, 300)) > 0.95}),
    "no key": ((5, 8), (9, 8), (9, 8), {"mask": np.zeros((5, 9), bool)}),
    "a bias": ((1, 5, 256), (1, 90, 256), (1, 90, 256), {"mask": RNG.normal(size=(5, 90)).astype("f4")}),
}  # fmt: skip


@pytest.mark.parametrize("pieces", ["one", "several"])
@pytest.mark.parametrize("case", FEW)
@pytest.mark.share(5)
def test_few_rows_to_many_keys(case, pieces, gpu, forced, monkeypatch):
    if pieces == "several":
        monkeypatch.setattr(launches, "ONE_PIECE", 0)
    *shapes, attrs = FEW[case]
    q, k, v = (np.random.default_rng(9).normal(size=s).astype("f4") for s in shapes)
    mask, options = attrs.get("mask"), {n: x for n, x in attrs.items() if n != "mask"}
    given = None if mask is None else fb.tensor(mask, device=gpu)
    with forced("few"):
        y = sdpa(*(fb.tensor(x, device=gpu) for x in (q, k, v)), given, **options)
        join = {"attention/split_keys_join.wgsl"} if pieces == "several" and k.shape[-2] > 128 else set()
        assert templates(y) == {"attention/split_keys.wgsl", *join}
        got = y.numpy()
    check(got, attention(*(x.astype("f8") for x in (q, k, v)), mask, **options), 2e-6, case)


@pytest.mark.parametrize(
    "length,d,causal,taken",
    [
        (64, 64, True, ["64x64.8x8.16.1", "64x64.8x8.16.1", "64x64.8x8.16.0"]),
        (256, 64, True, ["64x128.8x8.16.1", "64x128.8x8.16.1", "64x64.8x8.16.0"]),
        (512, 64, True, ["64x128.8x8.16.1", "128x128.8x8.16.1", "128x128.8x8.16.1"]),
        (1024, 64, True, ["128x128.8x8.16.1"] * 3),
        (256, 64, False, ["128x128.8x8.16.1"] * 3),
        (256, 32, False, ["128x64.8x8.16.1"] * 3),
        (256, 128, True, ["128x128.8x8.16.1"] * 3),
    ],
)
def test_short_causal_rows_take_low_tiles(length, d, causal, taken, gpu, monkeypatch):
    """Of many rows; of few, all take low ones."""
    monkeypatch.setattr(choose, "forced", lambda: {"attention_slopes": "computed"})
    with choose.questions() as asked, planned_for(gpu, software=False):
        q, k, v = (fb.empty(34000 // length + 1, length, d, device=gpu).requires_grad_() for _ in range(3))
        found = sdpa(q, k, v, is_causal=causal).sum().backward()
        for x in (q, k):
            found[x].plan()
    chosen = {bucket[0]: default for family, bucket, _, default in asked if family == "attention"}
    assert [chosen[kind] for kind in ("forward", "queries", "keys")] == taken


LOW = float(np.finfo("f4").min)


def weighed_by(q, k, v, mask, g):
    """Attention and its gradients by the formula: what is added to float32's lowest number is lost."""
    s = (q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + mask).astype("f4").astype("f8")
    w = np.exp(s - np.maximum(s.max(-1, keepdims=True), LOW))
    total = w.sum(-1, keepdims=True)
    w = w / np.where(total == 0, 1, total)
    y = w @ v
    z = w * (g @ np.swapaxes(v, -1, -2) - (g * y).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return y, z @ k, np.swapaxes(z, -1, -2) @ q, np.swapaxes(w, -1, -2) @ g


@pytest.mark.parametrize(
    "variant", ["cpu", "stored", *in_turn(["streamed", "rows", "64x64.8x8.16.1", "few"], 4)]
)
@pytest.mark.share(5)
def test_rows_of_the_lowest_numbers_are_means(variant, gpu, forced, monkeypatch):
    """Rows with float32's lowest number, -1e9 or -inf in every place, or in some."""
    rng = np.random.default_rng(4)
    q, k, v, g = (rng.normal(size=(2, n, 8)).astype("f4") for n in (6, 9, 9, 6))
    mask = np.zeros((6, 9), "f4")
    mask[0, :4], mask[1], mask[2], mask[3], mask[4] = LOW, LOW, -np.inf, LOW, -1e9
    mask[3, 5:] = -np.inf
    device = "cpu" if variant == "cpu" else gpu

    def run():
        xs = [fb.tensor(x, device=device, requires_grad=True) for x in (q, k, v)]
        y = sdpa(*xs, attn_mask=fb.tensor(mask, device=device))
        grads = (y * fb.tensor(g, device=device)).sum().backward()
        by_ops = (sdpa(*xs, attn_mask=fb.tensor(mask, device=device)) * fb.tensor(g, device=device)).sum()
        by_ops = by_ops.backward(create_graph=True)
        made = values(y, *(grads[x] for x in xs))
        with planned_for(gpu, software=True):  # whose kernels are small: what is forced was read before
            return [*made, *values(*(by_ops[x] for x in xs))]

    if variant in ("stored", "streamed"):
        with planned_for(gpu, software=True):
            monkeypatch.setattr(choose, "forced", lambda: {"scores": variant})
            made = run()
    elif variant == "cpu":
        made = run()
    else:
        with forced(variant):
            made = run()
    want = weighed_by(*(x.astype("f8") for x in (q, k, v)), mask.astype("f8"), g.astype("f8"))
    for got, right in zip(made, (*want, *want[1:]), strict=True):
        check(got, right, 2e-6, variant)
    np.testing.assert_allclose(made[0][:, 1], v.mean(1), atol=1e-6)
    assert not made[0][:, 2].any()


@pytest.mark.share(5)
def test_huge_scores(gpu, forced):
    q, k, v = (np.random.default_rng(3).normal(size=(2, 40, 16)).astype("f4") for _ in range(3))
    want = attention(q.astype("f8") * 1e18, k.astype("f8") * 1e15, v.astype("f8"))
    for name in ("rows", "64x64.8x8.16.1"):
        with forced(name):
            got = sdpa(*(fb.tensor(x, device=gpu) for x in (q * 1e18, k * 1e15, v))).numpy()
        check(got, want, 1e-6, name)


# --- a causal mask that begins later, and the cache that it is for ---


@pytest.mark.parametrize("variant", ("rows", "64x64.8x8.16.1", "few"))
@pytest.mark.parametrize("kind", ("number", "tensor", "host scalar"))
@pytest.mark.share(5)
def test_start(variant, kind, gpu, forced):
    q, k, v = (np.random.default_rng(3).normal(size=(2, n, 16)).astype("f4") for n in (3, 90, 90))
    start = {"number": 70, "tensor": fb.tensor([70], device=gpu), "host scalar": fb.HostScalar(70)}[kind]
    want = attention(*(x.astype("f8") for x in (q, k, v)), np.arange(90) <= np.arange(3)[:, None] + 70)
    with forced(variant):
        xs = [fb.tensor(x, device=gpu).requires_grad_() for x in (q, k, v)]
        y = sdpa(*xs, is_causal=True, start=start)
        grads = y.sum().backward()
        got, *found = values(y, *(grads[x] for x in xs))
        check(got, want, 2e-6, variant)
    mask = fb.tensor(np.arange(90) <= np.arange(3)[:, None] + 70, device=gpu)
    by_mask = sdpa(*xs, mask).sum().backward()
    for ours, theirs in zip(found, values(*(by_mask[x] for x in xs)), strict=True):
        check(ours, theirs, 5e-6, variant)


def by_rows(q, k, v, starts, keep=True):
    """Each row of a batch, masked from its own place on, in float64."""
    n, m = q.shape[-2], k.shape[-2]
    masks = np.arange(m) <= np.arange(n)[:, None] + np.array(starts)[:, None, None, None]
    return attention(*(x.astype("f8") for x in (q, k, v)), masks & keep, enable_gqa=True)


@pytest.mark.parametrize("variant", ("rows", "64x64.8x8.16.1", "few", "cpu"))
@pytest.mark.share(2)
def test_a_start_for_each_row(variant, gpu, forced):
    """Four rows at places of their own, one past the end, of few and of many queries, with and without a mask
    beside; a row is bit by bit as with other neighbours."""
    rng, starts = np.random.default_rng(3), [0, 57, 21, 90]
    device = "cpu" if variant == "cpu" else gpu
    for n in (1, 3, 40) if variant != "few" else (1, 3):
        sizes = ((4, 4, n, 16), (4, 2, 90, 16), (4, 2, 90, 8))
        arrays = [rng.normal(size=s).astype("f4") for s in sizes]
        keep = rng.random((4, 1, 1, 90)) < 0.8
        with forced(variant) if variant != "cpu" else nullcontext():
            xs = [fb.tensor(x, device=device) for x in arrays]
            at, mask = fb.tensor(starts, device=device), fb.tensor(keep, device=device)
            y = sdpa(*xs, is_causal=True, start=at, enable_gqa=True)
            other = sdpa(*xs, is_causal=True, start=at - 5 * (at == 57).int(), enable_gqa=True)
            masked = sdpa(*xs, mask, is_causal=True, start=at, enable_gqa=True)
            got, moved, kept = values(y, other, masked)
        check(got, by_rows(*arrays, starts), 2e-6, f"{variant}, {n} queries")
        same = [0, 2, 3]
        assert np.array_equal(got[same], moved[same]) and not np.array_equal(got[1], moved[1])
        check(kept, by_rows(*arrays, starts, keep), 2e-6, f"{variant}, {n} queries, masked")


def test_gradients_with_a_start_for_each_row(device):
    rng, starts = np.random.default_rng(4), [2, 5]
    arrays = [rng.normal(size=s).astype("f4") for s in ((2, 4, 3, 8), (2, 2, 9, 8), (2, 2, 9, 8))]
    mask = np.arange(9) <= np.arange(3)[:, None] + np.array(starts)[:, None, None, None]
    found = []
    for options in ({"is_causal": True, "start": fb.tensor(starts, device=device)}, {"attn_mask": mask}):
        xs = [fb.tensor(x, device=device).requires_grad_() for x in arrays]
        if "attn_mask" in options:
            options = {"attn_mask": fb.tensor(mask, device=device)}
        grads = sdpa(*xs, enable_gqa=True, **options).square().sum().backward()
        found.append(values(*(grads[x] for x in xs)))
    for ours, theirs in zip(*found, strict=True):
        check(ours, theirs, 5e-6, "gradient")


def test_rows_are_put_at_a_place_for_each_entry(device):
    """Drawn places, also before the first row and past the end; the recorded call writes its rows alone."""
    rng = np.random.default_rng(5)
    for width, n in ((16, 1), (16, 3), (3, 2)):
        table, rows = (rng.normal(size=(5, 2, m, width)).astype("f4") for m in (11, n))
        for starts in (rng.integers(0, 11, 5), np.array([-2, 0, 10, 11, 99])):
            want = table.copy()
            for b, i in product(range(5), range(n)):
                if 0 <= starts[b] + i < 11:
                    want[b, :, starts[b] + i] = rows[b, :, i]
            held, new = fb.tensor(table, device=device), fb.tensor(rows, device=device)
            at = fb.tensor(starts.astype("i4"), device=device)
            assert np.array_equal(fb.nn.functional.put_rows(held, new, at).numpy(), want)
            held.assign_(fb.nn.functional.put_rows(held, new, at))
            assert np.array_equal(held.numpy(), want)
    with pytest.raises(
        ValueError, match=r"start must be one integer or one for each of 5 rows, not i32\[4\]"
    ):
        fb.nn.functional.put_rows(held, new, at[:4])


def test_start_on_the_cpu():
    q, k, v = (np.random.default_rng(3).normal(size=(2, n, 16)).astype("f4") for n in (3, 9, 9))
    y = sdpa(*(fb.tensor(x, device="cpu") for x in (q, k, v)), is_causal=True, start=4)
    check(y.numpy(), attention(q, k, v, np.arange(9) <= np.arange(3)[:, None] + 4), 2e-6, "start")


@pytest.mark.parametrize("software", (False, True))
def test_decoding_step_by_step_is_the_whole(software, gpu):
    """A prompt of five, then recorded steps of one; groups of two query heads share keys."""
    sizes = ((2, 4, 12, 16), (2, 2, 12, 16), (2, 2, 12, 8))
    q, k, v = (np.random.default_rng(2).normal(size=s).astype("f4") for s in sizes)
    want = attention(*(x.astype("f8") for x in (q, k, v)), is_causal=True, enable_gqa=True)
    with planned_for(gpu, software):
        cache = fb.nn.KVCache(2, 2, 20, 16, 8, device=gpu)
        step = fb.jit(lambda *new: cache(*new))
        got = [cache(*(fb.tensor(x[:, :, :5], device=gpu) for x in (q, k, v))).numpy()]
        for at in range(5, 12):
            got.append(step(*(fb.tensor(x[:, :, at : at + 1], device=gpu) for x in (q, k, v))).numpy())
    check(np.concatenate(got, 2), want, 2e-6, "decoding")
    assert len(step.programs) == 1 and cache.count.item() == 12
    check(cache.keys.numpy()[:, :, :12], k, 0, "keys")
    cache.reset()
    assert cache.count.item() == 0


def grids(words):
    """The workgroups of each dispatch among commands."""
    return [c.grid for c in dispatches(words)]


def test_the_cache_is_written_in_place(gpu):
    """A recorded step writes its rows alone: threads for 4 x 16 elements, not for 4 x 5000 x 16."""
    cache = fb.nn.KVCache(2, 2, 5000, 16, device=gpu)
    step = fb.jit(lambda k, v: cache.append(k, v)[2])
    new = [fb.rand(2, 2, 1, 16, device=gpu) for _ in range(2)]
    places = [step(*new).item() for _ in range(3)]
    assert places == [0, 1, 2]
    ((program,),) = step.programs.values()
    # one workgroup each for the new length, the keys and the values; a GPU runs several of them as one kernel
    assert sum(math.prod(grid) for grid in grids(program.words)) == 3


def test_a_place_past_the_end_is_left_out(device):
    table, rows = fb.zeros(4, 8, device=device), fb.ones(3, 8, device=device)
    for start in (3, 4, 100):
        got = fb.nn.functional.put_rows(table, rows, start).numpy()
        assert got.sum() == 8 * (start == 3)


def test_errors():
    q = fb.zeros(2, 3, 4, device="cpu")
    with pytest.raises(ValueError) as e:
        sdpa(q, fb.zeros(2, 3, 5, device="cpu"), q)
    assert str(e.value) == (
        "scaled_dot_product_attention(f32[2, 3, 4], f32[2, 3, 5], f32[2, 3, 4]):"
        " features of query and key differ: 4 and 5"
    )
    with pytest.raises(ValueError, match="query heads must be a multiple of key heads"):
        sdpa(fb.zeros(3, 5, 4, device="cpu"), q, q, enable_gqa=True)


@pytest.mark.share(4)
@pytest.mark.parametrize("variant", ["rows", "units"])  # those that store no slopes: a tile does it
def test_keys_beside_stored_slopes(variant, gpu, forced):
    row = ROWS["_keys"]
    arrays = [i.make(np.random.default_rng(3)) for i in row.inputs]
    with forced(variant):
        got = gradient("_keys", has_slopes=True)(*(fb.tensor(a, device=gpu) for a in arrays)).numpy()
    check(got, row.expected(*arrays), 1e-5, variant)
