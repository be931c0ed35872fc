"""U-Net (Ronneberger et al., 2015), under the names of milesial/Pytorch-UNet."""

from .. import nn
from ..ops.join import cat
from ..tensor import Tensor


class DoubleConv(nn.Module):
    """Two 3 x 3 convolutions with norms. [n, planes, h, w] -> [n, out, h, w]"""

    def __init__(self, planes: int, out: int):
        layers: list[nn.Module] = []
        for before in (planes, out):
            layers += [nn.Conv2d(before, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
        self.double_conv = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


class Down(nn.Module):
    """Half the size, `out` planes. [n, planes, h, w] -> [n, out, h / 2, w / 2]"""

    def __init__(self, planes: int, out: int):
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(planes, out))

    def forward(self, x: Tensor) -> Tensor:
        return self.maxpool_conv(x)


class Up(nn.Module):
    """Twice the size, concatenated with the features of the same size on the way down.
    [n, planes, h, w], [n, out, 2h, 2w] -> [n, out, 2h, 2w]"""

    def __init__(self, planes: int, out: int):
        self.up, self.conv = nn.ConvTranspose2d(planes, planes // 2, 2, 2), DoubleConv(planes, out)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        x = self.up(x)
        # an odd size is halved downwards, so that the doubled one is a pixel smaller: pad it
        high, wide = (a - b for a, b in zip(skip.shape[2:], x.shape[2:], strict=True))
        x = nn.functional.pad(x, [wide // 2, wide - wide // 2, high // 2, high - high // 2])
        return self.conv(cat([skip, x], 1))


class OutConv(nn.Module):
    """A 1 x 1 convolution. [n, planes, h, w] -> [n, out, h, w]"""

    def __init__(self, planes: int, out: int):
        self.conv = nn.Conv2d(planes, out, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


class UNet(nn.Module):
    """Four halvings and four doublings, with skip connections between equal sizes. [n, n_channels, h, w] ->
    [n, n_classes, h, w]

    width: planes at full size, 64 in the paper; each halving doubles them.
    """

    def __init__(self, n_channels: int, n_classes: int, width: int = 64):
        self.inc, self.outc = DoubleConv(n_channels, width), OutConv(width, n_classes)
        for i in range(1, 5):
            setattr(self, f"down{i}", Down(width << i - 1, width << i))
        for i in range(1, 5):
            setattr(self, f"up{i}", Up(width << 5 - i, width << 4 - i))

    def forward(self, x: Tensor) -> Tensor:
        sizes = [self.inc(x)]
        for i in range(1, 5):
            sizes.append(getattr(self, f"down{i}")(sizes[-1]))
        y = sizes.pop()
        for i in range(1, 5):
            y = getattr(self, f"up{i}")(y, sizes.pop())
        return self.outc(y)
