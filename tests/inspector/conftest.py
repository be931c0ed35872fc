"""What the inspector's tests share: no ceilings are measured, and a call with one kernel of five ops."""

import pytest
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.profiling.roofline import Ceilings


@pytest.fixture(autouse=True, scope="package")
def ceilings():
    """Measuring them takes a second on a software adapter."""
    from flambeau.device import get_device

    device = get_device("gpu")
    before, device.ceilings = device.ceilings, Ceilings(1e10, 1e11)
    yield
    device.ceilings = before


def realized(*tensors):
    fb.realize(*tensors)
    return tensors


@pytest.fixture(scope="package")
def product(gpu):
    """An inspection of (x @ w + b).relu() with its inputs, and these."""
    with planned_for(gpu, software=True), gpu:
        given = realized(fb.randn(24, 16), fb.randn(16, 32), fb.randn(32))
        made = fb.inspect(lambda x, w, b: (x @ w + b).relu(), *given, keep=True, target="product")
    yield made, given  # outside the blocks: other packages' tests may come before the end of this one's
    made.session.close()
