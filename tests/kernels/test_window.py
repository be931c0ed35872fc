"""Reductions over short windows: four neighbours a thread, right at every edge, and one kernel each."""

import numpy as np
import pytest
from helpers.compare import check, values
from helpers.kernels import planned_for
from helpers.plans import kinds_of
from helpers.pools import POOLS, with_gradient

import flambeau as fb

F = fb.nn.functional
SHAPE = 2, 3, 11, 14


@pytest.mark.parametrize("software", [True, False], ids=["software", "gpu"])
@pytest.mark.parametrize("name", POOLS)
@pytest.mark.share(5)
def test_pools(name, software, gpu):
    a = np.random.default_rng(3).integers(-9, 9, SHAPE).astype("f4")  # many are equal: the first counts
    right = values(*with_gradient(POOLS[name], fb.tensor(a, device="cpu")))
    with planned_for(gpu, software):
        got = values(*with_gradient(POOLS[name], fb.tensor(a, device=gpu)))
    for y, want in zip(got, right):
        check(y, want, 2e-6, name)  # WGSL lets a square root be off by some units of its last place


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "u1"])
def test_dtypes_and_numbers_that_are_none(dtype, gpu):
    a = np.random.default_rng(3).integers(0, 99, SHAPE).astype(dtype)
    if dtype[0] == "f":
        a[0, 0, 3:6, 5], a[1] = np.nan, -np.inf
    x, on_cpu = fb.tensor(a, device=gpu), fb.tensor(a, device="cpu")
    for pool in (POOLS["overlapping, with an edge"], POOLS["an odd line"]):
        check(values(pool(x))[0], values(pool(on_cpu))[0], 0, dtype)


def test_each_pool_is_one_kernel():
    x = fb.tensor(np.ones(SHAPE, "f4")).realize()
    assert kinds_of(F.max_pool2d(x, 3, 2, 1)) == ["windows"]
    assert kinds_of(F.avg_pool2d(x, 2) * 2) == ["windows"]
    for rows in (x.sum(3), x[:, :, :4].sum(2), x.reshape(-1, 2).amax(1)):
        assert kinds_of(rows) == ["tree"]  # a new size must not make a new shader
