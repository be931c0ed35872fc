"""Kernels that run without checks of their indices never need one.

Three ways to say so: views of large tensors by arithmetic; every access of kernels that run, watched; and
random programs, which give the same bits with all checks and without.
"""

from dataclasses import replace

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn
from helpers.graphs import LARGE, backward, of_views
from helpers.inputs import arrays, tensors
from helpers.kernels import planned_for
from helpers.paper import PaperDevice
from helpers.pools import POOLS, with_gradient
from helpers.watched import WatchedDevice, watched
from rows import ROWS

import flambeau as fb
from flambeau.codegen.render import is_proven
from flambeau.core import choose
from flambeau.core.commands import Dispatch
from flambeau.core.limits import SOFTWARE_TURNS, Limits, MachineSpeed
from flambeau.device import native
from flambeau.errors import DeviceError
from flambeau.fusion.planner import plan
from flambeau.kernels.contract.subgroup_matrix import PLAIN
from flambeau.kernels.lower import Trace
from flambeau.selftest import random_program
from flambeau.selftest.programs import call_program

F = fb.nn.functional
CLASSES = {"software": Limits(software=True, turns=SOFTWARE_TURNS), "gpu": Limits()}
BEYOND = """@group(0) @binding(0) var<uniform> p: vec4<u32>;
@group(0) @binding(1) var<storage, read> in0: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
var<workgroup> box: array<u32, 8>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_id) lid: vec3<u32>) {
  box[lid.x] = in0[in0[lid.x] + lid.x];
  out[0] = box[lid.x + 1u];
}"""


@pytest.fixture(scope="module")
def watching(gpu):
    return WatchedDevice(gpu.adapter)


# --- what is trusted ---


def shaders(t):
    return [k.shader for k in plan([t.node], Limits())]


def test_only_proven_templates_are_trusted():
    x = fb.zeros(64, 64, device=PaperDevice())
    assert all(map(is_proven, shaders((x @ x).relu().sum(1))))
    assert [is_proven(s) for s in shaders(x.cumsum(0))] == [False]


def test_custom_wgsl_is_checked():
    twice = fb.custom_op("trust_twice", ["x"], expression="{{ x }} + {{ x }}", reference=lambda xp, x: x + x)
    x = fb.zeros(64, device=PaperDevice())
    assert [is_proven(s) for s in shaders(twice(x) + 1)] == [False]
    assert [is_proven(s) for s in shaders(x + 1)] == [True]


def test_full_checks_are_a_setting(monkeypatch):
    assert native.checks_wanted() == ""
    for wanted in ("full", "off"):
        monkeypatch.setenv("FLAMBEAU_CHECKS", wanted)
        assert native.checks_wanted() == wanted
    monkeypatch.setenv("FLAMBEAU_CHECKS", "none")
    with pytest.raises(DeviceError) as e:
        native.checks_wanted()
    assert str(e.value) == "FLAMBEAU_CHECKS=none: unknown checks: use 'full' or 'off', or unset it"


# --- by arithmetic ---


def reach(view) -> tuple[int, int]:
    """The lowest and the highest index of a view; tests of padding are left out."""
    ends = [s * (n - 1) for s, n in zip(view.index.strides, view.shape)]
    low, high = (view.index.offset + sum(e for e in ends if e * sign > 0) for sign in (-1, 1))
    return low, high


@pytest.fixture
def views(monkeypatch):
    """Every view that kernels read through, with the elements of the buffer behind it."""
    seen = []

    def reading(trace, node, chain, inner=Trace._read):
        step = inner(trace, node, chain)
        seen.append((trace.steps[step].view, np.prod(node.shape, dtype=int)))
        return step

    monkeypatch.setattr(Trace, "_read", reading)
    return seen


HUGE = {  # too large to run here
    "products": lambda t: [t(30000, 20000) @ t(20000, 30001), (t(7, 5000, 300).mT @ t(5000, 31)).relu()],
    "convolutions": lambda t: [F.conv2d(t(64, 64, 224, 224), t(128, 64, 3, 3), stride=2)],
    "sums": lambda t: [t(40000, 40000).flip(0).sum(1), t(40000, 40001).mT[1:, ::3].amax(0)],
    "maps": lambda t: [t(30000, 30000)[::2, 1:-1].exp().T.contiguous(), t(1, 9).expand(99999, 9) + 1],
}


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("software", CLASSES)
def test_views_stay_in_their_buffers(name, software, views):
    device = PaperDevice(CLASSES[software])
    for t in HUGE[name](lambda *shape: fb.empty(*shape, device=device).realize()):
        plan([t.node], CLASSES[software])
    assert views
    for view, elements in views:
        low, high = reach(view)
        assert view.bounds or (low >= 0 and high < elements), (view, elements)


