"""MobileNet v2 (Sandler et al., 2018) and v3 (Howard et al., 2019), under torchvision's names."""

from typing import Any, NamedTuple

from .. import nn
from ..tensor import Tensor


def divisible(value: float, by: int = 8) -> int:
    """Round a number of channels to a multiple of `by`, but not below 9/10 of it."""
    # TensorFlow's make_divisible: channels in multiples of 8 suit vector units
    near = max(by, int(value + by / 2) // by * by)
    return near + by if near < 0.9 * value else near


class Norm(NamedTuple):
    """The settings of a batch norm."""

    eps: float = 1e-5
    momentum: float = 0.1


def conv_norm(
    planes: int, out: int, kernel: int, stride: int = 1, act: type[nn.Module] | None = nn.ReLU, **more: Any
) -> nn.Sequential:
    """Return a convolution, its batch norm and activation. more: groups, and norm, a Norm.
    [n, planes, h, w] -> [n, out, h / stride, w / stride]"""
    norm, pad = more.pop("norm", Norm()), (kernel - 1) // 2
    conv = nn.Conv2d(planes, out, kernel, stride, pad, bias=False, **more)
    return nn.Sequential(conv, nn.BatchNorm2d(out, *norm), *([] if act is None else [act()]))


class InvertedResidual(nn.Module):
    """1 x 1 expansion, depthwise convolution, 1 x 1 projection; the residual connects the narrow ends.
    [n, inp, h, w] -> [n, oup, h / stride, w / stride]"""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int):
        hidden = inp * expand_ratio
        wider = [conv_norm(inp, hidden, 1, act=nn.ReLU6)] if expand_ratio != 1 else []
        self.conv = nn.Sequential(
            *wider,
            conv_norm(hidden, hidden, 3, stride, nn.ReLU6, groups=hidden),
            # linear bottleneck: no activation after the projection
            nn.Conv2d(hidden, oup, 1, bias=False),
            nn.BatchNorm2d(oup),
        )
        self.is_residual = stride == 1 and inp == oup

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.is_residual else self.conv(x)


