"""Contractions on a GPU with many threads: every variant gives the same values, and what is read is fused."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn

import flambeau as fb
from flambeau.core import choose
from flambeau.core.limits import Limits, MachineSpeed
from flambeau.device import lanes_of
from flambeau.fusion.planner import plan
from flambeau.kernels.contract import build, cost_model
from flambeau.kernels.contract.variant import Variant
from flambeau.ops.contract import contract

F = fb.nn.functional
WIDE = Limits(software=False)
SOFTWARE = Limits(software=True)
VARIANTS = (
    "registers",
    "skinny_short",
    "depthwise",
    "64x64",
    "64x128/2",
    "128x128/1.33",
    "32x32",
    "16x128/4",
    "skinny",
    "skinny_deep",
    "skinny_long",
    "skinny/2",
)


@pytest.fixture
def many_threads(gpu, monkeypatch):
    """The adapter planned for as if it were a real GPU."""
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=False))
    monkeypatch.setattr(gpu, "plans", {})
    return gpu


@pytest.fixture(params=in_turn(VARIANTS, 2))
def forced(request, monkeypatch, many_threads):
    """The same with one variant of contractions wherever it fits. Each run takes half of the variants."""
    monkeypatch.setenv("FLAMBEAU_VARIANT", f"contract={request.param}")
    choose.forced.cache_clear()
    yield many_threads
    choose.forced.cache_clear()


def kernels(tensor, limits):
    return [k.name for k in plan([tensor.node], limits).kernels]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def test_a_long_sum_is_split_where_threads_are_many():
    x, w, b = (fb.zeros(*s).realize() for s in ((4, 40960), (40960, 8), (8,)))
    y = (x @ w + b).relu()
    assert kernels(y, WIDE) == ["matmul", "sum+add+relu"]
    assert kernels(y, SOFTWARE) == ["matmul+add+relu"]


def test_workgroups_past_the_last_write_nothing(many_threads, monkeypatch):
    """A line of workgroups folded into two dims is rounded up."""
    monkeypatch.setattr(many_threads, "limits", replace(many_threads.limits, groups=7))
    x = numbers(3000, 2)
    np.testing.assert_allclose(fb.tensor(x, device=many_threads).sum(1).numpy(), x.sum(1), rtol=1e-6)


@pytest.mark.parametrize("m,k,n,launches", [(1, 3072, 768, 1), (1, 4096, 2048, 2), (4, 3072, 768, 2)])
def test_a_vector_of_little_to_read_takes_one_launch(m, k, n, launches):
    x, w = fb.zeros(m, k).realize(), fb.zeros(k, n).realize()
    assert len(kernels(x @ w, WIDE)) == launches


def test_enough_results_are_not_split():
    x = fb.zeros(2048, 2048).realize()
    assert kernels(x @ x, WIDE) == ["matmul"]


@pytest.mark.share(5)
def test_products_have_the_same_value(forced):
    for i, (m, k, n) in enumerate(((5, 3000, 7), (64, 64, 48), (1, 513, 40))):
        x, w, b = numbers(m, k), numbers(k, n), numbers(n)
        want = np.maximum(x.astype(float) @ w + b, 0)
        for flip in in_turn((False, True), 2, first=i):
            right = fb.tensor(w.T.copy(), device=forced).t() if flip else fb.tensor(w, device=forced)
            y = (fb.tensor(x, device=forced) @ right + fb.tensor(b)).relu()
            np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-3)


SKINNY = [Variant(name) for name in ("skinny", "skinny_deep", "skinny_long", "skinny_short")]
SKINNY += in_turn([Variant("skinny", n) for n in cost_model.SPLITS if n not in cost_model.UNEVEN], 16)


@pytest.mark.parametrize("variant", SKINNY, ids=str)
@pytest.mark.share(5)
def test_few_rows_at_whole_turns_and_beside_them(variant, many_threads, monkeypatch):
    """Sums of whole turns and pieces, one more and one less, and drawn ones; both sides read both ways.

    Each order is a kernel to compile: in pieces each length is read in one of three, other ones for others,
    and as a whole in two of the eight, the others in the next three runs.
    """
    monkeypatch.setattr(choose, "forced", lambda: {"contract": str(variant)})
    rng = np.random.default_rng(variant.split)
    turn = rng.choice([256, 512]) * variant.split
    summed = {256, 512, 1024, turn, turn + 256, turn - 1, turn + 1, int(rng.integers(turn, 2 * turn + 999))}
    orders, wrong, at = [*np.ndindex(2, 2, 2)], [], many_threads
    whole = in_turn(orders, 4)
    for i, k in enumerate(sorted(summed)):
        m, n = (int(rng.integers(1, high)) for high in (9, 70))
        a, b = rng.standard_normal((k, m)).astype("f4"), rng.standard_normal((k, n)).astype("f4")
        want = a.T.astype("f8") @ b
        for is_flat, is_flipped, is_turned in (
            whole if variant.split == 1 else [orders[(int(variant.split) + 3 * (i % 3)) % 8]]
        ):
            x, w = (
                fb.tensor(t.T.copy(), device=at).T if turned else fb.tensor(t, device=at)
                for t, turned in ((a, is_flat), (b, is_flipped))
            )
            x = x.T
            got = (w.T @ x.T).T if is_turned else x @ w
            error = np.abs(got.numpy() - want).max() / np.abs(want).max()
            wrong += [(m, k, n, is_flat, is_flipped, is_turned, float(error))] * (not error < 2e-5)
    assert not wrong


@pytest.mark.parametrize("flip", in_turn((False, True), 2))
@pytest.mark.parametrize("shape", [(260, 200, 300, 1), (130, 100, 41, 5), (257, 330, 129, 3)])
@pytest.mark.share(5)
def test_the_last_tiles_are_cut(shape, flip, many_threads, monkeypatch):
    """As on a GPU of two cores: whole rounds of workgroups, and the last one in pieces along the sum."""
    monkeypatch.setattr(many_threads, "limits", replace(many_threads.limits, machine=MachineSpeed(2)))
    monkeypatch.setattr(choose, "forced", lambda: {"contract": "128x128+"})
    m, k, n, batch = shape
    a, b, c = numbers(batch, m, k), numbers(batch, k, n), numbers(n)
    want = np.maximum(a.astype(float) @ b + c, 0)
    right = fb.tensor(b.swapaxes(1, 2).copy() if flip else b, device=many_threads)
    y = (fb.tensor(a, device=many_threads) @ (right.mT if flip else right) + fb.tensor(c)).relu()
    assert [x.name for x in y.plan()] == ["matmul+add+relu", "sum+add+relu"]
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("left", ["turned", "as it lies"])
@pytest.mark.share(5)
def test_the_rule_cuts_long_sums_and_gives_the_same_value(left, many_threads, monkeypatch):
    """By the rule, with limits that small sizes reach: rounds of tiles on one core, sums of 301 places."""
    monkeypatch.setattr(many_threads, "limits", replace(many_threads.limits, machine=MachineSpeed(1)))
    monkeypatch.setattr(cost_model, "LONG", 80)
    monkeypatch.setattr(cost_model, "DRIFT", 1e5)  # a second pass is dear beside so little work
    taken = []
    make = build.product_kernels
    spied = "flambeau.kernels.contract.contract.product_kernels"
    monkeypatch.setattr(spied, lambda product, variant: taken.append(variant) or make(product, variant))
    a, b = numbers(384, 301), numbers(301, 772)
    given = fb.tensor(a.T.copy() if left == "turned" else a, device=many_threads)
    y = (given.mT if left == "turned" else given) @ fb.tensor(b, device=many_threads)
    np.testing.assert_allclose(y.numpy(), a.astype(float) @ b, rtol=1e-4, atol=1e-3)
    (variant,) = taken
    assert variant.split * 80 >= 301, variant


def planned(tensor):
    return plan([tensor.node], tensor.device.limits).kernels


@pytest.mark.parametrize("pieces, few, lanes", [(12, 40, 1), (32, 40, 4), (64, 40, 16), (64, 300, 4)])
@pytest.mark.share(5)
def test_pieces_of_few_results_are_added_by_several_threads(pieces, few, lanes, many_threads, monkeypatch):
    monkeypatch.setattr(choose, "forced", lambda: {"contract": f"32x32/{pieces}"})
    a, b, c = numbers(few, 64 * pieces), numbers(64 * pieces, few - 3), numbers(few, few - 3)
    y = fb.tensor(a, device=many_threads) @ fb.tensor(b, device=many_threads)
    z = (y - fb.tensor(c, device=many_threads)).abs()
    assert dict(planned(z)[1].shader.options)["lanes"] == lanes
    np.testing.assert_allclose(z.numpy(), np.abs(a.astype(float) @ b - c), rtol=1e-4, atol=2e-3)


@pytest.mark.share(5)
def test_integers_have_the_same_value(forced):
    a, b = (numbers(*s).round().astype("int32") for s in ((6, 70), (70, 5)))
    y = fb.tensor(a, device=forced) @ fb.tensor(b, device=forced)
    np.testing.assert_array_equal(y.numpy(), a @ b)


@pytest.mark.share(5)
def test_gradients_of_a_convolution_have_the_same_value(forced):
    x, w, g = numbers(4, 3, 12, 12), numbers(6, 3, 3, 3), numbers(4, 6, 12, 12)

    def gradients(device):
        given, weight = (fb.tensor(a, device=device, requires_grad=True) for a in (x, w))
        y = F.conv2d(given, weight, padding=1)
        found = (y * fb.tensor(g, device=device)).sum().backward()
        return values(found[given], found[weight])

    for ours, reference in zip(gradients(forced), gradients("cpu"), strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-4, atol=1e-3)


def test_weights_are_laid_out_anew_where_many_tiles_read_them(many_threads, monkeypatch):
    monkeypatch.setattr(build, "KERNEL", 0)
    x, w = numbers(64, 16, 9, 9), numbers(32, 16, 3, 3)
    y = F.conv2d(fb.tensor(x, device=many_threads), fb.tensor(w), padding=1)
    assert [k.name for k in y.plan()][:2] == ["copy", "conv2d"]
    want = F.conv2d(fb.tensor(x, device="cpu"), fb.tensor(w, device="cpu"), padding=1)
    np.testing.assert_allclose(y.numpy(), want.numpy(), rtol=1e-4, atol=1e-3)


WINDOWS = ({}, {"stride": 2}, {"padding": 2, "dilation": 2}, {"padding": 1, "groups": 4})


@pytest.mark.parametrize("layout", ["view", "copy"])
@pytest.mark.parametrize("attrs", in_turn(WINDOWS, 4), ids=str)
@pytest.mark.share(5)
def test_windows_have_the_same_value_as_they_lie_and_laid_out(layout, attrs, many_threads, monkeypatch):
    """A convolution of odd sizes and both its gradients."""
    monkeypatch.setattr(choose, "forced", lambda: {"windows": layout})
    x, w, b = numbers(3, 8, 11, 9), numbers(12, 8 // attrs.get("groups", 1), 3, 2), numbers(12)

    def gradients(device):
        given = [fb.tensor(a, device=device, requires_grad=True) for a in (x, w, b)]
        y = F.conv2d(*given, **attrs).sigmoid()
        found = y.square().sum().backward()
        return values(y, *(found[t] for t in given))

    for ours, reference in zip(gradients(many_threads), gradients("cpu"), strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [(12, 16), (7, 13), (40,), (4, 5, 6)])
@pytest.mark.share(2)
def test_depthwise_convolutions_share_the_cells_of_four_windows(size, many_threads, monkeypatch):
    """Strides and dilations that share cells or not, lines that end within four columns or not."""
    monkeypatch.setattr(choose, "forced", lambda: {"contract": "depthwise"})
    name = f"conv{len(size)}d"
    x, w = numbers(2, 3, *size), numbers(6, 1, *(3,) * len(size))
    for attrs in ({}, {"stride": 2, "padding": 1}, {"padding": 2, "dilation": 2}):
        y, want = (
            getattr(F, name)(fb.tensor(x, device=d), fb.tensor(w, device=d), groups=3, **attrs).relu()
            for d in (many_threads, "cpu")
        )
        assert [k.name for k in y.plan()] == [f"{name}+relu"]
        if y.shape[-1] >= 4:
            assert "cell1" in y.wgsl()
        np.testing.assert_allclose(y.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


def test_a_large_weight_gradient_reads_a_copy_with_zeros_and_a_small_one_does_not(many_threads):
    for channels, copies in ((64, ["copy"]), (4, [])):
        x, w = (
            fb.zeros(*s, device=many_threads) for s in ((32, channels, 56, 56), (channels, channels, 5, 5))
        )
        w = w.realize().requires_grad_()
        y = F.conv2d(x.realize(), w, padding=2)
        g = fb.ones(*y.shape, device=many_threads).realize()
        made = [k.name for k in (y * g).sum().backward()[w].plan()]
        assert made == [*copies, "conv_weight+mul", "sum"]


@pytest.mark.share(2)
def test_batches_have_the_same_value(forced):
    a, b = numbers(3, 2, 600), numbers(3, 600, 4)
    y = fb.tensor(a, device=forced) @ fb.tensor(b, device=forced)
    np.testing.assert_allclose(y.numpy(), a.astype(float) @ b, rtol=1e-4, atol=1e-3)


def test_what_is_cheap_is_computed_where_it_is_read(many_threads):
    """Weights of 8 bits with a scale a column, of 4 bits with a scale a block, and an activation."""
    x, w, s = numbers(3, 64), numbers(64, 20), np.abs(numbers(20))
    whole = (w * 20).round().astype("int8")
    at = lambda a: fb.tensor(a, device=many_threads)  # noqa: E731
    y = at(x) @ (at(whole).to(fb.float32) * at(s))
    assert [k.name for k in y.plan()] == ["matmul+cast+mul"]
    np.testing.assert_allclose(y.numpy(), x @ (whole * s), rtol=1e-4, atol=1e-3)
    y = (at(x) * 2 + 1).relu() @ at(w)
    assert [k.name for k in y.plan()] == ["matmul+mul+add+relu"]
    np.testing.assert_allclose(y.numpy(), np.maximum(x * 2 + 1, 0) @ w, rtol=1e-4, atol=1e-3)


@pytest.mark.share(5)
def test_blocks_of_four_bits_are_unpacked_where_they_are_read(many_threads):
    rng = np.random.default_rng(0)
    x, scale = numbers(5, 64), np.abs(numbers(12, 2))
    words = rng.integers(0, 2**32, (12, 2, 4), "u4")  # [columns, blocks, words of 8]
    bits = (words[..., None] >> (4 * np.arange(8, dtype="u4"))) & 15
    want = x @ ((bits.astype("f4") - 8).reshape(12, 2, 32) * scale[..., None]).reshape(12, 64).T
    at = lambda a: fb.tensor(a, device=many_threads)  # noqa: E731
    shift = (fb.arange(8, device=many_threads) * 4).to(fb.uint32)
    each = (at(words).unsqueeze(-1).bitwise_right_shift(shift) & 15).to(fb.float32) - 8
    weights = each * at(scale).reshape(12, 2, 1, 1)
    y = contract(at(x).reshape(5, 1, 2, 4, 8), weights.unsqueeze(0), 3, "matmul")
    assert len(y.plan()) == 1
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-3)


def test_what_is_dear_is_stored_first(many_threads):
    x = fb.zeros(2048, 2048, device=many_threads).realize()
    y = x.exp().sin().exp().sin() @ x
    assert [k.name for k in y.plan()] == ["exp+sin+exp+sin", "matmul"]


def test_halves_are_written_at_once_where_columns_come_in_fours(many_threads):
    for n, count in ((44, 1), (43, 2)):
        shapes = ((33, 20), (20, n), (n,))
        a, b, c = (fb.tensor(numbers(*s), device=many_threads).to(fb.float16) for s in shapes)
        fb.realize(a, b, c)
        y = (a @ b + c).relu()
        assert len(y.plan()) == count
        want = a.numpy().astype("f4") @ b.numpy().astype("f4") + c.numpy().astype("f4")
        np.testing.assert_allclose(y.numpy(), np.maximum(want, 0), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize(
    ("m", "k", "n"), [(260, 256, 264), (257, 260, 260), (256, 257, 256), (260, 258, 260)]
)
@pytest.mark.parametrize("is_turned", [False, True])
def test_a_large_product_takes_two_steps_at_once(m, k, n, is_turned):
    """On software adapters; an odd number of steps is taken singly."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
    x = fb.tensor(np.ascontiguousarray(a.T)).T if is_turned else fb.tensor(a)
    np.testing.assert_allclose((x @ fb.tensor(b)).numpy(), a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)


