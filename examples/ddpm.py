"""A small diffusion model on handwritten digits (Ho et al., 2020) that removes noise step by step.

python examples/ddpm.py

14 x 14 pixels, 31,585 parameters. Error of the predicted noise: 0.32 over the first 50 steps, 0.13 over the
last 50 of 200; predicting zero gives 1.0. Samples are then strokes; with `--steps 8000` digits (0.073).
"""

import argparse

import numpy as np

import flambeau as fb
from flambeau import data, nn, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--levels", type=int, default=50, help="of noise, so many steps a sample takes")
args = parser.parse_args()
B, C, LEVELS = 32, 16, args.levels

fb.manual_seed(0)
digits = data.mnist(train=True, download=False).images.reshape(-1, 14, 2, 14, 2).mean((2, 4))  # (N, 14, 14)
digits = (digits / 127.5 - 1).astype("f4")[:, None]
beta = np.linspace(1e-3, 0.2, LEVELS)  # how much noise each level adds
kept = np.cumprod(1 - beta)  # how much of the image is left behind all levels so far
KEPT = fb.tensor(kept.astype("f4"))


class Denoiser(nn.Module):
    """Predicts an image's noise from its level: convolutions down to 7 x 7 and back. (B, 1, 14, 14), (B,)"""

    def __init__(self):
        super().__init__()
        self.level = nn.Sequential(nn.Embedding(LEVELS, 64), nn.Linear(64, 64), nn.SiLU())
        self.enter = nn.Conv2d(1, C, 3, padding=1)
        self.down = nn.Conv2d(C, 2 * C, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(2 * C, 2 * C, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * C, C, 2, stride=2)
        self.leave = nn.Sequential(
            nn.GroupNorm(4, 2 * C), nn.Conv2d(2 * C, C, 3, padding=1), nn.SiLU(),
            nn.Conv2d(C, 1, 3, padding=1),
        )  # fmt: skip
        self.to_down, self.to_middle = nn.Linear(64, C), nn.Linear(64, 2 * C)
        self.norm1, self.norm2, self.norm3 = (
            nn.GroupNorm(4, C),
            nn.GroupNorm(4, 2 * C),
            nn.GroupNorm(4, 2 * C),
        )

    def forward(self, x, level):
        F = nn.functional
        t = self.level(level)
        a = F.silu(self.norm1(self.enter(x) + self.to_down(t)[:, :, None, None]))  # (B, C, 14, 14)
        b = F.silu(self.norm2(self.down(a) + self.to_middle(t)[:, :, None, None]))  # (B, 2C, 7, 7)
        b = b + F.silu(self.norm3(self.middle(b)))
        return self.leave(fb.cat([a, self.up(b)], 1))


model = Denoiser()
averaged = optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.99))
optimizer = optim.AdamW(model.parameters(), lr=2e-3)
print(f"{sum(p.numel() for p in model.parameters()):,} numbers")


@fb.jit
def step(x):
    """Add noise of a random level, and learn to predict it."""
    level = fb.randint(0, LEVELS, (len(x),))
    noise, left = fb.randn_like(x), KEPT[level].reshape(-1, 1, 1, 1)
    loss = nn.functional.mse_loss(model(left.sqrt() * x + (1 - left).sqrt() * noise, level), noise)
    optimizer.step(loss.backward())
    return loss


losses, rng = [], np.random.default_rng(0)
for i in range(1, args.steps + 1):
    losses.append(step(fb.tensor(digits[rng.integers(0, len(digits), B)])))
    averaged.update_parameters(model)
    if i % 50 == 0:
        print(f"step {i}  error {np.mean(fb.read(*losses[-50:])):.4f}")


@fb.jit
def without_noise(x, level, numbers):
    """Remove one level; numbers: 1 / sqrt(1 - beta), beta / sqrt(1 - kept), and the amount of new noise."""
    noise = averaged(x, level.expand(len(x)))
    return (x - numbers[1] * noise) * numbers[0] + numbers[2] * fb.randn_like(x)


with fb.no_grad():
    x = fb.randn(6, 1, 14, 14)
    for t in reversed(range(LEVELS)):
        fresh = np.sqrt(beta[t]) if t else 0.0
        numbers = np.array([1 / np.sqrt(1 - beta[t]), beta[t] / np.sqrt(1 - kept[t]), fresh], "f4")
        x = without_noise(x, fb.tensor([t]), fb.tensor(numbers))
for rows in zip(*((x[:, 0].clamp(-1, 1) + 1) / 2).numpy(), strict=True):
    print("  ".join("".join(2 * " .:*#"[int(p * 4.99)] for p in row) for row in rows))
