"""The kernels of real GPUs on whatever adapter there is: a software one is told that it is none."""

from contextlib import contextmanager
from dataclasses import replace


@contextmanager
def planned_for(device, software: bool, **other):
    """Plan for a CPU adapter, or for a GPU, with caches of its own and perhaps other limits."""
    limits, plans = device.limits, device.__dict__.get("plans", {})
    device.limits, device.plans = replace(limits, software=software, **other), {}
    try:
        yield
    finally:
        device.limits, device.plans = limits, plans