@pytest.fixture
def on_a_cpu(gpu, monkeypatch):
    """The adapter planned for as if it were a software one."""
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=True))
    monkeypatch.setattr(gpu, "plans", {})
    return gpu


def stored(tensor) -> list[tuple[int, list[int]]]:
    """How many elements each contraction stores at once, and how many its epilogue makes."""
    shaders = [k.shader for k in plan([tensor.node], SOFTWARE).kernels]
    contractions = [s for s in shaders if s.template == "contract/registers.wgsl"]
    return [(s.outs[0][1], [f.width for _, f in s.functions]) for s in contractions]


def options(tensor, limits) -> dict:
    (shader,) = (
        k.shader
        for k in plan([tensor.node], limits).kernels
        if k.shader.template == "contract/registers.wgsl"
    )
    return dict(shader.options)


def test_small_registers_take_a_lower_tile_where_each_turn_is_four_steps():
    x, y, w = fb.rand(300, 192).realize(), fb.rand(192, 256).realize(), fb.rand(256, 192).realize()
    found = {lanes: options(x @ w.T, replace(SOFTWARE, lanes=lanes)) for lanes in (4, 8)}
    assert {lanes: (o["tile_rows"], o["step"]) for lanes, o in found.items()} == {4: (8, 4), 8: (16, 4)}
    turned = fb.rand(192, 300).realize().T
    assert options(turned @ y, replace(SOFTWARE, lanes=4))["tile_rows"] == 16


