"""Flambeau on one page: tensors, gradients, a model, training, saving. Start here.

python examples/guide.py

It prints each step. At the end a network of 1,185 parameters classifies the arms of a spiral: accuracy
1.000 after 400 steps.
"""

import argparse

import numpy as np

import flambeau as fb
from flambeau import nn, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=400)
steps = parser.parse_args().steps
fb.manual_seed(0)

# --- tensors: PyTorch's names; nothing is computed until a value is read ---

x = fb.tensor([[1.0, 2.0], [3.0, 4.0]])
y = (x @ x).relu().sum(1) * 2
print(y.plan())  # which kernels it would take: here one, product and all
print(y.tolist())  # [34.0, 74.0], computed now

# --- gradients: backward returns them, a dict by tensor; tensors have no .grad ---

w = fb.tensor([3.0], requires_grad=True)
grads = ((w * w).sum() * 5).backward()
print(grads[w].tolist())  # [30.0]

# --- functions of functions, as in functorch ---

slope = fb.grad(lambda t: t.sin())
print(slope(fb.tensor(0.0)).item())  # 1.0
print(fb.vmap(slope)(fb.tensor([0.0, 1.0])).tolist())  # each element by itself

# --- a model: layers are torch.nn's, and load its weights ---

model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = optim.Adam(model.parameters(), lr=1e-2)

# --- data: two arms of a spiral; from NumPy it is copied to the device once ---

rng = np.random.default_rng(0)
turn = np.sqrt(rng.random(512)) * 3 * np.pi  # how far out a point lies
arm = rng.integers(0, 2, 512)
angle = turn + arm * np.pi
points = np.stack([turn * np.cos(angle), turn * np.sin(angle)], 1) / 8 + rng.normal(0, 0.02, (512, 2))
points, labels = fb.tensor(points.astype("f4")), fb.tensor(arm.astype("f4"))

# --- a step: recorded at its first call, replayed after, without Python between the kernels ---


@fb.jit
def step(x, y):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    optimizer.step(loss.backward())
    return loss


for i in range(steps):
    loss = step(points, labels)
    if i % 100 == 0 or i == steps - 1:
        print(f"step {i:3}  loss {loss.item():.4f}")  # reading waits for the device: do it rarely

# --- evaluation, and a file that other libraries read too ---

with fb.no_grad():
    right = ((model(points).squeeze(1) > 0) == (labels > 0.5)).float().mean().item()
print(f"{sum(p.numel() for p in model.parameters()):,} numbers, accuracy {right:.3f}")
model.save("spiral.safetensors")
again = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
again.load("spiral.safetensors")
assert (again(points) - model(points)).abs().max().item() == 0
