"""A denoising diffusion model of points on a ring: the schedule, the loss, ancestral sampling, an average of
the weights."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(24)
T = 20
betas = torch.linspace(1e-3, 0.2, T)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, axis=0)
alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
sqrt_alphas_cumprod = torch.sqrt(alphas_cumprod)
sqrt_one_minus_alphas_cumprod = torch.sqrt(1.0 - alphas_cumprod)
posterior_variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)


def randn_like(x):
    return torch.tensor(rng.normal(size=tuple(x.shape)), dtype=x.dtype)


def extract(a, t, x_shape):
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


class Denoiser(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.time = nn.Embedding(T, dim)
        self.inp, self.mid, self.out = nn.Linear(2, dim), nn.Linear(dim, dim), nn.Linear(dim, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(h + F.silu(self.mid(h)))


def p_losses(model, x_start, t):
    noise = randn_like(x_start)
    a, b = (
        extract(sqrt_alphas_cumprod, t, x_start.shape),
        extract(sqrt_one_minus_alphas_cumprod, t, x_start.shape),
    )
    return F.smooth_l1_loss(noise, model(a * x_start + b * noise, t))


@torch.no_grad()
def sample(model, n):
    x = randn_like(torch.empty(n, 2))
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        mean = (x - betas[i] * model(x, t) / sqrt_one_minus_alphas_cumprod[i]) / torch.sqrt(alphas[i])
        x = mean if i == 0 else mean + torch.sqrt(posterior_variance[i]) * randn_like(x)
    return x


model = Denoiser()
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.tensor(rng.normal(0, 0.3, tuple(p.shape))))
ema = copy.deepcopy(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(12):
    angle = rng.uniform(0, 2 * np.pi, 32)
    batch = torch.tensor(np.stack([np.cos(angle), np.sin(angle)], 1)).float()
    t = torch.from_numpy(rng.integers(0, T, 32)).long()
    optimizer.zero_grad()
    loss = p_losses(model, batch, t)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), model.parameters()):
            a.mul_(0.9).add_(b, alpha=0.1)
    if step % 4 == 3:
        print(f"step {step} loss {loss.item():.5f}")
points = sample(ema, 6)
print("radius", [round(r, 4) for r in points.norm(dim=1).tolist()])