@pytest.mark.parametrize("window", [(1, 1), (3, 1), (3, 2)])
def test_several_summed_dims_are_one_loop_on_a_cpu(window, on_a_cpu):
    """Channels and windows of an image, whose dims do not merge."""
    x, w = numbers(1, 5, 9, 11), numbers(6, 5, *window)
    y = F.conv2d(*(fb.tensor(a, device=on_a_cpu) for a in (x, w)))
    assert y.wgsl().count("for (var turn") == (window != (1, 1))
    seen = np.lib.stride_tricks.sliding_window_view(x[0], window, (1, 2))
    want = np.einsum("chwij,ocij->ohw", seen.astype("f8"), w)
    np.testing.assert_allclose(y.numpy()[0], want, rtol=1e-5, atol=1e-5)


def test_lanes_of_adapters():
    assert lanes_of("SwiftShader Device (Subzero)") == lanes_of("google swiftshader") == 4
    assert lanes_of("llvmpipe (LLVM 15.0.6, 256 bits)") == 8


@pytest.mark.parametrize("columns, width", [(4, 4), (20, 4), (18, 1), (7, 1)])
def test_a_cpu_stores_four_columns_at_once(on_a_cpu, columns, width):
    x, w, b, r = numbers(9, 6), numbers(6, columns), numbers(columns), numbers(9, columns)
    xs, ws, bs, rs = (fb.tensor(a, device=on_a_cpu) for a in (x, w, b, r))
    y = (xs @ ws + bs) * rs
    assert stored(y) == [(width, [width])]
    np.testing.assert_allclose(y.numpy(), (x @ w + b) * r, rtol=1e-5, atol=1e-5)
    y = xs @ ws + bs > rs
    np.testing.assert_array_equal(y.numpy(), x @ w + b > r)


