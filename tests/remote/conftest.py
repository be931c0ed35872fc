"""Fixtures: a server of the adapter in this process, and a device that computes on it by the loopback."""

import pytest

from flambeau.errors import DeviceError
from flambeau.remote import connect
from flambeau.remote.server import Server


@pytest.fixture(scope="package")
def server():
    try:
        server = Server(port=0)
    except DeviceError as e:
        pytest.skip(f"no adapter: {e}")
    with server:
        yield server


@pytest.fixture(scope="package")
def remote(server):
    """One connection for all tests that need none of their own."""
    device = connect(server.address)
    yield device
    device.close()


@pytest.fixture
def own(server):
    """A connection of the test's own."""
    device = connect(server.address)
    yield device
    device.close()
