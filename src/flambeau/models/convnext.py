"""ConvNeXt (Liu et al., 2022), under timm's names; transformers' load too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import nn
from ..tensor import Tensor
from .names import rename_weights


@dataclass(frozen=True)
class ConvNeXtFile:
    """The fields of transformers' config.json, under its names. ValueError for invalid stage sizes."""

    depths: list[int]
    hidden_sizes: list[int]
    hidden_act: str = "gelu"

    def __post_init__(self):
        sizes = [*self.depths, *self.hidden_sizes]
        if len(self.depths) != len(self.hidden_sizes) or not all(
            type(n) is int and 0 < n < 5000 for n in sizes
        ):
            stages = f"depths {self.depths}, hidden_sizes {self.hidden_sizes}"
            raise ValueError(f"ConvNeXt: {stages}: pass a number of blocks and of channels for each stage")
        if self.hidden_act != "gelu":
            raise ValueError('ConvNeXt: only hidden_act="gelu" is supported')


SIZES = {  # blocks and channels of each stage
    "tiny": ((3, 3, 9, 3), (96, 192, 384, 768)),
    "small": ((3, 3, 27, 3), (96, 192, 384, 768)),
    "base": ((3, 3, 27, 3), (128, 256, 512, 1024)),
    "large": ((3, 3, 27, 3), (192, 384, 768, 1536)),
}

TRANSFORMERS = (  # (its names, Flambeau's)
    (r"^convnext\.", ""),
    (r"^embeddings\.patch_embeddings\.", "stem.0."),
    (r"^embeddings\.layernorm\.", "stem.1."),
    (r"^encoder\.stages\.(\d+)\.downsampling_layer\.", r"stages.\1.downsample."),
    (r"^encoder\.stages\.(\d+)\.layers\.(\d+)\.", r"stages.\1.blocks.\2."),
    (r"\.layer_scale_parameter$", ".gamma"),
    (r"\.dwconv\.", ".conv_dw."),
    (r"\.layernorm\.", ".norm."),
    (r"\.pwconv1\.", ".mlp.fc1."),
    (r"\.pwconv2\.", ".mlp.fc2."),
    (r"^layernorm\.", "head.norm."),
    (r"^classifier\.", "head.fc."),
)


class LayerNorm2d(nn.LayerNorm):
    """A layer norm over the channels of images. [n, c, h, w] -> [n, c, h, w]"""

    def forward(self, input: Tensor) -> Tensor:
        # nn.LayerNorm normalises the last dims: channels go last and back
        return super().forward(input.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Mlp(nn.Module):
    """Two linear layers with a GELU between. [..., features] -> [..., features]"""

    def __init__(self, features: int, hidden: int):
        self.fc1, self.fc2 = nn.Linear(features, hidden), nn.Linear(hidden, features)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class ConvNeXtBlock(nn.Module):
    """A 7 x 7 depthwise convolution, then a norm and a multilayer perceptron at each position, with a
    residual. [n, c, h, w] -> same"""

    def __init__(self, channels: int):
        # layer scale (Touvron et al., 2021): blocks begin near the identity
        self.gamma = nn.Parameter(Tensor.full((channels,), 1e-6))
        self.conv_dw = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm, self.mlp = nn.LayerNorm(channels, 1e-6), Mlp(channels, 4 * channels)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv_dw(x).permute(0, 2, 3, 1)  # [n, h, w, c]
        y = self.gamma * self.mlp(self.norm(y))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXtStage(nn.Module):
    """Blocks, after a convolution that halves the image (except in the first stage). -> [n, out, h, w]"""

    def __init__(self, planes: int, out: int, depth: int, halves: bool):
        half = nn.Sequential(LayerNorm2d(planes, 1e-6), nn.Conv2d(planes, out, 2, 2))
        self.downsample = half if halves else nn.Identity()
        self.blocks = nn.Sequential(*(ConvNeXtBlock(out) for _ in range(depth)))

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(self.downsample(x))


class ConvNeXtHead(nn.Module):
    """The mean over the image, a norm and a linear layer. [n, c, h, w] -> [n, num_classes]"""

    def __init__(self, channels: int, num_classes: int):
        self.norm, self.fc = nn.LayerNorm(channels, 1e-6), nn.Linear(channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.norm(x.mean((2, 3))))


class ConvNeXt(nn.Module):
    """The ConvNeXt network. [n, 3, h, w] -> [n, num_classes]

    depths: blocks of each stage. dims: their channels.
    """

    def __init__(self, depths: tuple[int, ...], dims: tuple[int, ...], num_classes: int = 1000):
        self.stem = nn.Sequential(nn.Conv2d(3, dims[0], 4, 4), LayerNorm2d(dims[0], 1e-6))
        # the stem has the width of stage 0, so that stage needs no downsampling
        before = (dims[0], *dims)
        sizes = enumerate(zip(before, dims, depths, strict=False))
        self.stages = nn.Sequential(*(ConvNeXtStage(*size, i > 0) for i, size in sizes))
        self.head = ConvNeXtHead(dims[-1], num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.stem(x)))

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also from transformers'."""
        return rename_weights(state, TRANSFORMERS)