# --- by watching ---


def run_row(name, device):
    fb.realize(ROWS[name].compute(name, *tensors(arrays(ROWS[name], np.random.default_rng(1)), device)))
    backward(ROWS[name], name, device)
    of_views(ROWS[name], name, device)


# of each template that is trusted the rows that make the most of it
WATCHED = (
    "matmul", "conv2d", "conv_transpose2d", "softmax", "layer_norm", "max_pool2d", "avg_pool2d",
    "take_along_dim", "embedding", "index_select", "sum", "amax", "prod", "pad", "roll", "einsum",
    "cross_entropy", "quantized_linear",
)  # fmt: skip


@pytest.mark.parametrize("software", CLASSES)
@pytest.mark.share(5)
def test_no_access_strays(software, watching):
    for i, name in enumerate(WATCHED):
        if software not in in_turn(CLASSES, 2, first=i):
            continue
        watching.kernels.clear()
        with planned_for(watching, software == "software"):
            run_row(name, watching)
        strays, farthest = watching.found()
        assert not strays, f"{name}: {strays} out of bounds, up to {farthest}, in {list(watching.kernels)}"


@pytest.mark.share(5)
def test_no_access_of_pools_strays(watching):
    watching.kernels.clear()
    with planned_for(watching, software=False):
        x = fb.ones(2, 3, 11, 14, device=watching)
        for pool in POOLS.values():
            fb.realize(*with_gradient(pool, x))
    assert watching.found() == (0, 0)


@pytest.mark.parametrize("rows", [5, 6, 7, 8])
def test_no_access_of_rows_that_each_choose_a_place_strays(rows, watching):
    """The last four of 5 rows has three that are not there: their places would lie behind the buffer."""
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, 9)).astype("f4")
    places = rng.integers(0, 9, rows)
    watching.kernels.clear()
    for software in (True, False):
        with planned_for(watching, software):
            t, at = fb.tensor(x, device=watching), fb.tensor(places, device=watching)
            chosen = t.gather(1, at.reshape(-1, 1)).reshape(-1).exp()
            np.testing.assert_allclose(chosen.numpy(), np.exp(x[np.arange(rows), places]), rtol=1e-5)
            np.testing.assert_array_equal(t.median(1)[0].numpy(), np.median(x, 1))
    assert watching.found() == (0, 0)


def test_no_access_of_tiles_that_are_turned_strays(watching, force):
    force("transposed=tiles")
    watching.kernels.clear()
    with planned_for(watching, software=False, groups=7):
        for shape, dtype in (((35, 67), "f4"), ((3, 2, 300), "f4"), ((36, 2, 129), "f2")):
            a = np.ones(shape, dtype)
            x, order = fb.tensor(a, device=watching), list(range(len(shape)))[::-1]
            np.testing.assert_array_equal((x.permute(order) * 2).numpy(), a.transpose() * 2)
    assert watching.found() == (0, 0)


def test_no_access_of_sums_strays(watching):
    with planned_for(watching, software=False):
        fb.realize(*LARGE["sums"](lambda *shape: fb.ones(*shape, device=watching)))
    assert watching.found() == (0, 0)


@pytest.mark.parametrize("variant", in_turn(["rows", "words", "shared", "blocks", "tiles"], 2))
@pytest.mark.share(5)
def test_no_access_of_quantised_weights_strays(variant, watching, monkeypatch):
    monkeypatch.setattr("flambeau.core.choose.forced", lambda: {"quantized": variant})
    with planned_for(watching, software=variant == "rows", groups=7):
        for bits in (8, 4):
            q = fb.quantize(fb.ones(70, 1056, device=watching), bits=bits)
            b = fb.ones(70, device=watching)
            fb.realize(*(fb.quantized_linear(fb.ones(m, 1056, device=watching), q, b) for m in (20, 1)))
    assert watching.found() == (0, 0)


