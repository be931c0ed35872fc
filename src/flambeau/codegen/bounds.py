"""A kernel's structure into whether its accesses are known to stay in bounds: then it runs unchecked."""

from typing import Any

from .render import ADDED

# Templates whose indices are affine in coordinates that are below their sizes, or brought into range first
# (what a gather reads), and whose loops end for every size. tests/codegen/test_bounds.py watches each access.
PROVEN = frozenset(
    {
        "attention/split_keys.wgsl",
        "attention/split_keys_join.wgsl",
        "contract/registers.wgsl",
        "contract/skinny_short.wgsl",
        "contract/split_k_sum.wgsl",
        "contract/tail_sum.wgsl",
        "contract/depthwise.wgsl",
        "contract/skinny.wgsl",
        "contract/tiles.wgsl",
        "map/fold.wgsl",
        "map/map.wgsl",
        "quantized/rows.wgsl",
        "quantized/shared.wgsl",
        "quantized/sum.wgsl",
        "quantized/tiles.wgsl",
        "quantized/words.wgsl",
        "reduce/serial.wgsl",
        "reduce/tree.wgsl",
        "reduce/windows.wgsl",
        "contract/winograd.wgsl",
        "contract/winograd_filters.wgsl",
    }
)


def is_proven(shader: Any) -> bool:
    """Whether a kernel needs no check: a template of ours that was proven, with no WGSL of a user's in it."""
    return shader.template in PROVEN and is_ours(shader)


def is_ours(shader: Any) -> bool:
    """Whether there is no WGSL of a user's in a kernel."""
    if not ADDED:
        return True
    steps = (s for _, f in shader.functions for s in f.steps if s.kind == "op")
    return shader.template not in ADDED and not any(f"{s.name}.wgsl" in ADDED for s in steps)
