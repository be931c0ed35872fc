"""What is measured of a GPU's cores and speeds, by simulated adapters of three classes, and what is kept."""

from dataclasses import replace
from math import ceil

import pytest

import flambeau as fb
from flambeau.core.limits import H200, Limits, MachineSpeed
from flambeau.device import machine
from flambeau.device.tuned import AdapterIdentity
from flambeau.fusion.planner import plan

CLASSES = {  # cores; picoseconds of a multiply-add of one, and of a byte
    "integrated": MachineSpeed(8, 6.0, 20.0),
    "mid": MachineSpeed(46, 3.1, 2.2),
    "large": MachineSpeed(132, 5.7, 0.25),
}
START = 60e-6  # seconds that a submit and its wait take besides


def simulated(of: MachineSpeed):
    """The two timers of an adapter."""

    def work(turns, groups):
        rounds = ceil(groups / of.cores)
        return START + rounds * turns * machine.MULTIPLY_ADDS * of.multiply_add / machine.PRODUCT * 1e-12

    return work, lambda n: START + 2 * n * of.byte * 1e-12


@pytest.mark.parametrize("name", CLASSES)
def test_cores_and_speeds_are_measured(name):
    of = CLASSES[name]
    found = machine.measure_speeds("an adapter", *simulated(of))
    assert abs(found.cores - of.cores) <= of.cores // 8
    assert found.multiply_add == pytest.approx(of.multiply_add, rel=0.15)
    assert found.byte == pytest.approx(of.byte, rel=0.2)


def test_known_adapters_have_the_number_of_cores_of_their_name():
    assert machine.measure_speeds("NVIDIA H100 PCIe", *simulated(CLASSES["large"])).cores == 114
    assert machine.measure_speeds("NVIDIA GeForce RTX 4090", *simulated(CLASSES["large"])).cores == 128


def test_a_measurement_takes_little_time():
    spent = 0.0
    work, copy = simulated(CLASSES["integrated"])

    def timed(turns, groups):
        nonlocal spent
        spent += 3 * work(turns, groups)
        return work(turns, groups)

    machine.measure_speeds("an adapter", timed, copy)
    assert spent + 3 * copy(machine.COPIED) < 2


IDENTITY = AdapterIdentity("A GPU (Vulkan)", "1.0", "wgpu 1", "gpu")


def test_a_measurement_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    count = []
    monkeypatch.setattr(machine, "_timers", lambda _: count.append(True) or simulated(CLASSES["mid"]))
    first = machine.machine_of(IDENTITY, None)
    assert machine.machine_of(IDENTITY, None) == first and len(count) == 1
    machine.machine_of(IDENTITY._replace(driver="2.0"), None)  # another driver is measured too
    assert len(count) == 2 and capsys.readouterr().err == ""
    for path in tmp_path.rglob("a-gpu-vulkan-1-0.json"):
        path.write_text('{"format": 1, "cores": 0, "multiply_add": 1, "byte": 1}')
    assert machine.machine_of(IDENTITY, None) == first and len(count) == 3
    assert "damaged" in capsys.readouterr().err


def test_the_adapter_that_estimates_were_fitted_to_is_not_measured(monkeypatch):
    monkeypatch.setattr(machine, "_timers", None)
    assert machine.machine_of(IDENTITY._replace(adapter="NVIDIA H200 (Vulkan)"), None) == H200


def test_the_kernel_that_measures_runs(gpu):
    work, copy = machine._timers(gpu)
    assert 0 < work(1, 1) < 60 and 0 < copy(1 << 16) < 60


@pytest.mark.parametrize("shape, kernels", [((128, 512, 128), (1, 1, 2)), ((512, 2048, 512), (1, 2, 2))])
def test_a_sum_is_split_where_cores_would_idle(gpu, shape, kernels):
    """On each of the three classes: the second kernel adds the pieces."""
    m, k, n = shape
    x, y = (fb.zeros(*sizes, device=gpu).realize() for sizes in ((m, k), (k, n)))
    limits = [replace(Limits(), machine=of) for of in CLASSES.values()]
    assert tuple(len(plan([(x @ y).node], each).kernels) for each in limits) == kernels
