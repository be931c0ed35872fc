"""Small updates in one kernel, sums of pieces where they are read, maps over finer dims: counts, values."""

import numpy as np
import pytest
from helpers.kernels import planned_for
from helpers.plans import kernels_of, kinds_of, names_of, the_kernel_of

import flambeau as fb
from flambeau import nn, optim
from flambeau.core.limits import Limits
from flambeau.core.shape import common_refinement
from flambeau.nn.functional import put_rows

SHAPES = ((12, 8), (7,), (3,), (16,), (5, 3, 2), (32, 4))
BINDS_MANY = Limits(bundle_buffers=32)


def updates():
    """New parameters and momenta of unlike shapes, and what they may be written over."""
    made, old = [], []
    for shape in SHAPES:
        p, g, m = (fb.rand(*shape).realize() for _ in range(3))
        moved = m * 0.9 + g
        made += [moved, p - moved * 0.1]
        old += [p, m]
    return made, old


def test_small_updates_are_one_kernel_where_it_can_bind_them():
    made, old = updates()
    k = the_kernel_of(*made, limits=BINDS_MANY, dying=old)
    assert k.kind == "map_bundle" and k.joins == 6
    assert k.writes == k.over == 12 and k.reads == 6
    assert "fn segment5(" in k.wgsl


def test_bundles_keep_to_the_limit_and_to_recorded_steps():
    made, old = updates()

    def count(limits, dying=old):
        return len(kernels_of(*made, limits=limits, dying=dying))

    assert count(Limits()) == 3  # two updates bind six buffers
    assert count(Limits(bundle_buffers=12)) == 2
    assert count(Limits(bundle_buffers=32, software=True)) == 6
    assert count(BINDS_MANY, dying=None) == 6  # it would not be run again


def test_what_a_kernel_reads_waits_for_none():
    x, y = fb.rand(4, 4).realize(), fb.rand(6).realize()
    moved = x * 2
    assert "map_bundle" not in kinds_of(moved, moved.sum(), y + 1, limits=BINDS_MANY, dying=[x, y])


def test_who_writes_over_what_another_reads_stays_apart():
    x = fb.rand(8, 4).realize()
    found = kernels_of(x * 2, x.flip(0) + 1, limits=BINDS_MANY, dying=[x])
    assert not any(k.reads_what_it_writes_over for k in found)


@pytest.mark.parametrize(
    ("a", "b", "made"),
    (((6, 4), (2, 12), (2, 3, 4)), ((24,), (4, 6), (4, 6)), ((4, 6), (6, 4), None), ((1, 6), (6,), (6,))),
)
def test_refined(a, b, made):
    assert common_refinement(a, b) == made


def test_a_map_is_over_the_dims_of_what_was_reshaped():
    x, y = fb.rand(4, 3, 2, 2).realize(), fb.rand(8, 6).realize()
    found = (x * 2).permute(0, 2, 1, 3).reshape(8, 6) + y
    assert names_of(found, dying=[]) == ["mul+add"]
    wanted = (x.numpy() * 2).transpose(0, 2, 1, 3).reshape(8, 6) + y.numpy()
    assert np.allclose(found.numpy(), wanted)


def test_a_map_over_finer_dims_may_have_to_split_them_again():
    bits, scales = fb.randint(0, 9, (16, 64, 4)).realize(), fb.rand(16, 8).realize()
    wide = scales.reshape(16, 8, 1).expand(16, 8, 32)
    found = (bits.float().reshape(16, 8, 32) * wide).reshape(16, 256) + bits.float().reshape(16, 256)
    again = (bits.float().reshape(16, 64, 4) + (wide * 2).reshape(16, 64, 4)).reshape(16, 256)
    for got, by in ((found, np.repeat(scales.numpy(), 32, 1) + 1), (again, None)):
        plain = bits.numpy().reshape(16, 256)
        wanted = plain * by if by is not None else plain + 2 * np.repeat(scales.numpy(), 32, 1)
        assert np.allclose(got.numpy(), wanted)


def test_pieces_are_added_where_they_are_read():
    a, b, p = (fb.rand(*s).realize() for s in ((8192, 16), (8192, 16), (16, 16)))
    found = p - (a.t() @ b + 0) * 0.1
    kinds = kinds_of(p * 0.5 + a.t() @ b, found, dying=[])
    assert kinds[-1] in ("map", "map_multi", "split_k_sum") and len(kinds) <= 4
    wanted = p.numpy() - a.numpy().T @ b.numpy() * 0.1
    assert np.allclose(found.numpy(), wanted, rtol=1e-4)


@pytest.mark.parametrize("make", (optim.Adam, optim.SGD))
@pytest.mark.share(3)
def test_recorded_steps_are_plain_ones(gpu, make):
    x = np.random.default_rng(0).normal(size=(16, 1, 12, 12)).astype("f4")
    y = np.arange(16).astype("i4") % 5

    def losses(record):
        fb.manual_seed(3)
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(100, 5), nn.LayerNorm(5)
        )
        for p in model.parameters():
            p.assign_(p.to(gpu))
        opt = make(model.parameters(), lr=0.01)

        def step(a, b):
            loss = nn.functional.cross_entropy(model(a), b)
            opt.step(loss.backward())
            return loss

        step = fb.jit(step) if record else step
        return [step(fb.tensor(x, device=gpu), fb.tensor(y, device=gpu)).item() for _ in range(4)]

    plain, recorded = losses(False), losses(True)
    assert np.allclose(plain, recorded, rtol=1e-6) and plain[-1] < plain[0]


def products(x):
    """Three products of x by weights as Linear has them, of unlike widths and epilogues."""
    device = x.device
    weights = [np.random.default_rng(n).normal(size=(n, x.shape[1])).astype("f4") for n in (24, 8, 13)]
    a, b, c = (x @ fb.tensor(w, device=device).T for w in weights)
    return (a, b.relu(), c * 2 + 1), weights


def test_products_of_one_input_are_side_by_side():
    made, _ = products(fb.rand(1, 40).realize())
    k = the_kernel_of(*made, limits=BINDS_MANY, dying=[])
    assert k.kind == "bundle" and k.joins == 3 and k.wgsl.count("var<workgroup>") == 1
    assert kinds_of(*made, limits=BINDS_MANY, dying=None).count("bundle") == 0  # it would not be run again


def test_a_product_of_a_product_waits_for_it():
    x, w = fb.rand(1, 40).realize(), fb.rand(40, 40).realize()
    y = x @ w.T
    assert "bundle" not in kinds_of(y, y @ w.T, limits=BINDS_MANY, dying=[])


@pytest.mark.parametrize("rows", [1, 3])
def test_kernels_side_by_side_compute_what_they_do_alone(rows, gpu):
    """Products of one input, and rows that are computed where a table takes them, beside a map."""
    x = np.random.default_rng(7).normal(size=(rows, 40)).astype("f4")
    table = np.random.default_rng(8).normal(size=(9, 24)).astype("f4")

    def step(x, table, start):
        a, b, c = products(x)[0]
        return put_rows(table * 1, a * a, start), put_rows(table * 1, a - 1, start), b + 1, c

    def compute(device):
        call = fb.jit(step)
        given = [fb.tensor(v, device=device) for v in (x, table, np.array([5], "i4"))]
        return [y.numpy() for _ in range(2) for y in call(*given)]

    with planned_for(gpu, software=False, bundle_buffers=32):
        found = compute(gpu)
    for y, want in zip(found, compute("cpu"), strict=True):
        assert np.allclose(y, want, rtol=1e-5, atol=1e-5)
