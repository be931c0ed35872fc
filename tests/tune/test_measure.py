"""Candidates by themselves: the numbers they run on, how results are compared, and how times are taken."""

from dataclasses import replace

import numpy as np
import pytest

import flambeau as fb
from flambeau.core import dtype as dt
from flambeau.core.host import to_raw
from flambeau.core.node import toposort
from flambeau.errors import DeviceError
from flambeau.fusion.plan import Cost
from flambeau.fusion.planner import plan
from flambeau.tune import autotune, measure
from flambeau.tune.measure import Candidate, Trials, compare

# --- comparing ---


def buffer_of(gpu, values, dtype):
    """A buffer whose last word ends in what is no element."""
    raw = to_raw(np.asarray(values), dtype).tobytes()
    made = gpu.pool.take(len(raw))
    gpu.write(made.handle, raw + b"\x7b" * (-len(raw) % 4))
    return made, len(raw)


def compared(gpu, a, b, dtype, kind):
    (found, nbytes), (wanted, _) = buffer_of(gpu, a, dtype), buffer_of(gpu, b, dtype)
    return compare(gpu, found, wanted, nbytes, kind)


@pytest.mark.parametrize("count", [1, 3, 255, 70001])
@pytest.mark.parametrize("dtype", [dt.float32, dt.float16, dt.bfloat16], ids=str)
def test_how_far_results_lie_compare(gpu, dtype, count):
    rng = np.random.default_rng(count)
    b = rng.standard_normal(count).astype("f4")
    a = b.copy()
    a[-1] += 0.5
    error, top, other = compared(gpu, a, b, dtype, dtype.short)
    rounded = {"f32": 1e-6, "f16": 1e-3, "bf16": 1e-2}[dtype.short]  # of the type's steps near 4
    assert abs(error - 0.5) < 4 * rounded and abs(top - np.abs(b).max()) < 8 * rounded and not other
    assert compared(gpu, b, b, dtype, dtype.short)[0] == 0


@pytest.mark.parametrize("dtype", [dt.float32, dt.float16, dt.bfloat16], ids=str)
def test_what_is_no_number_has_its_place(gpu, dtype):
    nan, inf = np.nan, np.inf
    kind = dtype.short
    assert compared(gpu, [1, nan, inf, -inf], [1, nan, inf, -inf], dtype, kind) == (0.0, 1.0, False)
    for a, b in (([1, nan], [1, 2]), ([1, 2], [1, nan]), ([inf, 1], [-inf, 1]), ([1, inf], [1, 7])):
        assert compared(gpu, a, b, dtype, kind)[2], (a, b)


@pytest.mark.parametrize("dtype", [dt.int32, dt.uint8], ids=str)
def test_whole_numbers_are_equal_or_not(gpu, dtype):
    a = np.arange(70001) % 100
    b = a.copy()
    assert compared(gpu, a, b, dtype, "words") == (0.0, 0.0, False)
    b[-1] += 1
    assert compared(gpu, a, b, dtype, "words") == (0.0, 0.0, True)


# --- numbers ---


def planned(*roots):
    nodes = [r.node for r in roots]
    return plan(nodes, roots[0].device.limits, toposort(nodes)), toposort(nodes)


def test_values_are_made_by_the_kernels_before(gpu):
    rng = np.random.default_rng(0)
    x, w = (fb.tensor(rng.standard_normal(s).astype("f4"), device=gpu) for s in ((300, 40), (40, 50)))
    whole, order = planned((x @ w).exp().cumsum(1))
    last = whole.kernels[-1]
    assert len(whole) > 1
    made = Trials(gpu, order, set(last.inputs))
    made.sizes, made.costs = dict(whole.stored), {id(k): FREE for k in whole}
    (buffer,) = made.inputs(whole, [last]).values()
    got = np.frombuffer(gpu.read([(buffer.handle, 4 * 300 * 50)])[0], "f4").reshape(300, 50)
    assert np.allclose(got, np.exp(x.numpy().astype("f8") @ w.numpy()), rtol=1e-4)


FREE = Cost("", "", 0, 0, 0)


def test_places_are_real(gpu):
    table = fb.tensor(np.arange(12, dtype="f4").reshape(4, 3), device=gpu)
    picks = fb.tensor(np.array([3, 0, 3, 2], "i4"), device=gpu)
    fb.realize(table, picks)
    whole, order = planned(table.index_select(0, picks) * 2)
    made = Trials(gpu, order, {v for k in whole for v in k.inputs})
    assert made.check("a", whole, whole.kernels) == ""
    given = {order[v].dtype: b for v, b in made.input_buffers.items()}
    assert given[picks.dtype] is picks.node.buffer and given[table.dtype] is not table.node.buffer
    made.close()


def test_made_up_numbers():
    found = np.frombuffer(measure.numbers(1, 3_000_000, dt.float32), "f4")
    assert found.shape == (3_000_000,) and -1 <= found.min() < -0.9 and 0.9 < found.max() <= 1
    assert not np.array_equal(found[: 1 << 20], found[1 << 20 : 2 << 20])
    assert set(np.frombuffer(measure.numbers(1, 500, dt.int32), "i4")) == set(range(8))
    assert set(np.frombuffer(measure.numbers(1, 500, dt.bool_), "u4")) == {0, 1}


