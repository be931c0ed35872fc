"""The kernels of real GPUs on whatever adapter there is: a software one is told that it is none."""

from contextlib import contextmanager
from dataclasses import replace

import pytest


@contextmanager
def planned_for(device, software: bool, **other):
    """Plan for a CPU adapter, or for a GPU, with caches of its own and perhaps other limits."""
    limits, plans = device.limits, device.plans
    device.limits, device.plans = replace(limits, software=software, **other), {}
    try:
        yield
    finally:
        device.limits, device.plans = limits, plans


@pytest.fixture(params=["software", "gpu", "cpu"])
def kernels(request):
    """The adapter with the kernels of both classes, and the NumPy device, which has none."""
    from flambeau.device import get_device

    if request.param == "cpu":
        yield get_device("cpu")
    else:
        adapter = request.getfixturevalue("gpu")
        with planned_for(adapter, software=request.param == "software"):
            yield adapter


@pytest.fixture
def force(monkeypatch):
    """force("rows=staged") has kernels of a family be of one variant until the test ends."""
    from flambeau.core import choose

    def forced(text: str) -> None:
        monkeypatch.setenv("FLAMBEAU_VARIANT", text)
        choose.forced.cache_clear()

    yield forced
    choose.forced.cache_clear()
