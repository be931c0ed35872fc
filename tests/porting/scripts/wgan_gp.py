"""A Wasserstein GAN with gradient penalty on points of a ring: gradients of gradients."""

import numpy as np
import torch
import torch.nn as nn
from torch import autograd, optim

LAMBDA, BATCH, CRITIC_ITERS = 1.0, 32, 2
rng = np.random.default_rng(6)


def mlp(inputs, outputs):
    net = nn.Sequential(
        nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, outputs)
    )
    for p in net.parameters():
        p.data = torch.tensor(rng.normal(0, 0.4, tuple(p.shape)), dtype=torch.float32)
    return net


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.tensor(rng.uniform(size=(BATCH, 1)), dtype=torch.float32).expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates.requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(
        outputs=disc_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones(disc_interpolates.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def ring():
    angle = rng.uniform(0, 2 * np.pi, BATCH)
    return torch.tensor(np.stack([np.cos(angle), np.sin(angle)], 1), dtype=torch.float32)


def noise():
    return torch.tensor(rng.normal(size=(BATCH, 2)), dtype=torch.float32)


netG, netD = mlp(2, 2), mlp(2, 1)
optimizerD = optim.Adam(netD.parameters(), lr=1e-2, betas=(0.5, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-2, betas=(0.5, 0.9))

for iteration in range(4):
    for p in netD.parameters():
        p.requires_grad = True  # they are set to False below
    for _ in range(CRITIC_ITERS):
        optimizerD.zero_grad()
        real = ring()
        D_real = netD(real).mean()
        (-D_real).backward()
        fake = netG(noise()).detach()
        D_fake = netD(fake).mean()
        D_fake.backward()
        gradient_penalty = calc_gradient_penalty(netD, real, fake)
        gradient_penalty.backward()
        D_cost = D_fake - D_real + gradient_penalty
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False  # to avoid computation
    optimizerG.zero_grad()
    G_cost = -netD(netG(noise())).mean()
    G_cost.backward()
    optimizerG.step()
    print(f"{iteration}: D {D_cost.item():.5f} penalty {gradient_penalty.item():.5f} G {G_cost.item():.5f}")