def test_no_access_of_skinny_products_strays(watching, monkeypatch):
    monkeypatch.setattr("flambeau.core.choose.forced", lambda: {"contract": "skinny_deep"})
    with planned_for(watching, software=False, groups=7):
        x, y = (fb.ones(*shape, device=watching).realize() for shape in ((3, 2, 700), (3, 700, 70)))
        fb.realize(x @ y, y.mT @ x.mT)
    assert watching.found() == (0, 0)


@pytest.mark.share(5)
def test_no_access_of_attention_by_few_rows_strays(watching):
    """Grouped heads, odd lengths, causal masks and biases."""
    t = lambda *shape: fb.ones(*shape, device=watching)  # noqa: E731
    with planned_for(watching, software=False, groups=7):  # workgroups fold into two dims, rounded up
        for d, keys in ((64, 3000), (20, 1310), (12, 1)):
            q, k, v = t(3, 4, 1, d), t(3, 2, keys, d), t(3, 2, keys, d)
            bias = t(1, 4, 1, keys)
            watching.kernels.clear()
            for given in ({}, {"is_causal": True}, {"attn_mask": bias}):
                fb.realize(F.scaled_dot_product_attention(q, k, v, enable_gqa=True, **given))
            assert ("attention.pieces" in watching.kernels) == (keys > 1)
    assert watching.found() == (0, 0)


@pytest.mark.share(5)
def test_no_access_of_cut_tiles_strays(watching, monkeypatch):
    """As on a GPU of two cores."""
    monkeypatch.setattr("flambeau.core.choose.forced", lambda: {"contract": "128x128+"})
    with planned_for(watching, software=False, groups=7, machine=MachineSpeed(2)):
        x, y = (fb.ones(*shape, device=watching).realize() for shape in ((5, 130, 330), (5, 330, 70)))
        z = (x @ y + fb.ones(70, device=watching)).relu()
        assert len(z.plan()) == 2
        fb.realize(z, y.mT @ x.mT)
    assert watching.found() == (0, 0)


@pytest.mark.parametrize("attention", in_turn(["tiles", "rows"], 2))
@pytest.mark.share(5)
def test_workgroups_past_the_last_do_nothing(attention, watching, monkeypatch):
    """A line of them folded into two dims is rounded up: of sorts, scans and attention by tiles and rows.

    Where a driver holds indices inside, as Dawn does, what strays is written over the last element.
    """
    tiles = "64x64.8x8.16.1" if attention == "tiles" else "rows"
    monkeypatch.setattr(choose, "forced", lambda: {"attention": tiles})
    rng = np.random.default_rng(3)

    def attend(q, k, v):
        y = F.scaled_dot_product_attention(q, k, v)
        grads = (y * y).sum().backward(retain_graph=True)
        return [y, *(grads[t] for t in (q, k, v))]

    cases = [(attend, *[(1, 17, 40, 16)] * 3)]
    if attention == "tiles":
        cases += [(lambda x: [x.sort(1)[0]], shape) for shape in ((17, 2000), (1, 2500), (3, 30000))]
        cases += [(lambda x: [x.cumsum(1)], (5, 50000)), (lambda x: [x.cummax(1)[0]], (5, 50001))]
    for call, *shapes in cases:
        given = [rng.standard_normal(s).astype("f4") for s in shapes]
        want, got = (
            call(*(fb.tensor(t, device=d, requires_grad=True) for t in given)) for d in ("cpu", watching)
        )
        watching.found()
        watching.kernels.clear()
        with planned_for(watching, software=False, groups=7):
            got = values(*got)
        assert watching.found() == (0, 0), (shapes, list(watching.kernels))
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-4, atol=2e-3)


def test_no_access_of_depthwise_convolutions_strays(watching, monkeypatch):
    """A line's last strip ends behind it, and that of the last line behind the buffer, where no zeros are."""
    monkeypatch.setattr(choose, "forced", lambda: {"contract": "depthwise"})
    with planned_for(watching, software=False):
        for wide, stride, dilation in ((16, 1, 1), (15, 1, 1), (17, 2, 1), (20, 1, 2)):
            x, w = fb.ones(1, 2, 5, wide, device=watching).realize(), fb.ones(2, 1, 3, 3, device=watching)
            y = F.conv2d(x, w.realize(), groups=2, stride=(1, stride), dilation=(1, dilation))
            assert (y.numpy() == 9).all() and watching.found() == (0, 0), (wide, stride, dilation)


