"""Products of few rows with what is around them: norms of their rows, and a second product of the rows."""

import numpy as np
import pytest
from helpers.kernels import planned_for
from helpers.plans import kinds_of, leaf, names_of

import flambeau as fb
from flambeau.core.limits import Limits

F = fb.nn.functional
GPU = Limits(bundle_buffers=32)
NORMS = {
    "rms": lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-5),
    "layer": lambda x, w: F.layer_norm(x, (x.shape[-1],), w, w * 0.5, 1e-5),
}
# [..., rows, features], the columns of the products, the norm, and the dtype
CASES = {
    "one row": ((1, 1, 64), 48, "rms", "f4"),
    "rows of two batches": ((2, 1, 20), 13, "layer", "f4"),
    "eight odd rows": ((8, 37), 5, "layer", "f4"),
    "half": ((1, 1, 132), 40, "rms", "f2"),
}


def gated(x, norm, weights):
    """A gated perceptron after a norm, with the residual, and a third product of the same rows."""
    scale, gate, up, down, other = weights
    y = NORMS[norm](x, scale)
    return F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down) + x, F.linear(y, other)


def given(case):
    shape, columns, norm, kind = CASES[case]
    rng, n = np.random.default_rng(3), shape[-1]
    shapes = shape, (n,), (columns, n), (columns, n), (n, columns), (columns + 3, n)
    return norm, [
        (rng.normal(size=s) / max(1, (s[-1] if len(s) == 2 else 1) ** 0.5)).astype(kind) for s in shapes
    ]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.share(5)
def test_values_are_those_of_separate_kernels(case, gpu):
    norm, arrays = given(case)

    def compute(device):
        x, *weights = (fb.tensor(a, device=device) for a in arrays)
        step = fb.jit(lambda x: gated(x, norm, weights))
        return [y.float().numpy() for _ in range(2) for y in step(x)]

    with planned_for(gpu, software=False, bundle_buffers=32):
        found = compute(gpu)
    tolerance = 2e-5 if arrays[0].dtype == np.float32 else 1e-2
    for y, want in zip(found, compute("cpu"), strict=True):
        assert np.abs(y - want).max() <= tolerance * max(1, np.abs(want).max())


def test_a_gated_perceptron_is_two_kernels():
    """One with the norm and both products, and one with the residual, beside which a third product runs."""
    sizes = (1, 64), (64,), (48, 64), (48, 64), (64, 48), (9, 64)
    x, *weights = (leaf(*s) for s in sizes)
    assert kinds_of(*gated(x, "rms", weights), limits=GPU, dying=[]) == ["skinny", "bundle"]
    y = F.silu(x @ weights[1].T) * (x @ weights[2].T)
    assert kinds_of(y, limits=GPU, dying=[]) == ["skinny"]
    # a float16 product is a cast float32 one
    x, *weights = (leaf(*s, dtype="f2") for s in (*sizes[:-1], (12, 64)))
    assert kinds_of(*gated(x, "rms", weights), limits=GPU, dying=[]) == ["skinny", "bundle"]


@pytest.mark.parametrize("adapted", [("up",), ("gate",), ("gate", "up")])
def test_a_gate_with_low_rank_products(adapted, gpu):
    """A low-rank product is added to one side or both, so the epilogue may not have the second product."""
    rng = np.random.default_rng(5)
    sizes = {"gate": (12, 20), "up": (12, 20), "A": (3, 20), "B": (12, 3)}
    arrays = {name: rng.normal(size=size).astype("f4") / 4 for name, size in sizes.items()}
    rows = rng.normal(size=(2, 20)).astype("f4")

    def compute(device):
        weights = {name: fb.tensor(a, device=device) for name, a in arrays.items()}

        def side(x, name):
            low = F.linear(F.linear(x, weights["A"]), weights["B"]) * 1.5
            return F.linear(x, weights[name]) + low if name in adapted else F.linear(x, weights[name])

        step = fb.jit(lambda x: F.silu(side(x, "gate")) * side(x, "up"))
        return [step(fb.tensor(rows, device=device)).numpy() for _ in range(2)]

    with planned_for(gpu, software=False, bundle_buffers=32):
        results = compute(gpu)
    for result, expected in zip(results, compute("cpu"), strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("rows", [9, 40])
def test_a_norm_of_more_rows_is_a_kernel(rows):
    x, scale, gate, up = leaf(rows, 64), leaf(64), leaf(48, 64), leaf(48, 64)
    y = NORMS["rms"](x, scale)
    kinds = kinds_of(y @ gate.T, y @ up.T, limits=GPU, dying=[])
    assert kinds[0] == "rows" and len(kinds) == 3


def test_a_norm_that_others_read_is_a_kernel():
    x, scale, gate = leaf(1, 64), leaf(64), leaf(48, 64)
    y = NORMS["rms"](x, scale)
    assert kinds_of(y @ gate.T, y + 1, limits=GPU, dying=[])[0] == "rows"
    assert kinds_of(y @ gate.T, limits=GPU, dying=None)[0] == "rows"  # not recorded


def test_rows_that_a_product_sums_over_are_stored(gpu):
    """A product that sums over normalised rows reads sums of other rows: a kernel stores the rows."""
    rng = np.random.default_rng(4)
    a, left, right = (rng.random(s, np.float32) for s in ((3, 6), (2, 3), (6, 5)))
    rows = a / a.sum(1, keepdims=True)
    with planned_for(gpu, software=False, bundle_buffers=32):
        x, y, z = (fb.tensor(v, device=gpu) for v in (a, left, right))
        normalised = x / x.sum(1, keepdim=True)
        for result, expected in ((y @ normalised, left @ rows), (normalised @ z, rows @ right)):
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)
    x, y = leaf(3, 6), leaf(2, 3)
    assert kinds_of(y @ (x / x.sum(1, keepdim=True)), limits=GPU, dying=[])[0] == "rows"


def test_a_product_that_others_read_is_a_kernel():
    x, gate, up = leaf(1, 64), leaf(48, 64), leaf(48, 64)
    g = x @ gate.T
    assert len(kinds_of(F.silu(g) * (x @ up.T), g + 1, limits=GPU, dying=[])) == 3
    assert len(kinds_of(F.silu(g) * (leaf(1, 64, seed=2) @ up.T), limits=GPU, dying=[])) == 2


def test_what_many_kernels_would_compute_is_stored():
    """The cosines of a few angles, which ten products would each compute in their epilogues."""
    x, cosines = leaf(1, 64), leaf(12).cos()

    def made(count):
        return [F.linear(x, leaf(12, 64, seed=i)) * cosines for i in range(count)]

    assert [sum(n == "cos" for n in names_of(*made(count), limits=GPU, dying=[])) for count in (8, 10)] == [
        0,
        1,
    ]
