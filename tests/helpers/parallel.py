"""A small training with workers in threads, for the tests of flambeau.distributed."""

import hashlib
import threading
import time

import numpy as np

import flambeau as fb
from flambeau import metrics, nn
from flambeau.data import DataLoader, TensorDataset
from flambeau.distributed import run_threads, wrap
from flambeau.learner import Callback, Learner

F = nn.functional
building = threading.Lock()  # threads share the generator that initialises weights


class Net(nn.Module):
    """Batch norm and dropout: what a shard draws and changes."""

    def __init__(self, width=16):
        super().__init__()
        self.a, self.bn, self.drop = nn.Linear(12, width), nn.BatchNorm1d(width), nn.Dropout(0.3)
        self.b, self.unused = nn.Linear(width, 4), nn.Linear(2, 2)

    def forward(self, x):
        return self.b(self.drop(self.bn(self.a(x)).relu()))


def batches(sizes, inputs=12, classes=4):
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal((n, inputs)).astype("f"), rng.integers(0, classes, n).astype("i4"))
        for n in sizes
    ]


def build(device, kind=Net, optimizer=fb.optim.AdamW, lr=1e-2):
    with building:
        fb.manual_seed(3)
        model = kind().to(device)
        return model, optimizer(model.parameters(), lr=lr)


def digest(model):
    """The hash of all weights and buffers."""
    whole = hashlib.sha256()
    for name, t in model.state_dict().items():
        whole.update(name.encode() + t.numpy().tobytes())
    return whole.hexdigest()


def train(group, device="cpu", sizes=(16, 23), accumulate=1, kind=Net, **options):
    """(hash of the weights, losses) after a step for each size."""
    model, optimizer = build(device, kind)
    optimizer = wrap(optimizer, model, group=group, **options)
    loss_of = lambda x, y: F.cross_entropy(model(x), y)  # noqa: E731 - the model is this worker's
    data = [tuple(fb.tensor(part, device=device) for part in batch) for batch in batches(sizes)]
    groups = [data[i : i + accumulate] for i in range(0, len(data), accumulate)]
    losses = [optimizer.accumulate(loss_of, group) for group in groups]
    assert digest(model) != digest(build(device, kind)[0])
    return digest(model), losses


def results(workers, shared_memory=None, **options):
    """What all workers agree on."""
    each = run_threads(workers, lambda group: train(group, **options), shared_memory=shared_memory)
    assert all(one == each[0] for one in each)
    return each[0]


def loader_of(items, seed, **options):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((items, 12)).astype("f"), rng.integers(0, 4, items).astype("i4")
    return DataLoader(TensorDataset(x, y), batch_size=16, seed=seed, **options)


def learner_of(device="cpu", **options):
    model, optimizer = build(device)
    scheduler = fb.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    options = {"metrics": [metrics.MulticlassAccuracy(4)], "renderers": [], **options}
    return Learner(model, optimizer, F.cross_entropy, scheduler=scheduler, **options)


def fit(learner, epochs=2, workers=0, **options):
    train, valid = loader_of(44, 1, shuffle=True, num_workers=workers), loader_of(40, 2)
    history = learner.fit(train, valid, epochs, **options)
    return digest(learner.model), history


class Slow(Callback):
    """Gives the test the time to kill a worker between two steps, and in one."""

    def after_step(self, learner):
        time.sleep(0.05)
