"""Fixtures: every test that asks for `device` runs on the best adapter and on the NumPy device."""

import os
from contextlib import suppress

import pytest

os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")  # Mesa warns on stderr without one
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # a peer in tests: several processes would fill a GPU with it
os.environ.setdefault("FLAMBEAU_TUNE", "off")  # the rules are tested, not what was measured on this machine


@pytest.fixture(scope="session", autouse=True)
def opened():
    """The default device, opened before any test: what that says of the adapter is no test's output."""
    from flambeau.device import get_device
    from flambeau.errors import DeviceError

    with suppress(DeviceError):
        get_device()


@pytest.fixture(scope="session", params=["gpu", "cpu"])
def device(request):
    """The device a test runs on; a machine without an adapter says so and skips the half it can't run."""
    from flambeau.device import get_device
    from flambeau.errors import DeviceError

    try:
        return get_device(request.param)
    except DeviceError as e:
        pytest.skip(f"no adapter: {e}")


@pytest.fixture(scope="session")
def gpu():
    """The best adapter, for tests of what only kernels do."""
    from flambeau.device import get_device
    from flambeau.errors import DeviceError

    try:
        return get_device("gpu")
    except DeviceError as e:
        pytest.skip(f"no adapter: {e}")
