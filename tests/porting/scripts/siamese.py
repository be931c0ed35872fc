"""A Siamese network: the same weights for three pictures, a triplet loss and a contrastive one."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(21)


class EmbeddingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convnet = nn.Sequential(nn.Conv2d(1, 4, 3), nn.PReLU(), nn.MaxPool2d(2, stride=2))
        self.fc = nn.Sequential(nn.Linear(4 * 3 * 3, 8), nn.PReLU(), nn.Linear(8, 2))

    def forward(self, x):
        output = self.convnet(x)
        output = output.view(output.size()[0], -1)
        return self.fc(output)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, target):
        distances = (a - b).pow(2).sum(1)
        apart = F.relu(self.margin - (distances + 1e-9).sqrt()).pow(2)
        return (0.5 * (target.float() * distances + (1 - target).float() * apart)).mean()


def pictures(labels):
    x = rng.normal(0, 0.2, (len(labels), 1, 8, 8))
    x[np.arange(len(labels)), 0, labels * 2] += 1
    return torch.tensor(x, dtype=torch.float32)


net = EmbeddingNet()
net.load_state_dict(
    {
        k: torch.tensor(rng.normal(0, 0.3, tuple(v.shape)), dtype=torch.float32)
        for k, v in net.state_dict().items()
    }
)
triplet, contrastive = nn.TripletMarginLoss(margin=1.0, p=2), ContrastiveLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)

for step in range(8):
    labels = rng.integers(0, 4, 16)
    others = (labels + rng.integers(1, 4, 16)) % 4
    anchor, positive, negative = net(pictures(labels)), net(pictures(labels)), net(pictures(others))
    loss = triplet(anchor, positive, negative)
    pairs = contrastive(anchor, negative, torch.zeros(16)) + contrastive(anchor, positive, torch.ones(16))
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    pairs.backward()
    optimizer.step()
    if step % 2:
        print(f"triplet {loss.item():.5f} contrastive {pairs.item():.5f}")
