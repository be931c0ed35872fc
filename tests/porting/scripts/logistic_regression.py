"""Two clouds of points told apart: a weight vector, BCEWithLogitsLoss, momentum."""

import numpy as np
import torch
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rng = np.random.default_rng(1)
points = np.concatenate([rng.normal(-1, 1, (50, 2)), rng.normal(1, 1, (50, 2))])
x = torch.tensor(points, dtype=torch.float32).to(device)
y = torch.cat([torch.zeros(50), torch.ones(50)]).to(device)

w = torch.zeros(2, requires_grad=True, device=device)
b = torch.zeros((), requires_grad=True, device=device)
optimizer = torch.optim.SGD([w, b], lr=0.5, momentum=0.9)

for step in range(40):
    logits = x @ w + b
    loss = F.binary_cross_entropy_with_logits(logits, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        accuracy = ((logits > 0) == (y > 0.5)).float().mean().item()
        print(f"{step:3d} loss {loss.item():.5f} accuracy {accuracy:.2f}")

print("w", [round(v, 4) for v in w.detach().cpu().numpy().tolist()], "b", round(b.item(), 4))
