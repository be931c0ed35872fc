"""EfficientNet (Tan and Le, 2019) and its Lite models, under timm's names; PyPI's Lite file loads too."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

from .. import nn
from ..tensor import Tensor
from .mobilenet import divisible

STAGES = (  # kernel, stride of the first block, expansion, channels, blocks: table 1
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)


class Scale(NamedTuple):
    """The scaling of EfficientNet-B0: factors of width and depth, and the image size in pixels."""

    width: float
    depth: float
    pixels: int
    dropout: float = 0.2


SCALES = {
    "b0": Scale(1.0, 1.0, 224),
    "b1": Scale(1.0, 1.1, 240),
    "b2": Scale(1.1, 1.2, 260, 0.3),
    "b3": Scale(1.2, 1.4, 300, 0.3),
    "b4": Scale(1.4, 1.8, 380, 0.4),
    "b5": Scale(1.6, 2.2, 456, 0.4),
    "b6": Scale(1.8, 2.6, 528, 0.5),
    "b7": Scale(2.0, 3.1, 600, 0.5),
    "lite0": Scale(1.0, 1.0, 224),
    "lite1": Scale(1.0, 1.1, 240),
    "lite2": Scale(1.1, 1.2, 260, 0.3),
    "lite3": Scale(1.2, 1.4, 280, 0.3),
    "lite4": Scale(1.4, 1.8, 300, 0.3),
}


class EfficientKind(NamedTuple):
    """The differences of the variants: Lite has no squeeze-and-excitation and uses ReLU6; TensorFlow's pads
    "same"."""

    is_lite: bool = False
    is_tensorflow: bool = False


class ConvSame(nn.Conv2d):
    """A convolution with TensorFlow's "same" padding: odd padding has one more row at the end."""

    def forward(self, input: Tensor) -> Tensor:
        pads: list[int] = []
        for n, k, s in zip(input.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1], strict=True):
            # n, k, s from the last dim to the first, as F.pad takes its pairs; the output has ceil(n / s)
            # positions
            total = max((ceil(n / s) - 1) * s + k - n, 0)
            pads += [total // 2, total - total // 2]
        return super().forward(nn.functional.pad(input, pads))


def _conv(planes: int, out: int, kernel: int, stride: int, kind: EfficientKind, groups: int = 1) -> nn.Conv2d:
    if kind.is_tensorflow and stride > 1:
        return ConvSame(planes, out, kernel, stride, groups=groups, bias=False)
    return nn.Conv2d(planes, out, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False)


def _norm(planes: int, kind: EfficientKind) -> nn.BatchNorm2d:
    # TensorFlow's batch norms have eps 0.001 (and timm's tf_ models keep it)
    return nn.BatchNorm2d(planes, 1e-3 if kind.is_tensorflow else 1e-5)


class SqueezeExcite(nn.Module):
    """Squeeze-and-excitation: channel weights from the means of all channels (Hu et al., 2017). [n, c, h, w]
    -> [n, c, h, w]"""

    def __init__(self, channels: int, narrow: int):
        self.conv_reduce, self.conv_expand = nn.Conv2d(channels, narrow, 1), nn.Conv2d(narrow, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.silu(self.conv_reduce(x.mean((2, 3), keepdim=True)))
        return x * self.conv_expand(y).sigmoid()


class SeparableConv(nn.Module):
    """A depthwise convolution, then a 1 x 1 convolution. [n, planes, h, w] -> [n, out, h / stride, ...]"""

    def __init__(self, planes: int, out: int, stage: tuple[int, int], kind: EfficientKind):
        kernel, stride = stage
        self.act = nn.ReLU6() if kind.is_lite else nn.SiLU()
        self.conv_dw, self.bn1 = _conv(planes, planes, kernel, stride, kind, planes), _norm(planes, kind)
        # The reduction counts from the block's input, before the expansion.
        self.se = nn.Identity() if kind.is_lite else SqueezeExcite(planes, planes // 4)
        self.conv_pw, self.bn2 = _conv(planes, out, 1, 1, kind), _norm(out, kind)
        self.is_residual = stride == 1 and planes == out

    def forward(self, x: Tensor) -> Tensor:
        y = self.se(self.act(self.bn1(self.conv_dw(x))))
        y = self.bn2(self.conv_pw(y))
        return x + y if self.is_residual else y


class MBConv(nn.Module):
    """An inverted residual: 1 x 1 expansion, depthwise convolution, squeeze-and-excitation, 1 x 1 projection.
    [n, planes, h, w] -> [n, out, h / stride, w / stride]"""

    def __init__(self, planes: int, out: int, stage: tuple[int, int], ratio: int, kind: EfficientKind):
        (kernel, stride), wide = stage, planes * ratio
        self.act = nn.ReLU6() if kind.is_lite else nn.SiLU()
        self.conv_pw, self.bn1 = _conv(planes, wide, 1, 1, kind), _norm(wide, kind)
        self.conv_dw, self.bn2 = _conv(wide, wide, kernel, stride, kind, wide), _norm(wide, kind)
        self.se = nn.Identity() if kind.is_lite else SqueezeExcite(wide, planes // 4)
        self.conv_pwl, self.bn3 = _conv(wide, out, 1, 1, kind), _norm(out, kind)
        self.is_residual = stride == 1 and planes == out

    def forward(self, x: Tensor) -> Tensor:
        y = self.act(self.bn1(self.conv_pw(x)))
        y = self.se(self.act(self.bn2(self.conv_dw(y))))
        # linear: no activation after the projection, which would lose information in few channels
        y = self.bn3(self.conv_pwl(y))
        return x + y if self.is_residual else y


class EfficientNet(nn.Module):
    """Stages of MBConvs, with width, depth and resolution scaled together. [n, 3, h, w] -> [n, num_classes]

    scale: a row of SCALES. kind: Lite or not, TensorFlow's padding and eps or PyTorch's. Lite models keep the
    first and last layers as they are.
    """

    def __init__(self, scale: Scale, num_classes: int = 1000, kind: EfficientKind = EfficientKind()):  # noqa: B008
        first = 32 if kind.is_lite else divisible(32 * scale.width)
        last = 1280 if kind.is_lite else divisible(1280 * scale.width)
        self.act = nn.ReLU6() if kind.is_lite else nn.SiLU()
        self.conv_stem, self.bn1 = _conv(3, first, 3, 2, kind), _norm(first, kind)
        planes = first
        stages: list[nn.Module] = []
        for i, (kernel, stride, ratio, channels, count) in enumerate(STAGES):
            out = divisible(channels * scale.width)
            is_fixed = kind.is_lite and i in (0, len(STAGES) - 1)
            blocks: list[nn.Module] = []
            for j in range(count if is_fixed else ceil(count * scale.depth)):
                stage = (kernel, stride if j == 0 else 1)
                # an expansion of 1 has no expanding convolution
                one = SeparableConv(planes, out, stage, kind) if ratio == 1 else None
                blocks.append(one or MBConv(planes, out, stage, ratio, kind))
                planes = out
            stages.append(nn.Sequential(*blocks))
        self.blocks = nn.Sequential(*stages)
        self.conv_head, self.bn2 = _conv(planes, last, 1, 1, kind), _norm(last, kind)
        self.dropout, self.classifier = nn.Dropout(scale.dropout), nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.bn1(self.conv_stem(x)))
        x = self.act(self.bn2(self.conv_head(self.blocks(x))))
        return self.classifier(self.dropout(x.mean((2, 3))))

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also from one of the package efficientnet-pytorch."""
        if "_conv_stem.weight" not in state:
            return dict(state)
        places = [
            f"blocks.{i}.{j}"
            for i, stage in enumerate(self.blocks.children())
            for j, _ in enumerate(stage.children())
        ]
        return {_rename(name, places, state): t for name, t in state.items()}


OUTSIDE = {
    "_conv_stem": "conv_stem",
    "_bn0": "bn1",
    "_conv_head": "conv_head",
    "_bn1": "bn2",
    "_fc": "classifier",
}
SQUEEZE = {"_se_reduce": "se.conv_reduce", "_se_expand": "se.conv_expand", "_depthwise_conv": "conv_dw"}
EXPANDED = SQUEEZE | {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}
SEPARABLE = SQUEEZE | {"_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}


def _rename(name: str, places: list[str], state: Mapping[str, Any]) -> str:
    """timm's name for a name of efficientnet-pytorch; unknown names are returned unchanged."""
    # efficientnet-pytorch numbers blocks over all stages; `places` maps that number to stage and block.
    match = re.fullmatch(r"_blocks\.(\d+)\.(\w+)\.(\w+)", name)
    if match is None:
        layer, _, last = name.partition(".")
        return f"{OUTSIDE.get(layer, layer)}.{last}"
    block, layer, last = int(match[1]), match[2], match[3]
    if block >= len(places):
        return name
    names = EXPANDED if f"_blocks.{block}._expand_conv.weight" in state else SEPARABLE
    return f"{places[block]}.{names.get(layer, layer)}.{last}"
