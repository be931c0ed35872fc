"""Neural style: a picture optimised by L-BFGS until its features and Gram matrices match."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

rng = np.random.default_rng(23)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    G = torch.mm(features, features.t())
    return G.div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        G = gram_matrix(input)
        self.loss = F.mse_loss(G, self.target)
        return input


def picture():
    return torch.tensor(rng.uniform(0, 1, (1, 3, 8, 8)), dtype=torch.float32)


content_img, style_img, input_img = picture(), picture(), picture()
cnn = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.Tanh(), nn.Conv2d(6, 6, 3, padding=1), nn.Tanh()).eval()
for p in cnn.parameters():
    p.data = torch.tensor(rng.normal(0, 0.3, tuple(p.shape)), dtype=torch.float32)
cnn.requires_grad_(False)

model, content_losses, style_losses = nn.Sequential(), [], []
for i, layer in enumerate(cnn.children()):
    model.add_module(f"layer_{i}", layer)
    if i == 2:
        content_losses.append(ContentLoss(model(content_img)))
        model.add_module(f"content_loss_{i}", content_losses[-1])
    if i % 2:
        style_losses.append(StyleLoss(model(style_img)))
        model.add_module(f"style_loss_{i}", style_losses[-1])

input_img.requires_grad_(True)
optimizer = optim.LBFGS([input_img], max_iter=5)
run = [0]
while run[0] < 15:

    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score = 0
        content_score = 0
        for sl in style_losses:
            style_score += sl.loss
        for cl in content_losses:
            content_score += cl.loss
        style_score *= 1000
        loss = style_score + content_score
        loss.backward()
        run[0] += 1
        if run[0] % 5 == 0:
            print(f"run {run[0]}: Style {style_score.item():.5f} Content {content_score.item():.5f}")
        return loss

    optimizer.step(closure)
