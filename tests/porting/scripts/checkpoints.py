"""A Dataset, DataLoaders, and training that goes on from the best checkpoint."""

import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

rng = np.random.default_rng(29)


class Waves(Dataset):
    """Sines of two frequencies with noise."""

    def __init__(self, n):
        self.labels = rng.integers(0, 2, n)
        t = np.linspace(0, 1, 12)
        self.x = np.sin(2 * np.pi * (1 + self.labels[:, None]) * t + rng.normal(0, 0.3, (n, 1))).astype(
            "float32"
        )

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.x[i], self.labels[i]


def new_model():
    model = nn.Sequential(nn.Linear(12, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    draw = np.random.default_rng(30)
    for module in model:
        if isinstance(module, nn.Linear):
            module.weight.data = torch.tensor(
                draw.normal(0, 0.3, tuple(module.weight.shape)).astype("float32")
            )
    nn.init.zeros_(model[3].bias)
    return model


def train_epoch(model, loader, optimizer):
    model.train()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    return sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in loader) / len(loader.dataset)


train_loader = DataLoader(Waves(48), batch_size=16, shuffle=False, num_workers=0, drop_last=True)
held = Waves(20)
valid = TensorDataset(torch.from_numpy(held.x), torch.from_numpy(held.labels))
valid_loader = DataLoader(valid, batch_size=10)
path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")

model = new_model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
best = float("inf")
for epoch in range(3):
    train_loss, valid_loss = train_epoch(model, train_loader, optimizer), validate(model, valid_loader)
    print(f"epoch {epoch} train {train_loss:.5f} valid {valid_loss:.5f}")
    if valid_loss < best:
        best = valid_loss
        state = {
            "epoch": epoch,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "best": best,
        }
        torch.save(state, path)

model = new_model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
checkpoint = torch.load(path, map_location="cpu", weights_only=True)
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
print("from epoch", checkpoint["epoch"], "best", checkpoint["best"])
for epoch in range(checkpoint["epoch"] + 1, checkpoint["epoch"] + 3):
    print(f"epoch {epoch} train {train_epoch(model, train_loader, optimizer):.5f}")
