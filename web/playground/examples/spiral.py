"""Train a classifier: three arms of a spiral, and the map of what the network learned."""

import math

import flambeau as fb
from flambeau import nn, optim
from flambeau.pictures import image, plot

fb.manual_seed(0)
N = 100  # points of an arm
radius = fb.linspace(0.05, 1, N).repeat(3)
arm = fb.arange(3).repeat_interleave(N)
angle = radius * 5 + arm * (2 * math.pi / 3) + fb.randn(3 * N) * 0.1
points = fb.stack([radius * angle.cos(), radius * angle.sin()], 1)

model = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 3))
optimizer = optim.Adam(model.parameters(), lr=0.02)


@fb.jit
def step(points, arm):
    loss = nn.functional.cross_entropy(model(points), arm)
    optimizer.step(loss.backward())
    return loss


losses = []
for i in range(150):
    losses.append(step(points, arm).item())
    if i % 30 == 29:
        print(f"step {i + 1}: loss {losses[-1]:.3f}")

right = (model(points).argmax(1) == arm).float().mean().item()
print(f"{right:.0%} of the points are right")
plot(losses, log=True).show()

side = fb.linspace(-1.1, 1.1, 64)
grid = fb.stack([side.repeat(64), side.repeat_interleave(64)], 1)
image(model(grid).softmax(1).T.reshape(3, 64, 64), low=0, high=1).show()
