"""Trains on the GPU of another process, or machine: the server, and a client that keeps Python to itself.

python examples/remote_training.py

200 steps, with a server in a thread of this process: loss 0.038, 99.6% of 512 points in or out of a circle.
"""

import argparse
import contextlib

import flambeau as fb
from flambeau import nn, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument(
    "--to", default="", help="a server that `flambeau remote --token TOKEN` started; else one here"
)
parser.add_argument("--token", default="a secret")
options = parser.parse_args()

with contextlib.ExitStack() as opened:
    address = options.to
    if not address:  # in a thread of this process
        address = opened.enter_context(fb.remote.Server(port=0, token=options.token)).address
    device = fb.remote.connect(address, token=options.token)
    opened.callback(device.close)
    print("computing on", device.name)

    fb.manual_seed(0)
    points = fb.rand(512, 2) * 2 - 1
    wanted = (points.square().sum(1, keepdim=True) < 0.5).float()  # inside of a circle
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    optimizer = optim.Adam(model.parameters(), lr=0.03)
    points, wanted = points.to(device), wanted.to(device)

    @fb.jit
    def step(x, y):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        optimizer.step(loss.backward())
        return loss

    for k in range(options.steps):
        loss = step(points, wanted)  # recorded once, then one short message each
        if k % 50 == 0:
            print(f"step {k}: loss {loss.item():.3f}")
    right = ((model(points) > 0).float() == wanted).float().mean().item()
    print(f"loss {loss.item():.3f}, {right:.1%} of the points")
