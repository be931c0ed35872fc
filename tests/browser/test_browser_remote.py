"""A page as the client of a server of this machine: its Python computes on the server's adapter."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.remote.server import Server

pytestmark = pytest.mark.share(8, first=4)

SOURCE = """
import flambeau as fb
import flambeau.nn as nn
device = await fb.open_device("{address}")
fb.manual_seed(5)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
adam = fb.optim.Adam(model.parameters(), 1e-2)
@fb.jit
def step(x):
    loss = model(x).square().mean()
    adam.step(loss.backward())
    return loss
x = fb.arange(24, device=device).float().reshape(4, 6) / 24
losses = [(await step(x).read()).item() for _ in range(5)]
try:
    await x[fb.tensor([9], device=device)].read()
except IndexError as e:
    fault = str(e)
big = await fb.ones(300_000, device=device).read()
device.close()
[losses, fault, sum(big.tolist()), device.name]
"""


@pytest.fixture
def server(gpu):
    with Server(port=0) as server:
        yield server


def test_a_page_is_a_client(python, server, gpu):
    losses, fault, total, name = python.run(SOURCE.format(address=server.address))
    assert name == server.address and total == 300_000 and "index 9 is out of range" in fault
    fb.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)).to(gpu)
    adam = fb.optim.Adam(model.parameters(), 1e-2)
    x = fb.arange(24, device=gpu).float().reshape(4, 6) / 24
    local = []
    for _ in range(5):
        loss = model(x).square().mean()
        adam.step(loss.backward())
        local.append(loss.item())
    assert np.allclose(losses, local, rtol=1e-5) and losses[-1] < losses[0]


def test_a_page_without_a_server(python):
    text = python.run("""
import flambeau as fb
try:
    await fb.open_device("remote:127.0.0.1:1")
except fb.DeviceError as e:
    error = str(e)
error
""")
    why = "no server answers, or it refuses this page: start one with a token: flambeau remote --token new"
    assert text == f"remote(ws://127.0.0.1:1/): {why}"
