"""A custom renderer: a callable that takes a run's events and draws losses as blocks.

python examples/custom_renderer.py

The last line of 3 epochs, 180 steps: ██▇▆▆▅▅▄▄▃▃▃▂▂▂▂▂▂▂▂▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ train 0.0166 valid 0.0174
"""

import argparse
import sys

import numpy as np

import flambeau as fb
from flambeau import data, nn, optim
from flambeau.learner import EpochEnded, Event, Progress, RunEnded, RunStarted, Values

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=180)
steps = parser.parse_args().steps
BLOCKS, WIDTH = "▁▂▃▄▅▆▇█", 40


class Blocks:
    """Receives every event of the run and ignores most. The Learner sets `learner`."""

    learner = None

    def __init__(self, stop_below: float = 0.0):
        self.losses: list[float] = []
        self.valid, self.stop_below = float("nan"), stop_below

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            print(f"{event.parameters:,} numbers on {event.device}, {event.epochs} epochs")
        elif isinstance(event, Values) and event.split == "train":
            self.losses += event.values["loss"]  # of many steps at once, when they were read
        elif isinstance(event, EpochEnded) and event.split == "valid":
            self.valid = (
                event.metrics["valid_loss"] if "valid_loss" in event.metrics else event.metrics["loss"]
            )
            self.show()
            if self.valid < self.stop_below and self.learner is not None:
                self.learner.stop("early")  # a renderer may ask for something
        elif isinstance(event, Progress) and sys.stdout.isatty():
            self.show(end="\r")
        elif isinstance(event, RunEnded):
            print(f"{event.reason} after {event.step} steps")

    def show(self, end: str = "\n") -> None:
        if not self.losses:
            return
        parts = np.array_split(np.array(self.losses), min(WIDTH, len(self.losses)))
        means = np.array([p.mean() for p in parts])
        levels = (means / means.max() * (len(BLOCKS) - 1)).round().astype(int)
        line = "".join(BLOCKS[i] for i in levels)
        print(f"{line}  train {means[-1]:.4f}  valid {self.valid:.4f}", end=end, flush=True)


def rings(n: int, seed: int):
    rng = np.random.default_rng(seed)
    ring, angle = rng.integers(0, 2, n), rng.uniform(0, 2 * np.pi, n)
    radius = 1 + ring + rng.normal(0, 0.12, n)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return data.TensorDataset(points.astype("f4"), ring.astype("i4"))


fb.manual_seed(0)
train = rings(min(2000, max(steps * 32 // 3, 32)), 0)  # 32 points a step, 3 epochs
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
renderer = Blocks(stop_below=0.01)
learner = fb.Learner(
    model, optim.Adam(model.parameters(), lr=1e-2), nn.functional.cross_entropy, renderers=[renderer]
)  # fmt: skip
learner.fit(
    data.DataLoader(train, 32, shuffle=True, seed=0),
    data.DataLoader(rings(500, 1), 250),
    epochs=3,
)
