"""A recorded training step on a remote device by the loopback, beside the same step on the adapter itself.

python bench/remote.py [--device gpu:llvmpipe] [--rounds 9] [--steps 20] [--trust] [--only mlp]

The server is a process of its own, with the same adapter. `each` reads the loss of every step, `late` that of
the last one. Both sides train the same model from the same seed, and their losses must have equal bits.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import flambeau as fb
from flambeau import nn, optim

GOAL_RATIO, GOAL_BYTES = 1.3, 1024


class Workload(NamedTuple):
    """A model and the shape of its batch."""

    build: Callable[[], nn.Module]
    batch: tuple[int, ...]


def mlp() -> nn.Module:
    """Three layers of MNIST's sizes."""
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def cnn() -> nn.Module:
    """Two convolutions and two layers."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10),
    )  # fmt: skip


def tiny() -> nn.Module:
    """Two small layers, a step that is mostly the host's work: the overhead of a message."""
    return nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 10))


WORKLOADS = {
    "tiny": Workload(tiny, (8, 16)),
    "mlp": Workload(mlp, (128, 784)),
    "cnn": Workload(cnn, (32, 1, 28, 28)),
}


class Side:
    """One contestant: a step on a device, and the losses that it computed."""

    def __init__(self, device: Any, workload: Workload):
        fb.manual_seed(0)
        model = workload.build().to(device)
        adam = optim.Adam(model.parameters(), 1e-3)
        rng = np.random.default_rng(0)
        self.x = fb.tensor(rng.normal(size=workload.batch).astype("f4"), device=device)
        self.y = fb.tensor(rng.integers(0, 10, workload.batch[0]), device=device)
        self.device, self.losses = device, list[float]()

        @fb.jit
        def step(x: fb.Tensor, y: fb.Tensor) -> fb.Tensor:
            loss = nn.functional.cross_entropy(model(x), y)
            adam.step(loss.backward())
            return loss

        self.step = step
        began = time.perf_counter()
        self.losses.append(step(self.x, self.y).item())
        self.first = time.perf_counter() - began
        self.draws = fb.get_rng_state()

    def run(self, steps: int, reads_each: bool) -> float:
        """The seconds of a step."""
        fb.set_rng_state(self.draws)
        began = time.perf_counter()
        for i in range(steps):
            loss = self.step(self.x, self.y)
            if reads_each or i == steps - 1:
                self.losses.append(loss.item())
        took = (time.perf_counter() - began) / steps
        self.draws = fb.get_rng_state()
        return took


def compare(name: str, remote: Any, local: Any, args: argparse.Namespace) -> None:
    """Print the ratio, the bytes of a step and the first calls of a workload."""
    sides = Side(local, WORKLOADS[name]), Side(remote, WORKLOADS[name])
    for side in sides:
        for reads_each in (True, False):
            side.run(8, reads_each)
    print(f"{name}: first call {sides[0].first:.2f} s, remote {sides[1].first:.2f} s")
    for how, reads_each in (("each", True), ("late", False)):
        ratios, times = list[float](), list[tuple[float, float]]()
        before = sum(remote.traffic)
        for i in range(args.rounds):
            order = sides if i % 2 else sides[::-1]
            took = {side.device: side.run(args.steps, reads_each) for side in order}
            times.append((took[local], took[remote]))
            ratios.append(took[remote] / took[local])
        nbytes = (sum(remote.traffic) - before) / (args.rounds * args.steps)
        here, there = (1e3 * statistics.median(t) for t in zip(*times, strict=True))
        print(
            f"{name} {how}: {here:.2f} ms, remote {there:.2f} ms: {statistics.median(ratios):.2f} times"
            f" (goal {GOAL_RATIO}; rounds {min(ratios):.2f} to {max(ratios):.2f}); {nbytes:.0f} bytes a step"
            f" (goal {GOAL_BYTES})"
        )
    assert sides[0].losses == sides[1].losses, "the losses differ"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="gpu", help="the adapter of both sides")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--trust", action="store_true", help="the server trusts its client")
    parser.add_argument("--only", choices=list(WORKLOADS), nargs="*", default=list(WORKLOADS))
    args = parser.parse_args()
    call = [sys.executable, "-u", "-m", "flambeau", "remote", "--port", "0", "--device", args.device]
    path = os.pathsep.join([str(Path(fb.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    server = subprocess.Popen(
        call + ["--trust"] * args.trust,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"at (remote:\S+)$", line)
        assert found, line
        remote, local = fb.device(found[1]), fb.device(args.device)
        print(f"{time.strftime('%Y-%m-%d')}, {local}, load {os.getloadavg()[0]:.1f}")
        for name in args.only:
            compare(name, remote, local, args)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
