"""Trains on handwritten digits together with browser tabs: open the printed link in one or several.

python examples/browser_tabs.py

500 steps on the 10,000 bundled digits reach 98.0% of the others; on all of MNIST, with two tabs of Chromium
of which one was closed in the middle, 98.5%. Without a tab, this process computes all shards.
"""

import argparse

import numpy as np

import flambeau as fb
from flambeau import data, nn, optim
from flambeau.tabs import TabWorkers

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=500)
parser.add_argument("--port", type=int, default=0, help="of the link, 0: a free one")
options = parser.parse_args()
B = 64  # digits a step, in 8 shards of 8
LR = 0.01

fb.manual_seed(0)
train, test = data.mnist(train=True), data.mnist(train=False)
model = nn.Sequential(  # (B, 1, 28, 28)
    nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2),  # (B, 8, 12, 12)
    nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),  # (B, 16, 4, 4)
    nn.Flatten(), nn.Linear(256, 10),  # (B, 10)
)  # fmt: skip
optimizer = optim.Adam(model.parameters(), lr=LR, betas=(0.9, 0.95))


def pixels(images):
    return images[:, None].astype(np.float32) / 255 - 0.13  # uint8 (B, 28, 28) -> float32 (B, 1, 28, 28)


def batches(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        at = rng.integers(0, len(train.labels), B)
        yield pixels(train.images[at]), train.labels[at].astype(np.int64)


example = next(batches(1))
with TabWorkers(model, nn.functional.cross_entropy, example, shards=8, port=options.port) as tabs:
    print("open this in a browser:", tabs.link)
    for step, (x, y) in enumerate(batches(options.steps)):
        optimizer.lr = LR * (1 - step / options.steps)
        grads = tabs.backward(x, y)  # each shard here or in a tab
        optimizer.step(grads)
        if step % 25 == 0:
            helpers = ", ".join(f"{t.name} ({t.adapter}): {t.shards} shards" for t in tabs.tabs)
            print(f"step {step}: loss {grads.loss.item():.3f}  {helpers or 'no tab yet'}")

right = 0
with fb.no_grad():
    for begin in range(0, len(test.labels), 500):
        x = fb.tensor(pixels(test.images[begin : begin + 500]))
        right += int((model(x).argmax(1).numpy() == test.labels[begin : begin + 500]).sum())
print(f"{right / len(test.labels):.1%} of the test digits")
