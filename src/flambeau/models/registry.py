"""Builds image networks by the names of timm and torchvision."""

from collections.abc import Callable
from typing import Any

from .. import nn
from ..errors import suggest
from . import convnext, efficientnet, mobilenet, resnet, vit

Make = Callable[[int], nn.Module]
CLASSES = 1000  # of ImageNet


def _efficientnet(scale: str, is_tensorflow: bool) -> Make:
    kind = efficientnet.EfficientKind(scale.startswith("lite"), is_tensorflow)
    return lambda classes: efficientnet.EfficientNet(efficientnet.SCALES[scale], classes, kind)


def _convnext(size: str) -> Make:
    return lambda classes: convnext.ConvNeXt(*convnext.SIZES[size], classes)


def _vit(size: str) -> Make:
    return lambda classes: vit.VisionTransformer(vit.SIZES[size], classes)


RESNETS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "wide_resnet50_2")
MOBILENETS = ("mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small")

NETWORKS: dict[str, Make] = {
    **{name: getattr(resnet, name) for name in RESNETS},
    **{name: getattr(mobilenet, name) for name in MOBILENETS},
    **{f"efficientnet_{scale}": _efficientnet(scale, False) for scale in efficientnet.SCALES},
    **{f"tf_efficientnet_{scale}": _efficientnet(scale, True) for scale in efficientnet.SCALES},
    **{f"convnext_{size}": _convnext(size) for size in convnext.SIZES},
    **{f"vit_{size}_patch16_224": _vit(size) for size in vit.SIZES},
}


def build_network(model_name: str, num_classes: int = CLASSES) -> Any:
    """Return an image network by name, with random weights; ValueError for an unknown name."""
    if model_name not in NETWORKS:
        hint = suggest(model_name, list(NETWORKS)) or ": list_models() lists the names"
        raise ValueError(f"create_model({model_name!r}): unknown{hint}")
    return NETWORKS[model_name](num_classes)


def list_models() -> list[str]:
    """Return the names that create_model knows, sorted."""
    return sorted(NETWORKS)
