"""A normalising flow (RealNVP) of two half moons: affine coupling layers and the change of variables."""

import math

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(25)
masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 2).astype(np.float32))


def nets():
    return nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 2), nn.Tanh())


class RealNVP(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = nn.ModuleList([nets() for _ in range(len(masks))])
        self.s = nn.ModuleList([nets() for _ in range(len(masks))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return -0.5 * (z**2).sum(1) - math.log(2 * math.pi) + logp


flow = RealNVP(masks)
trained = [p for p in flow.parameters() if p.requires_grad]
for p in trained:
    p.data.copy_(torch.tensor(rng.normal(0, 0.3, tuple(p.shape))))
optimizer = torch.optim.Adam(trained, lr=1e-2)
for t in range(9):
    angle = rng.uniform(0, np.pi, 64)
    noisy = np.stack([np.cos(angle), np.sin(angle)], 1) + rng.normal(0, 0.05, (64, 2))
    loss = -flow.log_prob(torch.from_numpy(noisy.astype(np.float32))).mean()

    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()

    if t % 3 == 2:
        print(f"iter {t}:", f"loss = {loss:.4f}")

z = torch.from_numpy(rng.normal(size=(5, 2)).astype(np.float32))
x = flow.g(z)
back, _ = flow.f(x)
print("error is small:", (back - z).abs().max().item() < 1e-4, x.detach().mean().item())
