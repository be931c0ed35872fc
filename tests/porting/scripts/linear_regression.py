"""A line through points, as in a first lesson: nn.Linear, MSELoss, SGD."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
xs = rng.uniform(-1, 1, (64, 1)).astype(np.float32)
ys = 3 * xs + 0.5 + rng.normal(0, 0.05, xs.shape).astype(np.float32)
x, y = torch.from_numpy(xs), torch.from_numpy(ys)

model = nn.Linear(1, 1)
nn.init.zeros_(model.weight)
nn.init.zeros_(model.bias)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)

for epoch in range(60):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if (epoch + 1) % 20 == 0:
        print(f"epoch {epoch + 1}: loss {loss.item():.6f}")

w, b = model.weight.item(), model.bias.item()
print(f"y = {w:.4f} x + {b:.4f}")
