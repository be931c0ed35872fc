"""A denoising convolutional autoencoder."""

import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(8)


class ConvAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 3, 3, padding=1),
            nn.ReLU(),
        )
        self.decoder = nn.Sequential(
            nn.Upsample(scale_factor=2, mode="nearest"),
            nn.Conv2d(3, 6, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(6, 1, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = ConvAutoencoder()
for param in model.parameters():
    with torch.no_grad():
        param.copy_(torch.from_numpy(rng.normal(0, 0.3, param.size()).astype(np.float32)))
criterion = nn.MSELoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.003)

clean = (rng.uniform(size=(24, 1, 8, 1)) > 0.5) * np.ones((1, 1, 1, 8))
for epoch in range(5):
    running = 0.0
    for i in range(0, 24, 8):
        images = torch.Tensor(clean[i : i + 8])
        noisy = torch.clamp(images + 0.2 * torch.Tensor(rng.normal(size=images.shape)), 0.0, 1.0)
        optimizer.zero_grad()
        outputs = model(noisy)
        loss = criterion(outputs, images)
        loss.backward()
        optimizer.step()
        running += loss.item() * images.size(0)
    print(f"Epoch: {epoch + 1} \tTraining Loss: {running / 24:.6f}")
