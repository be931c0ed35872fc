"""MNIST trained by three workers on a Ray cluster of three local nodes, beside the local launcher.

    python bench/ray_cluster.py [--items 6000] [--epochs 3] [--rounds 3]

Needs ray. Both engines train the same model on the CPU, in turns; each step's time is taken on rank 0 from
the second epoch on. Prints the medians, their ratio, and whether the weights have equal bits.
"""

import argparse
import time
from hashlib import sha256
from statistics import median

import flambeau as fb
from flambeau import nn
from flambeau.data import DataLoader, TensorDataset, mnist
from flambeau.learner import Callback, Learner

BATCH, WORKERS = 96, 3


class Clock(Callback):
    """Notes the time after each step."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def after_step(self, learner: Learner) -> None:
        self.times.append(time.perf_counter())


def train(engine: str, options: argparse.Namespace) -> tuple[float, str, float]:
    """Return the median seconds of a step, a hash of the weights, and the accuracy on the test images."""
    fb.manual_seed(0)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    digits = mnist(train=True, download=False)
    images = digits.images[: options.items].astype("float32") / 255
    data = TensorDataset(images, digits.labels[: options.items])
    loader = DataLoader(data, BATCH, shuffle=True, seed=1)
    clock = Clock()
    learner = Learner(
        model, fb.optim.AdamW(model.parameters(), lr=1e-3), nn.functional.cross_entropy, callbacks=[clock],
        renderers=[],
    )  # fmt: skip
    learner.fit(loader, epochs=options.epochs, devices=WORKERS, engine=engine)
    first = len(clock.times) // options.epochs
    steps = [b - a for a, b in zip(clock.times[first:], clock.times[first + 1 :], strict=False)]
    digest = sha256(b"".join(t.numpy().tobytes() for t in model.state_dict().values())).hexdigest()[:16]
    digits = mnist(train=False, download=False)
    with fb.no_grad():
        guesses = model(fb.tensor(digits.images.astype("float32") / 255)).argmax(1)
    right = (guesses == fb.tensor(digits.labels)).float().mean().item()
    return median(steps), digest, right


def main() -> None:
    """Train by both engines in turns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    fb.set_default_device("cpu")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address)
    nodes = sum(node["Alive"] for node in ray.nodes())
    times: dict[str, list[float]] = {"local": [], "ray": []}
    digests: set[str] = set()
    for number in range(options.rounds):
        for engine in sorted(times, reverse=bool(number % 2)):
            seconds, digest, right = train(engine, options)
            times[engine].append(seconds)
            digests.add(digest)
            print(f"{engine}: {1e3 * seconds:.2f} ms a step, {right:.1%} right, weights {digest}", flush=True)
    ratio = median(times["ray"]) / median(times["local"])
    equal = "equal" if len(digests) == 1 else "different"
    name = f"{nodes} nodes, {WORKERS} workers"
    print(f"{name}: Ray takes {ratio:.3f} of the local launcher's step; {equal} weights")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
