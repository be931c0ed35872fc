"""A U-Net of two levels that finds discs: skip connections, transposed convolutions, Dice loss."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(9)


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc, self.down = DoubleConv(1, 4), DoubleConv(4, 8)
        self.up = nn.ConvTranspose2d(8, 4, kernel_size=2, stride=2)
        self.conv, self.outc = DoubleConv(8, 4), nn.Conv2d(4, 1, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(F.max_pool2d(x1, 2))
        x2 = self.up(x2)
        dy, dx = x1.size()[2] - x2.size()[2], x1.size()[3] - x2.size()[3]
        x2 = F.pad(x2, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.outc(self.conv(torch.cat([x1, x2], dim=1)))


def dice_loss(logits, target, smooth=1.0):
    p = torch.sigmoid(logits)
    inter = (p * target).sum(dim=(1, 2, 3))
    union = p.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return 1 - ((2 * inter + smooth) / (union + smooth)).mean()


def discs(n, size=11):
    cy, cx, r = rng.uniform(3, 8, n), rng.uniform(3, 8, n), rng.uniform(2, 4, n)
    yy, xx = np.mgrid[:size, :size]
    mask = ((yy - cy[:, None, None]) ** 2 + (xx - cx[:, None, None]) ** 2 < r[:, None, None] ** 2)[:, None]
    return torch.FloatTensor(mask + rng.normal(0, 0.3, mask.shape)), torch.FloatTensor(mask * 1.0)


net = UNet()
for m in net.modules():
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        m.weight.data = torch.FloatTensor(rng.normal(0, 0.3, m.weight.shape))
        if m.bias is not None:
            m.bias.data.zero_()
optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01, weight_decay=1e-8, momentum=0.9)
for step in range(4):
    images, masks = discs(4)
    pred = net(images)
    loss = F.binary_cross_entropy_with_logits(pred, masks) + dice_loss(pred, masks)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(net.parameters(), 0.1)
    optimizer.step()
    print(f"step {step} loss {loss.item():.5f}")
net.eval()
with torch.no_grad():
    images, masks = discs(4)
    print(f"dice {1 - dice_loss(net(images), masks).item():.4f}")
