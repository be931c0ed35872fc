"""ResNet (He et al., 2015), ResNeXt and wide ResNets, under torchvision's names."""

from typing import Any

from .. import nn
from ..tensor import Tensor


def _conv3x3(planes: int, out: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(planes, out, 3, stride, 1, groups=groups, bias=False)


def _conv1x1(planes: int, out: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(planes, out, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions with a residual connection. [n, inplanes, h, w] -> [n, planes, h / stride, w /
    stride]"""

    expansion = 1

    def __init__(self, inplanes: int, planes: int, stride: int = 1, groups: int = 1, width: int = 64):
        if (groups, width) != (1, 64):
            call = f"BasicBlock({inplanes}, {planes}, groups={groups}, width={width})"
            raise ValueError(
                f"{call}: only bottlenecks support groups and widths: use a ResNet of 50 layers or more"
            )
        self.conv1, self.bn1 = _conv3x3(inplanes, planes, stride), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = _conv3x3(planes, planes), nn.BatchNorm2d(planes)
        self.downsample = _shortcut(inplanes, planes, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y))
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


class Bottleneck(nn.Module):
    """A narrow 3 x 3 convolution between two of 1 x 1, with a residual connection.
    [n, inplanes, h, w] -> [n, 4 planes, h / stride, w / stride]"""

    expansion = 4

    def __init__(self, inplanes: int, planes: int, stride: int = 1, groups: int = 1, width: int = 64):
        # ResNeXt 32x4d: 32 groups of planes * 4 / 64 channels. Wide ResNet: width 128 doubles it.
        narrow = planes * width // 64 * groups
        self.conv1, self.bn1 = _conv1x1(inplanes, narrow), nn.BatchNorm2d(narrow)
        # The stride is in the 3 x 3 convolution, as in torchvision (ResNet 1.5), not in the first as in the
        # paper.
        self.conv2, self.bn2 = _conv3x3(narrow, narrow, stride, groups), nn.BatchNorm2d(narrow)
        self.conv3, self.bn3 = _conv1x1(narrow, planes * 4), nn.BatchNorm2d(planes * 4)
        self.downsample = _shortcut(inplanes, planes * 4, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        y = self.bn3(self.conv3(y))
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


def _shortcut(planes: int, out: int, stride: int) -> nn.Sequential | None:
    """Return the projection of the input to the block's output shape, if the shapes differ."""
    if stride == 1 and planes == out:
        return None
    return nn.Sequential(_conv1x1(planes, out, stride), nn.BatchNorm2d(out))


class ResNet(nn.Module):
    """Four stages of blocks, each with half the size and twice the planes of the previous one. [n, 3, h, w]
    -> [n, num_classes]

    block: BasicBlock or Bottleneck. layers: blocks of each stage. groups, width: of Bottleneck's 3 x 3
    convolution (ResNeXt, wide ResNets).
    """

    def __init__(
        self, block: Any, layers: tuple[int, ...], num_classes: int = 1000, groups: int = 1, width: int = 64
    ):
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1, self.maxpool = nn.BatchNorm2d(64), nn.MaxPool2d(3, 2, 1)
        inplanes = 64
        for i, count in enumerate(layers):
            # the first block of a stage changes the number of planes and, after stage 1, halves the size
            planes = 64 << i
            outs = [inplanes] + [planes * block.expansion] * (count - 1)
            strides = [1 if i == 0 else 2] + [1] * (count - 1)
            blocks = [block(n, planes, s, groups, width) for n, s in zip(outs, strides, strict=True)]
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
            inplanes = planes * block.expansion
        self.stages = len(layers)
        self.fc = nn.Linear(inplanes, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        for i in range(self.stages):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.fc(x.mean((2, 3)))


def resnet18(num_classes: int = 1000) -> ResNet:
    """ResNet of 18 layers. [n, 3, h, w] -> [n, num_classes]"""
    return ResNet(BasicBlock, (2, 2, 2, 2), num_classes)


def resnet34(num_classes: int = 1000) -> ResNet:
    """ResNet of 34 layers. [n, 3, h, w] -> [n, num_classes]"""
    return ResNet(BasicBlock, (3, 4, 6, 3), num_classes)


def resnet50(num_classes: int = 1000) -> ResNet:
    """ResNet of 50 layers. [n, 3, h, w] -> [n, num_classes]"""
    return ResNet(Bottleneck, (3, 4, 6, 3), num_classes)


def resnet101(num_classes: int = 1000) -> ResNet:
    """ResNet of 101 layers. [n, 3, h, w] -> [n, num_classes]"""
    return ResNet(Bottleneck, (3, 4, 23, 3), num_classes)


def resnet152(num_classes: int = 1000) -> ResNet:
    """ResNet of 152 layers. [n, 3, h, w] -> [n, num_classes]"""
    return ResNet(Bottleneck, (3, 8, 36, 3), num_classes)


def resnext50_32x4d(num_classes: int = 1000) -> ResNet:
    """ResNeXt (Xie et al., 2016) of 50 layers, 32 groups of 4. [n, 3, h, w] -> [n, num_classes]"""
    return ResNet(Bottleneck, (3, 4, 6, 3), num_classes, 32, 4)


def wide_resnet50_2(num_classes: int = 1000) -> ResNet:
    """Wide ResNet (Zagoruyko and Komodakis, 2016) of 50 layers. [n, 3, h, w] -> [n, num_classes]"""
    return ResNet(Bottleneck, (3, 4, 6, 3), num_classes, 1, 128)
