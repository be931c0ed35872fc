"""Low-rank fine-tuning (Hu et al., 2021): a network for upright digits learns rotated ones.

python examples/lora_finetune.py

Digits rotated by a quarter turn: 88.8% after training only the adapters for 150 steps; upright digits stay at
93.8% without the adapters.
"""

import argparse

import numpy as np

import flambeau as fb
from flambeau import data, nn, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument(
    "--steps", type=int, default=150, help="of fine-tuning; the network itself takes twice as many"
)
steps = parser.parse_args().steps

fb.manual_seed(0)
train, test = data.mnist(train=True, download=False), data.mnist(train=False, download=False)
rng = np.random.default_rng(0)


def pixels(images):
    return fb.tensor(images.reshape(-1, 784)).float() / 255  # (B, 28, 28) -> (B, 784)


def turned(images):
    return np.ascontiguousarray(np.rot90(images, axes=(1, 2)))


def fit(model, optimizer, images, steps):
    @fb.jit
    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        return loss

    for i in range(steps):
        some = rng.integers(0, len(images), 64)
        loss = step(pixels(images[some]), fb.tensor(train.labels[some]))
        if (i + 1) % 50 == 0:
            print(f"  step {i + 1}  loss {loss.item():.4f}")


def accuracy(model, images):
    with fb.no_grad():
        return (model(pixels(images)).argmax(1) == fb.tensor(test.labels)).float().mean().item()


def trainable(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
print(f"{trainable(model):,} numbers on upright digits")
fit(model, optim.Adam(model.parameters(), lr=2e-3), train.images, 2 * steps)
print(f"upright {accuracy(model, test.images):.3f}, turned {accuracy(model, turned(test.images)):.3f}")

nn.utils.lora(model, r=16, alpha=32)  # freezes all, and adds two thin matrices to each linear layer
print(f"{trainable(model):,} numbers on turned digits")
added = [p for p in model.parameters() if p.requires_grad]
fit(model, optim.Adam(added, lr=4e-3), turned(train.images), steps)
print(f"turned {accuracy(model, turned(test.images)):.3f}")

thin = {name: p for name, p in model.state_dict().items() if "lora_" in name}
fb.save(thin, "turned.safetensors")  # what a task adds is a small file of its own
upright = nn.Sequential(*(m.base if hasattr(m, "base") else m for m in model))
print(f"upright without the addition {accuracy(upright, test.images):.3f}")
merged = nn.Sequential(*(m.merged() if hasattr(m, "merged") else m for m in model))
print(f"turned with the addition merged into the weights {accuracy(merged, turned(test.images)):.3f}")
