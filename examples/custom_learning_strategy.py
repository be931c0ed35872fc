"""A strategy of learning of your own, with the dashboard of a Learner: replicas that average their weights.

python examples/custom_learning_strategy.py

Two replicas on a half of the 10,000 bundled digits each, averaged every 20 of 300 steps: 92.5% of the test
digits by one of them before the last average, 92.3% after.
"""

import argparse
import time

import numpy as np

import flambeau as fb
from flambeau import data, nn, optim
from flambeau.learner import EpochEnded, EpochStarted, Progress, RunEnded, RunStarted, Values
from flambeau.learner.renderers import default_renderers

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=300, help="of each replica")
steps = parser.parse_args().steps
REPLICAS, EVERY, B, LR = 2, 20, 64, 2e-3  # steps between two averages; digits a step of a replica

fb.manual_seed(0)
train, test = data.mnist(train=True, download=False), data.mnist(train=False, download=False)


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def recorded_step(model, optimizer):
    """A step of a model with an optimiser of its own. (images, labels) -> loss"""

    @fb.jit
    def step(images, labels):
        loss = nn.functional.cross_entropy(model(images.float() / 255), labels)
        optimizer.step(loss.backward())
        return loss

    return step


def average(models):
    """Give all models the mean of their weights; each optimiser keeps its moments."""
    with fb.no_grad():
        for parameters in zip(*(m.parameters() for m in models), strict=True):
            mean = sum(parameters[1:], parameters[0]) / len(parameters)
            for p in parameters:
                p.assign_(mean)
    fb.realize(*(p for m in models for p in m.parameters()))


def accuracy(model):
    right = 0
    with fb.no_grad():
        for images, labels in data.DataLoader(test, 500):
            right += (model(images.float() / 255).argmax(1) == labels).sum().item()
    return right / len(test.labels)


models = [network() for _ in range(REPLICAS)]
average(models)  # begin with the same weights
learn = [recorded_step(m, optim.Adam(m.parameters(), lr=LR)) for m in models]
rng, count = np.random.default_rng(0), len(train.labels)
shares = [np.arange(k, count, REPLICAS) for k in range(REPLICAS)]  # of the digits


def batch(share):
    at = rng.choice(share, B)
    return fb.tensor(train.images[at]), fb.tensor(train.labels[at].astype("i4"))


renderers = default_renderers(None)  # a dashboard on a terminal, else lines


def emit(event):
    for renderer in renderers:
        renderer(event)


size = sum(p.numel() for p in models[0].parameters())
begin, device = time.perf_counter(), fb.get_default_device()
emit(RunStarted("replicas", "", str(device), 1, size, 0, False, {"replicas": REPLICAS, "every": EVERY}))
emit(EpochStarted("train", 0, 1, steps))
apart = 0.0
for step in range(1, steps + 1):
    losses = [learn[k](*batch(shares[k])) for k in range(REPLICAS)]
    if step % EVERY == 0 or step == steps:
        apart = accuracy(models[0])  # before it hears of the others
        average(models)
        loss = float(np.mean(fb.read(*losses)))
        emit(Values("train", 0, [step], {"loss": [loss]}))
        seconds = time.perf_counter() - begin
        emit(Progress("train", 0, step, steps, step, step, seconds, {}, 0))
emit(EpochEnded("train", 0, steps, {"loss": loss}, time.perf_counter() - begin))
emit(RunEnded("done", steps, ""))
together = accuracy(models[0])
print(f"test digits: {apart:.1%} by one replica before the last average, {together:.1%} after")
