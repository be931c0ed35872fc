"""What a user writes, over all namespaces: a type checker in strict mode has nothing to say about it."""

from collections.abc import Sequence

import flambeau as fb
import flambeau.nn.functional as F
from flambeau import nn, optim
from flambeau.data import DataLoader, TensorDataset


class Net(nn.Module):
    """A small network for pictures."""

    def __init__(self, classes: int = 10):
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.act = nn.GELU()
        self.head = nn.Linear(8 * 14 * 14, classes, dtype=fb.float32)

    def forward(self, x: fb.Tensor) -> fb.Tensor:
        x = self.pool(self.act(self.norm(self.conv(x))))
        return self.head(F.dropout(x.flatten(1), p=0.1, training=self.training))


def trained(model: nn.Module, batches: Sequence[tuple[fb.Tensor, fb.Tensor]]) -> list[float]:
    losses: list[float] = []
    criterion, optimizer = nn.CrossEntropyLoss(label_smoothing=0.1), optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in batches:
        loss = criterion(model(x), y)
        grads, _ = optim.clip_grad_norm(loss.backward(), 1.0)
        optimizer.step(grads)
        losses.append(float(loss.item()))
    return losses


def spectra(x: fb.Tensor) -> fb.Tensor:
    window = fb.signal.windows.hann(x.shape[-1])
    spectrum = fb.fft.rfft(x * window, norm="ortho")
    return spectrum.abs().clamp(min=1e-6).log()


def energy(x: fb.Tensor) -> fb.Tensor:
    return spectra(x).square().sum()


def least_squares(a: fb.Tensor, b: fb.Tensor) -> fb.Tensor:
    u, s, vh = fb.linalg.svd(a, full_matrices=False)
    sign, size = fb.linalg.slogdet(a @ a.mT + fb.eye(a.shape[0]))
    x = fb.linalg.lstsq(a, b).solution + 0 * (sign + size)
    return x * (1 + fb.special.erf(s).sum() * 0 + (u @ vh).mean() * 0)


@fb.jit
def scored(x: fb.Tensor, weight: fb.Tensor) -> fb.Tensor:
    values, places = x.topk(2, dim=-1)
    best, at = x.max(dim=1, keepdim=True)
    pooled, where = F.max_pool2d(x[None, None], 2, return_indices=True)
    unique, counts = fb.unique(x, return_counts=True)
    mixed = fb.where(x > 0, x, 0.0) ** 2 + 2 / (1 + x.abs()) - (x[..., 0:1] / 3)
    extra = [values, places, best, at, pooled, where, unique, counts]
    return fb.cat([mixed.sum((0, 1)).reshape(1), *(t.float().mean().reshape(1) for t in extra)]) * weight


if __name__ == "__main__":
    fb.manual_seed(0)
    images, labels = fb.randn(8, 1, 28, 28), fb.randint(0, 10, (8,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=4, shuffle=True)
    print(trained(Net().train(), [(fb.tensor(x), fb.tensor(y)) for x, y in loader]))
    slope: fb.Tensor = fb.grad(energy)(fb.arange(8, dtype=fb.float32))
    with fb.no_grad():
        print(
            spectra(fb.randn(16)).tolist(), slope.shape, least_squares(fb.randn(4, 3), fb.randn(4, 1)).shape
        )
    print(scored(fb.randn(4, 4, device="cpu"), fb.ones(1)).tolist())
