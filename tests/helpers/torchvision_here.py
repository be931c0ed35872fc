"""torchvision's functions: its wheel is CUDA's, whose own ops do not load beside a CPU's torch."""

from types import ModuleType
from typing import Any

OPS = ("nms", "qnms")  # what its import asks for; transforms are of torch's ops alone


def functional(torch: Any) -> ModuleType:
    """torchvision.transforms.v2.functional."""
    try:
        from torchvision.transforms.v2 import functional as found
    except RuntimeError:
        import sys

        for name in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in OPS:
            library.define(f"{name}(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor")
        LIBRARIES.append(library)
        from torchvision.transforms.v2 import functional as found
    return found


LIBRARIES: list[Any] = []  # what is declared lives as long as its library
