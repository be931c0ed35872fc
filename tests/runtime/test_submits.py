"""No dispatch and no submit takes so long, by a careful estimate, that a driver would reset the GPU."""

from math import inf

import numpy as np
import pytest
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.core.limits import Limits
from flambeau.fusion.plan import Cost
from flambeau.fusion.planner import plan
from flambeau.runtime import pipeline
from flambeau.runtime.pipeline import FIRST, SECONDS, Again, cuts, seconds_of, split_long_kernels

F = fb.nn.functional
SLOW = (3e4, 3e4)  # operations and bytes a second


def made(device, *shape):
    return fb.tensor(np.random.default_rng(1).standard_normal(shape).astype("f4"), device=device)


CASES = {
    "map": lambda t: (t(301, 70) * 2 + 1).exp(),
    "sum": lambda t: t(300, 500).sum(1),
    "all": lambda t: t(90000).sum(),
    "product": lambda t: (t(100, 60) @ t(60, 90)).relu(),
    "batches": lambda t: t(7, 40, 20) @ t(7, 20, 30),
    "convolution": lambda t: F.conv2d(t(2, 4, 40, 40), t(16, 4, 3, 3)),
    "rows": lambda t: t(200, 64).softmax(1),
    "scan": lambda t: t(40, 3000).cumsum(1),
    "sort": lambda t: t(60, 700).sort(1)[0],
    "attention": lambda t: F.scaled_dot_product_attention(*(t(1, 2, 200, 32) for _ in "qkv")),
}


@pytest.mark.parametrize("software", [True, False], ids=["software", "gpu"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.share(5)
def test_parts_of_kernels_make_the_whole(name, software, gpu):
    want = CASES[name](lambda *shape: made("cpu", *shape)).numpy()
    with planned_for(gpu, software, pace=(inf, inf)):
        whole = len(CASES[name](lambda *shape: made(gpu, *shape)).plan())
    with planned_for(gpu, software, pace=SLOW):
        before = pipeline.counters.submits
        y = CASES[name](lambda *shape: made(gpu, *shape))
        got = y.numpy()
        assert pipeline.counters.submits == before + 1  # one run, of several submits
        (compiled,) = [c for c in gpu.plans.values() if len(c.plan) >= whole and c.cuts]
    assert len(compiled.plan) > whole
    assert np.allclose(got, want, atol=1e-4 * max(1, np.abs(want).max()))


def test_every_submit_is_short(gpu):
    with planned_for(gpu, True, pace=SLOW):
        x = made(gpu, 300, 200)
        ((x * 2).sum(1) + (x @ x.T).exp().sum(0)).realize()
        limits = gpu.limits
        (compiled,) = [c for c in gpu.plans.values() if c.cuts]
    parts = pipeline.submits_of(compiled, compiled.words)
    assert len(parts) == len(compiled.cuts) + 1 > 2
    assert [w for _, words in parts for w in words] == compiled.words
    for works, _ in parts:
        assert len(works) == 1 or sum(seconds_of(w, limits) for w in works) <= SECONDS


def test_recorded_programs_are_cut_too(gpu):
    with planned_for(gpu, True, pace=SLOW):
        x = made(gpu, 200, 100)
        f = fb.jit(lambda x: (x @ x.T).relu().sum(1) * 2)
        for _ in range(3):
            got = f(x).numpy()
        ((program,),) = f.programs.values()
    assert len(program.submits) > 1
    right = np.maximum(x.numpy().astype("f8") @ x.numpy().T, 0).sum(1) * 2
    assert np.allclose(got, right, rtol=1e-4)


def test_what_is_short_stays_whole():
    roots = [made("cpu", 4, 4).node]
    limits = Limits()
    works = (Cost("a", "map/map.wgsl", 4, 4, 4),) * 3
    found = plan(roots, limits)
    assert split_long_kernels(found, limits) is found
    assert cuts(works, limits) == []
    long = Cost("b", "map/map.wgsl", 4, 4, int(0.3 * limits.pace[0]))
    assert cuts((*works, long, long, *works, long), limits) == [4, 8]


def test_a_gpu_begins_while_the_rest_of_a_long_plan_is_encoded():
    works = [Cost("add", "map/map.wgsl", 8192, 8192, 1)] * (2 * FIRST)
    assert cuts(works, Limits(software=False)) == [FIRST]
    assert cuts(works[1:], Limits(software=False)) == []
    assert cuts(works, Limits(software=True)) == []
    small = [Cost("add", "map/map.wgsl", 4, 4, 1)] * FIRST  # done before the host could submit twice
    assert cuts(small + works, Limits(software=False)) == []


def test_cpu_adapters_have_no_watchdog(gpu):
    if not gpu.adapter.is_software:
        pytest.skip("a GPU")
    assert gpu.limits.pace == (inf, inf)


def test_values_are_made_the_second_time():
    found, made = Again(), []

    def make():
        made.append(len(made))
        return made[-1]

    assert [found.of("a", make, 2) for _ in range(3)] == [None, 0, 0]
    assert [found.of(key, make, 2) for key in "bcbab"] == [None, None, 1, None, None]
    assert made == [0, 1]
    assert dict(found) == {"a": None, "b": None}  # the place of "b" went as the oldest
