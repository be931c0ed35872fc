"""Two moons and a network of two hidden layers, with a training and an evaluation function."""

import numpy as np
import torch
from torch import nn, optim


class MLP(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 2),
        )

    def forward(self, x):
        return self.layers(x)


def moons(n, rng):
    angle = rng.uniform(0, np.pi, n)
    upper = np.stack([np.cos(angle), np.sin(angle)], 1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    points = np.concatenate([upper, lower]) + rng.normal(0, 0.1, (2 * n, 2))
    return points.astype("float32"), np.repeat([0, 1], n)


def train(model, x, y, optimizer, criterion, epochs):
    model.train()
    for epoch in range(epochs):
        optimizer.zero_grad()
        output = model(x)
        loss = criterion(output, y)
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            print(f"Epoch {epoch}, Loss: {loss.item():.5f}")


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        predicted = model(x).argmax(dim=1)
        return (predicted == y).sum().item() / y.size(0)


rng = np.random.default_rng(2)
points, labels = moons(60, rng)
x, y = torch.from_numpy(points), torch.from_numpy(labels)
model = MLP()
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.from_numpy(rng.normal(0, 0.4, tuple(p.shape)).astype("float32")))

train(model, x, y, optim.Adam(model.parameters(), lr=0.02), nn.CrossEntropyLoss(), 40)
print(f"Accuracy: {evaluate(model, x, y):.3f}")