V2 = (  # expansion, channels, blocks, stride of the first: table 2
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class MobileNetV2(nn.Module):
    """Inverted residuals with linear bottlenecks. [n, 3, h, w] -> [n, num_classes]

    width_mult: a factor of all channels. dropout: the fraction dropped before the classifier.
    """

    def __init__(self, num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2):
        # width_mult below 1 does not shrink the last layer
        inp, last = divisible(32 * width_mult), divisible(1280 * max(1.0, width_mult))
        features: list[nn.Module] = [conv_norm(3, inp, 3, 2, nn.ReLU6)]
        for ratio, channels, count, stride in V2:
            for i in range(count):
                oup = divisible(channels * width_mult)
                features.append(InvertedResidual(inp, oup, stride if i == 0 else 1, ratio))
                inp = oup
        features.append(conv_norm(inp, last, 1, act=nn.ReLU6))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, num_classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


class SqueezeExcitation(nn.Module):
    """Squeeze-and-excitation: channel weights from the means of all channels (Hu et al., 2017). [n, c, h, w]
    -> [n, c, h, w]"""

    def __init__(self, channels: int, narrow: int):
        self.fc1, self.fc2 = nn.Conv2d(channels, narrow, 1), nn.Conv2d(narrow, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        # hard sigmoid, relu6(x + 3) / 6, instead of the sigmoid of Hu et al.
        share = self.fc2(self.fc1(x.mean((2, 3), keepdim=True)).relu())
        return x * nn.functional.hardsigmoid(share)


class Row(NamedTuple):
    """A block of MobileNet v3: a row of its tables 1 and 2."""

    kernel: int
    expanded: int
    out: int
    squeezes: bool
    swishes: bool
    stride: int


class SqueezedResidual(nn.Module):
    """An inverted residual of v3, with squeeze-and-excitation and hard swish in some blocks. -> [n, out, h /
    stride, ...]"""

    def __init__(self, inp: int, row: Row, norm: Norm):
        act, wide = nn.Hardswish if row.swishes else nn.ReLU, row.expanded
        layers: list[nn.Module] = [conv_norm(inp, wide, 1, act=act, norm=norm)] if wide != inp else []
        layers.append(conv_norm(wide, wide, row.kernel, row.stride, act, groups=wide, norm=norm))
        if row.squeezes:
            layers.append(SqueezeExcitation(wide, divisible(wide // 4)))
        self.block = nn.Sequential(*layers, conv_norm(wide, row.out, 1, act=None, norm=norm))
        self.is_residual = row.stride == 1 and inp == row.out

    def forward(self, x: Tensor) -> Tensor:
        return x + self.block(x) if self.is_residual else self.block(x)


# kernel, expanded, out, squeeze-and-excitation, hard swish, stride
LARGE = (
    Row(3, 16, 16, False, False, 1),
    Row(3, 64, 24, False, False, 2),
    Row(3, 72, 24, False, False, 1),
    Row(5, 72, 40, True, False, 2),
    Row(5, 120, 40, True, False, 1),
    Row(5, 120, 40, True, False, 1),
    Row(3, 240, 80, False, True, 2),
    Row(3, 200, 80, False, True, 1),
    Row(3, 184, 80, False, True, 1),
    Row(3, 184, 80, False, True, 1),
    Row(3, 480, 112, True, True, 1),
    Row(3, 672, 112, True, True, 1),
    Row(5, 672, 160, True, True, 2),
    Row(5, 960, 160, True, True, 1),
    Row(5, 960, 160, True, True, 1),
)
SMALL = (
    Row(3, 16, 16, True, False, 2),
    Row(3, 72, 24, False, False, 2),
    Row(3, 88, 24, False, False, 1),
    Row(5, 96, 40, True, True, 2),
    Row(5, 240, 40, True, True, 1),
    Row(5, 240, 40, True, True, 1),
    Row(5, 120, 48, True, True, 1),
    Row(5, 144, 48, True, True, 1),
    Row(5, 288, 96, True, True, 2),
    Row(5, 576, 96, True, True, 1),
    Row(5, 576, 96, True, True, 1),
)


class MobileNetV3(nn.Module):
    """Inverted residuals from an architecture search. [n, 3, h, w] -> [n, num_classes]

    rows: the blocks. last: features before the classifier. width_mult: a factor of the channels. dropout: the
    fraction dropped before the classifier.
    """

    def __init__(
        self,
        rows: tuple[Row, ...],
        last: int,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        dropout: float = 0.2,
    ):
        # torchvision's settings of v3: eps and momentum of the batch norms
        norm, inp = Norm(1e-3, 0.01), divisible(16 * width_mult)
        features: list[nn.Module] = [conv_norm(3, inp, 3, 2, nn.Hardswish, norm=norm)]
        for row in rows:
            sizes = {"expanded": divisible(row.expanded * width_mult), "out": divisible(row.out * width_mult)}
            features.append(SqueezedResidual(inp, row._replace(**sizes), norm))
            inp = sizes["out"]
        features.append(conv_norm(inp, 6 * inp, 1, act=nn.Hardswish, norm=norm))
        self.features, last = nn.Sequential(*features), divisible(last * width_mult)
        self.classifier = nn.Sequential(
            nn.Linear(6 * inp, last), nn.Hardswish(), nn.Dropout(dropout), nn.Linear(last, num_classes)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


def mobilenet_v2(num_classes: int = 1000, width_mult: float = 1.0) -> MobileNetV2:
    """MobileNet v2; width_mult: a factor of all channels. [n, 3, h, w] -> [n, num_classes]"""
    return MobileNetV2(num_classes, width_mult)


def mobilenet_v3_large(num_classes: int = 1000, width_mult: float = 1.0) -> MobileNetV3:
    """MobileNet v3 Large; width_mult: a factor of all channels. [n, 3, h, w] -> [n, num_classes]"""
    return MobileNetV3(LARGE, 1280, num_classes, width_mult)


def mobilenet_v3_small(num_classes: int = 1000, width_mult: float = 1.0) -> MobileNetV3:
    """MobileNet v3 Small; width_mult: a factor of all channels. [n, 3, h, w] -> [n, num_classes]"""
    return MobileNetV3(SMALL, 1024, num_classes, width_mult)