def test_a_cpu_stores_rows_of_pixels_at_once(on_a_cpu):
    """6 x 6 pixels of 3 channels: rows of them are no fours, but whole channels are."""
    x, w, m = numbers(2, 5, 6, 6), numbers(3, 5, 3, 3), numbers(2, 3, 6, 6)
    xs, ws, ms = (fb.tensor(a, device=on_a_cpu) for a in (x, w, m))
    y = F.conv2d(xs, ws, padding=1) * (ms > 0)
    assert stored(y) == [(4, [4])]
    want = F.conv2d(fb.tensor(x, device="cpu"), fb.tensor(w, device="cpu"), padding=1).numpy() * (m > 0)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-4)


def test_a_cpu_stores_fours_made_one_by_one(on_a_cpu):
    """What the epilogue reads does not lie in fours."""
    x, w, m = numbers(9, 6), numbers(6, 12), numbers(12, 9)
    xs, ws, ms = (fb.tensor(a, device=on_a_cpu) for a in (x, w, m))
    y = xs @ ws + ms.t()
    assert stored(y) == [(4, [1])]
    np.testing.assert_allclose(y.numpy(), x @ w + m.T, rtol=1e-5, atol=1e-5)
    y = xs @ ws + fb.arange(12, device=on_a_cpu)
    np.testing.assert_allclose(y.numpy(), x @ w + np.arange(12), rtol=1e-5, atol=1e-5)


def test_a_weight_gradient_on_a_cpu_reads_rows_by_fours(on_a_cpu):
    x, g = numbers(8, 16, 20, 20), numbers(8, 64, 20, 20)
    w = numbers(64, 16, 3, 3)

    def gradient(device):
        weight = fb.tensor(w, device=device, requires_grad=True)
        y = F.conv2d(fb.tensor(x, device=device), weight, padding=1)
        return (y * fb.tensor(g, device=device)).sum().backward()[weight]

    names = [k.name for k in gradient(on_a_cpu).plan()]
    assert names[-2:] == ["copy", "conv_weight"]
    np.testing.assert_allclose(gradient(on_a_cpu).numpy(), gradient("cpu").numpy(), rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize("places, results", [(576, 192), (576, 576), (1536, 576), (4096, 1000)])
def test_a_vector_by_a_layers_weight_takes_one_kernel(gpu, places, results):
    """As in decoding: the sums of pieces would take a second kernel, as long as the first."""
    x, w = (fb.zeros(*shape, device=gpu).realize() for shape in ((1, places), (results, places)))
    y = F.linear(x, w) + 1
    (kernel,) = plan([y.node], WIDE).kernels
    assert kernel.shader.template == "contract/skinny.wgsl"
