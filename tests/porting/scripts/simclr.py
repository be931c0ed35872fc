"""SimCLR's loss (NT-Xent): two views of each picture are near, all others far."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(22)
batch_size, n_views, temperature = 8, 2, 0.5


def info_nce_loss(features):
    labels = torch.cat([torch.arange(batch_size) for i in range(n_views)], dim=0)
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
    features = F.normalize(features, dim=1)
    similarity_matrix = torch.matmul(features, features.T)
    # discard the main diagonal from both
    mask = torch.eye(labels.shape[0], dtype=torch.bool)
    labels = labels[~mask].view(labels.shape[0], -1)
    similarity_matrix = similarity_matrix[~mask].view(similarity_matrix.shape[0], -1)
    positives = similarity_matrix[labels.bool()].view(labels.shape[0], -1)
    negatives = similarity_matrix[~labels.bool()].view(similarity_matrix.shape[0], -1)
    logits = torch.cat([positives, negatives], dim=1)
    labels = torch.zeros(logits.shape[0], dtype=torch.long)
    return logits / temperature, labels


backbone = nn.Sequential(nn.Linear(10, 16), nn.ReLU())
projector = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
model = nn.Sequential(backbone, projector)
for p in model.parameters():
    nn.init.constant_(p, 0.0)
    p.data += torch.tensor(rng.normal(0, 0.3, tuple(p.shape)), dtype=torch.float32)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
criterion = nn.CrossEntropyLoss()

for step in range(6):
    pictures = rng.normal(size=(batch_size, 10))
    views = np.concatenate([pictures + rng.normal(0, 0.3, pictures.shape) for _ in range(n_views)])
    features = model(torch.tensor(views, dtype=torch.float))
    logits, labels = info_nce_loss(features)
    loss = criterion(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    top1 = (logits.argmax(1) == labels).float().mean()
    print(f"step {step} loss {loss:.5f} top1 {top1.item():.3f}")
