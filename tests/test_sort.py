"""Sorting rows of every length that has kernels of its own, with those of both sorts of adapter."""

import numpy as np
import pytest
from kernels import planned_for
from references_order import places_in_order
from test_ops import values

import flambeau as fb

# one element, none, rows in workgroup memory, at its end and past it, one long row, several, many
SHAPES = [
    (1,), (0,), (3, 0), (0, 4), (7, 33), (300, 7), (2, 512), (2, 513), (2, 2048), (2, 2049), (3, 5000),
    (70001,), (3, 40000), (600, 2100), (30000, 3),
]  # fmt: skip


@pytest.fixture(params=[True, False], ids=["cpu-adapter", "real-gpu"])
def planned(request, gpu):
    with planned_for(gpu, request.param):
        yield gpu


def numbers(rng, shape):
    """Floats with ties, zeros of both signs, infinities and NaN; ints, whole words and bools."""
    f = (np.round(rng.normal(size=shape) * 30) / 8).astype("f4")
    some = np.resize(np.array([-0.0, np.inf, -np.inf, np.nan, 0.0, np.nan], "f4"), min(f.size, 6))
    f.flat[: some.size] = some
    return [
        f, rng.integers(-50, 51, shape).astype("i4"), rng.integers(0, 2**32, shape).astype("u4"),
        rng.integers(0, 2, shape).astype(bool),
    ]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_places(shape, planned):
    for a in numbers(np.random.default_rng(0), shape):
        t = fb.tensor(a, device=planned)
        up, down = values(t.argsort(), t.argsort(descending=True))
        assert np.array_equal(up, np.argsort(a, axis=-1, kind="stable"))
        back = a.shape[-1] - 1 - np.argsort(a[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        assert np.array_equal(down, back)


def test_the_order_is_pythons(device):
    for a in numbers(np.random.default_rng(1), (3, 40)):
        t = fb.tensor(a, device=device)
        up, down = values(t.argsort(), t.argsort(descending=True))
        assert np.array_equal(up, places_in_order(a))
        assert np.array_equal(down, places_in_order(a, descending=True))
