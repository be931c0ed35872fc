"""The vision transformer (Dosovitskiy et al., 2020), under timm's names; transformers' load too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import nn
from ..ops.join import cat
from ..tensor import Tensor, tensor
from .convnext import Mlp
from .names import rename_weights

TRANSFORMERS = (  # (its names, Flambeau's)
    (r"^vit\.", ""),
    (r"^embeddings\.cls_token$", "cls_token"),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"^encoder\.layer\.", "blocks."),
    (r"\.attention\.attention\.(query|key|value)\.", r".attn.\1."),
    (r"\.attention\.output\.dense\.", ".attn.proj."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"\.output\.dense\.", ".mlp.fc2."),
    (r"\.layernorm_before\.", ".norm1."),
    (r"\.layernorm_after\.", ".norm2."),
    (r"^layernorm\.", "norm."),
    (r"^classifier\.", "head."),
)


@dataclass(frozen=True)
class VitConfig:
    """Sizes. ValueError if patches do not tile the image, or heads do not divide the features.

    img_size, patch_size: pixels of a side; embed_dim: features of a patch; depth: how many blocks; hidden:
    features in a block's perceptron, by default 4 * embed_dim.
    num_heads: heads of attention
    eps: a small number that keeps divisions from 0
    """

    img_size: int = 224
    patch_size: int = 16
    embed_dim: int = 768
    depth: int = 12
    num_heads: int = 12
    hidden: int | None = None
    eps: float = 1e-6

    def __post_init__(self):
        if self.img_size % self.patch_size or self.embed_dim % self.num_heads:
            settings = (
                f"{self.img_size} pixels in {self.patch_size}, {self.embed_dim} features in {self.num_heads}"
            )
            raise ValueError(f"VitConfig: {settings}: patches must divide the image, and heads the features")


@dataclass(frozen=True)
class VitFile:
    """The fields of transformers' config.json, under its names. ValueError for an activation other than gelu,
    or a model without qkv biases."""

    image_size: int = 224
    patch_size: int = 16
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"
    qkv_bias: bool = True

    def __post_init__(self):
        if self.hidden_act != "gelu" or not self.qkv_bias:
            raise ValueError('ViT: only hidden_act="gelu" and qkv_bias=true are supported')

    def sizes(self) -> VitConfig:
        """Convert to a VitConfig."""
        image = (self.image_size, self.patch_size, self.hidden_size)
        blocks = (self.num_hidden_layers, self.num_attention_heads, self.intermediate_size)
        return VitConfig(*image, *blocks, self.layer_norm_eps)


SIZES = {  # by timm's names
    "tiny": VitConfig(embed_dim=192, num_heads=3),
    "small": VitConfig(embed_dim=384, num_heads=6),
    "base": VitConfig(),
    "large": VitConfig(embed_dim=1024, depth=24, num_heads=16),
}


class PatchEmbed(nn.Module):
    """Split an image into patches, and embed each as a vector. [n, 3, h, w] -> [n, h * w / size^2, dim]"""

    def __init__(self, size: int, dim: int):
        # a convolution whose stride is its kernel: a linear layer on each patch
        self.proj = nn.Conv2d(3, dim, size, size)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x).flatten(2).transpose(1, 2)


class VitAttention(nn.Module):
    """Bidirectional self-attention. [n, t, dim] -> [n, t, dim]"""

    def __init__(self, dim: int, num_heads: int):
        self.num_heads, self.qkv, self.proj = num_heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        n, t, dim = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)  # [n, heads, t, dim / heads]
        return self.proj(y.transpose(1, 2).reshape(n, t, dim))


class VitBlock(nn.Module):
    """Attention, then a multilayer perceptron, each after a norm and with a residual connection. -> [n, t,
    dim]"""

    def __init__(self, config: VitConfig):
        dim, eps = config.embed_dim, config.eps
        self.norm1, self.attn = nn.LayerNorm(dim, eps), VitAttention(dim, config.num_heads)
        self.norm2, self.mlp = nn.LayerNorm(dim, eps), Mlp(dim, config.hidden or 4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """A transformer over image patches. [n, 3, img_size, img_size] -> [n, num_classes]

    config: a VitConfig.
    """

    def __init__(self, config: VitConfig, num_classes: int = 1000):
        dim, places = config.embed_dim, (config.img_size // config.patch_size) ** 2 + 1
        self.cls_token = nn.Parameter(Tensor.zeros(1, 1, dim))
        # one position for each patch and one for the class token
        self.pos_embed = nn.init.trunc_normal_(nn.Parameter(Tensor.zeros(1, places, dim)), std=0.02)
        self.patch_embed = PatchEmbed(config.patch_size, dim)
        self.blocks = nn.Sequential(*(VitBlock(config) for _ in range(config.depth)))
        self.norm, self.head = nn.LayerNorm(dim, config.eps), nn.Linear(dim, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch_embed(x)
        # The class token is the first; the head reads it alone, as in BERT.
        x = cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x)[:, 0]))

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also from transformers', where queries, keys and values are
        three layers."""
        out = rename_weights(state, TRANSFORMERS)
        for name in [n for n in out if ".attn.query." in n]:
            # rows of q, then k, then v: the layout of timm's qkv
            parts = [out.pop(name.replace("query", part)) for part in ("query", "key", "value")]
            out[name.replace("query", "qkv")] = cat([tensor(p) for p in parts])
        return out
