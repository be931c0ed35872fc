"""A variational autoencoder with its loss, as in the examples of PyTorch."""

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional as F

rng = np.random.default_rng(7)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(36, 24)
        self.fc21 = nn.Linear(24, 3)
        self.fc22 = nn.Linear(24, 3)
        self.fc3 = nn.Linear(3, 24)
        self.fc4 = nn.Linear(24, 36)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.as_tensor(rng.normal(size=tuple(std.shape)), dtype=std.dtype)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 36))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 36), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


model = VAE()
state = {
    k: torch.tensor(rng.normal(0, 0.15, tuple(v.shape)), dtype=v.dtype) for k, v in model.state_dict().items()
}
model.load_state_dict(state)
optimizer = optim.Adam(model.parameters(), lr=1e-2)
rows = rng.integers(0, 6, 48)
images = np.zeros((48, 1, 6, 6), dtype=np.float32)
images[np.arange(48), 0, rows] = 1
batches = torch.from_numpy(images).split(16)

model.train()
for epoch in range(1, 5):
    train_loss = 0
    for data in batches:
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print(f"====> Epoch: {epoch} Average loss: {train_loss / 48:.4f}")
