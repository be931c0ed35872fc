"""What the Learner costs a step beside the same recorded step in a loop by hand, in turns.

python bench/learner_loop.py [--device gpu] [--network mlp] [--steps 1000] [--rounds 3] [--every 50]

A small MLP, or GPT-2 small by 16 x 512 (`--network gpt`, for a GPU); the batches lie on the device. Columns:
microseconds a step by the clock and by the main thread's processor time, which other work on the machine does
not change, and reads that were begun. Rows: by hand (losses read every 16 steps), the Learner, the Learner
with a checkpoint every `--every` steps, of which the last is waited for.
"""

import argparse
import tempfile
import time
from statistics import median

import flambeau as fb
from flambeau import nn, optim
from flambeau.learner import Learner
from flambeau.models.benchmarked import GPT2_SMALL, draw_weights, gpt
from flambeau.runtime import run


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def digits():
    """A batch for the MLP."""
    return fb.rand(64, 784), fb.randint(0, 10, (64,))


def tokens():
    """A batch for the GPT."""
    ids = fb.randint(0, GPT2_SMALL.vocabulary, (16, 513))
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


NETWORKS = {"mlp": (mlp, digits), "gpt": (lambda: draw_weights(fb, gpt(fb, GPT2_SMALL)), tokens)}


def training(name: str):
    """(a network, its optimiser), the same each time."""
    fb.manual_seed(0)
    model = NETWORKS[name][0]()
    return model, optim.Adam(model.parameters(), lr=1e-3)


def loss_of(scores, y):
    return nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))


class ByHand:
    """The loop without anything around it."""

    def __init__(self, name, batches):
        self.batches = batches
        model, optimizer = training(name)

        @fb.jit
        def step(x, y):
            loss = loss_of(model(x), y)
            optimizer.step(loss.backward())
            return loss

        self.step = step

    def run(self) -> None:
        losses, before = [], None
        for x, y in self.batches:
            losses.append(self.step(x, y))
            if len(losses) == 16:
                if before is not None:
                    list(before)
                before, losses = fb.read(*losses), []
        fb.read(self.step(x, y))[0]


class ByLearner:
    """The same by a Learner."""

    def __init__(self, name, batches, **options):
        model, optimizer = training(name)
        self.batches, self.epochs = batches, 0
        self.learner = Learner(model, optimizer, loss_of, renderers=[], **options)

    def run(self) -> None:
        self.epochs += 1
        self.learner.fit(self.batches, epochs=self.epochs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--network", choices=NETWORKS, default="mlp")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=50)
    given = parser.parse_args()
    if given.device:
        fb.set_default_device(given.device)
    name = given.network
    few = [NETWORKS[name][1]() for _ in range(20)]
    fb.realize(*(t for pair in few for t in pair))
    batches = [few[i % 20] for i in range(given.steps)]
    folder = tempfile.TemporaryDirectory()
    contestants = {
        "by hand": ByHand(name, batches),
        "Learner": ByLearner(name, batches),
        "checkpoints": ByLearner(name, batches, directory=folder.name, checkpoint_every=given.every),
    }
    begun = [0]
    init = run.Readback.__init__

    def counted(self, tensors):
        begun[0] += 1
        init(self, tensors)

    run.Readback.__init__ = counted
    found = {name: [] for name in contestants}
    for c in contestants.values():
        c.run()
    for _ in range(given.rounds):
        for name, c in contestants.items():
            begun[0], wall, cpu = 0, time.perf_counter(), time.thread_time()
            c.run()
            parts = time.perf_counter() - wall, time.thread_time() - cpu
            found[name].append((*(t / given.steps * 1e6 for t in parts), begun[0]))
    print(fb.get_default_device())
    for name, rows in found.items():
        wall, cpu, reads = map(median, zip(*rows, strict=True))
        print(f"{name:12} {wall:8.0f} us a step  {cpu:8.0f} us of the thread  {reads:5.0f} reads")
    folder.cleanup()


if __name__ == "__main__":
    main()
