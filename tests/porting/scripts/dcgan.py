"""A DCGAN on made-up 8x8 pictures: two networks, two optimisers, the loop of the tutorial."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

nz, ngf, ndf, batch = 8, 8, 8, 16
real_label, fake_label = 1.0, 0.0
rng = np.random.default_rng(5)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        m.weight.data.copy_(torch.tensor(rng.normal(0.0, 0.1, tuple(m.weight.shape)), dtype=torch.float32))
    elif classname.find("BatchNorm") != -1:
        m.weight.data.fill_(1.0)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1)


def noise():
    return torch.tensor(rng.normal(size=(batch, nz, 1, 1)), dtype=torch.float32)


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=0.005, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=0.005, betas=(0.5, 0.999))
pictures = np.sign(rng.normal(size=(5, batch, 1, 8, 1))) * np.ones((1, 1, 1, 1, 8))

for i, real in enumerate(pictures):
    # (1) update D: maximise log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    real_cpu = torch.tensor(real, dtype=torch.float32)
    label = torch.full((batch,), real_label)
    output = netD(real_cpu)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()
    fake = netG(noise())
    label.fill_(fake_label)
    output = netD(fake.detach())
    errD_fake = criterion(output, label)
    errD_fake.backward()
    D_G_z1 = output.mean().item()
    errD = errD_real + errD_fake
    optimizerD.step()

    # (2) update G: maximise log(D(G(z)))
    netG.zero_grad()
    label.fill_(real_label)
    output = netD(fake)
    errG = criterion(output, label)
    errG.backward()
    D_G_z2 = output.mean().item()
    optimizerG.step()
    print(f"[{i}] Loss_D: {errD.item():.4f} Loss_G: {errG.item():.4f} D(x): {D_x:.4f}", end=" ")
    print(f"D(G(z)): {D_G_z1:.4f} / {D_G_z2:.4f}")
