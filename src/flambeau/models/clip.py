"""CLIP's network for images (Radford et al., 2021), under OpenAI's names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import nn
from ..core.node import describe
from ..ops.join import cat
from ..tensor import Tensor
from .settings import activation


@dataclass(frozen=True)
class ClipVisionConfig:
    """Sizes, by default those of ViT-B/32. ValueError if patches do not tile the image, or heads do
    not divide the features.

    image_size, patch_size: pixels of a side; width: features of a patch; layers: how many blocks; output_dim:
    features of an image.
    num_heads: heads of attention
    """

    image_size: int = 224
    patch_size: int = 32
    width: int = 768
    layers: int = 12
    num_heads: int = 12
    output_dim: int = 512

    def __post_init__(self):
        if self.image_size % self.patch_size or self.width % self.num_heads:
            settings = (
                f"{self.image_size} pixels in {self.patch_size}, {self.width} features in {self.num_heads}"
            )
            rule = "patches must divide the image, and heads the features"
            raise ValueError(f"ClipVisionConfig: {settings}: {rule}")


class ClipMlp(nn.Module):
    """Two linear layers with CLIP's quick GELU between them. [n, t, dim] -> [n, t, dim]"""

    def __init__(self, dim: int):
        self.c_fc, self.c_proj = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(activation("quick_gelu")(self.c_fc(x)))


class ClipBlock(nn.Module):
    """Attention, then a multilayer perceptron, each after a norm and with a residual connection. -> [n, t,
    dim]"""

    def __init__(self, dim: int, num_heads: int):
        self.ln_1, self.attn = nn.LayerNorm(dim), nn.MultiheadAttention(dim, num_heads, batch_first=True)
        self.ln_2, self.mlp = nn.LayerNorm(dim), ClipMlp(dim)

    def forward(self, x: Tensor) -> Tensor:
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class ClipBlocks(nn.Module):
    """The blocks, under OpenAI's name."""

    def __init__(self, config: ClipVisionConfig):
        blocks = (ClipBlock(config.width, config.num_heads) for _ in range(config.layers))
        self.resblocks = nn.ModuleList(list(blocks))


def _draw(dim: int, *shape: int) -> Tensor:
    return nn.init.normal_(nn.Parameter(Tensor.zeros(*shape)), std=dim**-0.5)


class ClipVision(nn.Module):
    """CLIP's network for images. [n, 3, h, w] -> [n, output_dim]

    config: a ClipVisionConfig. For other image sizes, the position embeddings are interpolated. ValueError
    for images whose sides are not multiples of patch_size.
    """

    def __init__(self, config: ClipVisionConfig | None = None):
        self.config = config = config or ClipVisionConfig()
        dim, places = config.width, (config.image_size // config.patch_size) ** 2 + 1
        self.conv1 = nn.Conv2d(3, dim, config.patch_size, config.patch_size, bias=False)
        self.class_embedding, self.positional_embedding = _draw(dim, dim), _draw(dim, places, dim)
        self.ln_pre, self.transformer = nn.LayerNorm(dim), ClipBlocks(config)
        self.ln_post = nn.LayerNorm(dim)
        self.proj = _draw(dim, dim, config.output_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.ln_post(self._layers(x)[-1][:, 0]) @ self.proj

    def features(self, x: Tensor) -> list[Tensor]:
        """Return the patches' features after each block. [n, 3, h, w] -> a list of [n, patches, width]

        x: images.
        """
        return [y[:, 1:] for y in self._layers(x)]

    def _layers(self, x: Tensor) -> list[Tensor]:
        """Return the class token and the patches after each block: [n, 1 + patches, width]."""
        size = self.config.patch_size
        if x.ndim != 4 or x.shape[2] % size or x.shape[3] % size:
            rule = f"takes [n, 3, h, w] with sides that are multiples of {size}: resize the images"
            raise ValueError(f"ClipVision({describe(x)}): {rule}")
        # [n, width, h / size, w / size] -> [n, patches, width]
        x = self.conv1(x).flatten(2).transpose(1, 2)
        x = cat([self.class_embedding.expand(x.shape[0], 1, -1), x], 1)
        x = self.ln_pre(x + self._positions(x.shape[1]))
        layers: list[Tensor] = []
        for block in self.transformer.resblocks:
            x = block(x)
            layers.append(x)
        return layers

    def _positions(self, count: int) -> Tensor:
        """Return the position embeddings; for another number of patches they are interpolated as a sequence,
        as A-FINE does."""
        own = self.positional_embedding
        if count == own.shape[0]:
            return own
        # as one image [1, 1, places, width]; the published A-FINE weights depend on this form
        size = (count, own.shape[1])
        return nn.functional.interpolate(own[None, None], size=size, mode="bicubic")[0, 0]

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also that of the complete CLIP with its text encoder."""
        own = {name.removeprefix("visual."): t for name, t in state.items() if name.startswith("visual.")}
        return own or dict(state)