# --- times ---


@pytest.fixture
def timed(gpu, monkeypatch):
    """The times of candidates that take so many milliseconds, and how often each ran a batch."""

    def call(software, **takes):
        ran = dict.fromkeys(takes, 0)
        made = Trials(gpu, [], set())
        made.candidates = {name: Candidate([name], 0, {}, 1, []) for name in takes}
        clock = [0.0]

        def run(self, candidate, times):
            name = candidate.parts[0]
            ran[name] += 1
            seconds = times * takes[name][min(ran[name], len(takes[name])) - 1] / 1e3
            clock[0] += seconds
            return seconds

        monkeypatch.setattr(Trials, "run", run)
        monkeypatch.setattr(measure, "perf_counter", lambda: clock[0])
        made.device = type("Device", (), {"limits": replace(gpu.limits, software=software)})()
        return made.time(), ran

    return call


def test_those_that_can_not_win_run_no_further(timed):
    ms, ran = timed(True, slow=[40.0], fast=[20.0], beside=[24.0], far=[30.0])
    assert ms == {"slow": 40.0, "fast": 20.0, "beside": 24.0, "far": 30.0}
    # once to count; the default is always among the last, the far one falls out after the first round
    assert ran == {"slow": 6, "fast": 6, "beside": 6, "far": 2}


def test_a_time_is_a_median(timed):
    ms, _ = timed(True, a=[20.0, 20.0, 90.0, 21.0, 19.0, 80.0], b=[25.0])
    assert ms == {"a": 20.5, "b": 25.0}


def test_long_ones_run_less_often(timed):
    _, ran = timed(True, a=[600.0], b=[700.0])
    assert ran == {"a": 2, "b": 2}


def test_a_gpu_is_warm_before_it_is_measured(timed):
    ms, ran = timed(False, a=[9.0, 9.0, 5.0, 2.0], b=[2.5])
    assert ms == {"a": 2.0, "b": 2.5}
    assert ran["a"] > 40 and ran["b"] < 10  # 0.12 s of the first


@pytest.mark.usefixtures("collected")
def test_a_wrong_candidate_leaves_nothing_behind(gpu):
    x = fb.tensor(np.random.default_rng(0).standard_normal((64, 40)).astype("f4"), device=gpu).realize()
    (right, order), (wrong, _) = planned(x + 1), planned(x - 1)
    live = gpu.pool.live
    made = Trials(gpu, order, {v for k in right for v in k.inputs})
    assert made.check("right", right, right.kernels) == ""
    assert made.check("wrong", wrong, wrong.kernels).startswith("off by 2.0e+00 where the largest is ")
    assert made.check("again", right, right.kernels) == "" and list(made.candidates) == ["right", "again"]
    made.close()
    del made
    assert gpu.pool.live == live


def test_what_cancels_out_is_as_right_as_its_rounding(gpu):
    x = fb.tensor(np.random.default_rng(0).standard_normal((64, 40)).astype("f4"), device=gpu).realize()
    (zero, order), (nearly, _), (wrong, _) = (
        planned((x - 1e-9) - x),
        planned((x - 2e-7) - x),
        planned((x - 1e-4) - x),
    )
    made = Trials(gpu, order, {v for k in zero for v in k.inputs})
    assert made.check("zero", zero, zero.kernels) == ""
    made.order = toposort([((x - 2e-7) - x).node])
    assert made.check("nearly", nearly, nearly.kernels) == ""
    made.order = toposort([((x - 1e-4) - x).node])
    assert made.check("wrong", wrong, wrong.kernels).startswith("off by 1.0e-04 where the ")
    made.close()


def test_a_watchdog_is_not_kept_waiting(gpu, monkeypatch):
    x = fb.randn(4096, 64, device=gpu).realize()
    whole, order = planned(x.exp() + 1)
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, pace=(1e6, 1e6)))
    made = Trials(gpu, order, {v for k in whole for v in k.inputs})
    assert made.check("whole", whole, whole.kernels) == ""
    (candidate,) = made.candidates.values()
    assert len(candidate.parts) >= 4  # of 2 MB at 1 MB a second, half a second each
    monkeypatch.undo()
    assert made.check("at once", whole, whole.kernels) == ""  # the parts made the same
    assert len(made.candidates["at once"].parts) == 1
    made.close()


def test_a_lost_device_ends_the_tuning(gpu, monkeypatch):
    def lose(*_):
        monkeypatch.setattr(gpu, "lost", "removed")
        gpu.check()

    whole, order = planned(fb.randn(8, 8, device=gpu).realize() + 1)
    made = Trials(gpu, order, set())
    monkeypatch.setattr(Trials, "check", lose)
    with pytest.raises(DeviceError, match="was lost"):
        autotune.agrees(made, autotune.Choice("test", (), "a", "a"), "a", whole, list(whole.kernels))
