"""torchvision: its wheel is CUDA's, whose own ops do not load beside a CPU's torch."""

import sys
from types import ModuleType
from typing import Any

OPS = ("nms", "qnms")  # what its import asks for; transforms and models are of torch's ops alone
LIBRARIES: list[Any] = []  # what is declared lives as long as its library


def torchvision(torch: Any) -> ModuleType:
    """The package torchvision; timm and transformers, which import it, can be imported then."""
    try:
        import torchvision as found
    except RuntimeError:
        for name in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in OPS:
            library.define(f"{name}(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor")
        LIBRARIES.append(library)
        import torchvision as found
    return found


def functional(torch: Any) -> ModuleType:
    """torchvision.transforms.v2.functional."""
    torchvision(torch)
    from torchvision.transforms.v2 import functional as found

    return found