def test_no_access_of_matrix_units_strays(watching):
    """They run unchecked where FLAMBEAU_CHECKS=off; those of Dawn differ only in how fragments are read."""
    watching.kernels.clear()
    with planned_for(watching, software=False, matrix=(PLAIN,)):
        x, y = (fb.ones(*shape, device=watching).half().realize() for shape in ((70, 96), (96, 40)))
        fb.realize(x @ y)
    assert watching.kernels and watching.found() == (0, 0)


@pytest.mark.share(5)
def test_no_access_of_random_programs_strays(watching):
    for seed in range(25):
        program = replace(random_program(seed, 6), by=())
        fb.realize(*call_program(program, watching)[0])
        assert watching.found() == (0, 0), program.source()


def test_a_stray_is_seen(watching):
    """Index 5 + 2 of eight elements is the last; of the next box and of in0[8] they are told."""
    params, given, out = watching.uniform(16), watching.alloc(32, 32), watching.alloc(16, 16)
    pipeline = watching.pipeline(BEYOND, "beyond", 1)
    for first, strays in ((0, (1, 8)), (1, (2, 8)), (3, (4, 10))):
        watching.write(given, np.full(8, first, "u4"))
        watching.submit(Dispatch(pipeline, params, 0, (1, 1, 1), (given, out)).words())
        assert watching.found() == strays


def test_watching_leaves_the_rest_alone():
    main = "\n@compute @workgroup_size(8) fn main(@builtin(local_invocation_id) lid: vec3<u32>) {}"
    assert watched("let x = in0;" + main, 0).startswith("let x = in0;\nfn body(lid: vec3<u32>) {}")
    text = "var<storage, read> in0: array<f32>;\n y = in0[at[2] + 1u].x + p.in0[3];"
    found = "y = in0[within(u32(at[2] + 1u), arrayLength(&in0))].x + p.in0[3];"
    assert found in watched(text + main, 1)


# --- by comparing ---


@pytest.fixture(scope="module")
def checking(gpu):
    """The adapter, opened again with every check on."""
    device = native.NativeDevice(gpu.adapter)
    device.checks = "full"
    return device


@pytest.mark.share(5)
def test_random_programs_give_the_same_bits_without_checks(gpu, checking):
    assert not gpu.checks

    for seed in range(25, 45):
        program = replace(random_program(seed, 6), by=())
        free, checked = (values(*call_program(program, d)[0]) for d in (gpu, checking))
        for name, a, b in zip(program.outputs, free, checked):
            same = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            assert same, f"{name} of\n{program.source()}"


@pytest.mark.share(5)
def test_no_access_of_a_convolution_at_frequencies_strays(watching, monkeypatch):
    """Odd sizes, with zeros around and without; blocks, tiles and steps in part."""
    monkeypatch.setattr(choose, "forced", lambda: {"winograd": "32x32"})
    watching.kernels.clear()
    for size, padding in (((2, 6, 9, 7), 1), ((1, 9, 8, 11), 0)):
        with planned_for(watching, False):
            x, w = (fb.zeros(*s, device=watching).realize() for s in (size, (40, size[1], 3, 3)))
            F.conv2d(x, w, padding=padding).realize()
        assert not watching.found()[0], list(watching.kernels)
    assert {"filters", "conv2d"} <= {*watching.kernels}


@pytest.mark.share(5)
def test_no_access_of_a_weight_gradient_at_frequencies_strays(watching, monkeypatch):
    """Odd sizes, with zeros around and without; blocks, tiles and pieces in part."""
    monkeypatch.setattr(choose, "forced", lambda: {"winograd_weight": "32x32"})
    watching.kernels.clear()
    for size, padding in (((2, 6, 9, 7), 1), ((3, 33, 8, 11), 0)):
        with planned_for(watching, False):
            x, w = (fb.zeros(*s, device=watching).realize() for s in (size, (40, size[1], 3, 3)))
            w.requires_grad_()
            y = F.conv2d(x, w, padding=padding)
            g = fb.zeros(*y.shape, device=watching).realize()
            (y * g).sum().backward()[w].realize()
        assert not watching.found()[0], list(watching.kernels)
    assert any(name.startswith("conv_weight") for name in watching.kernels)
