"""A kernel's structure into whether its accesses are known to stay in bounds: then it runs unchecked."""

from typing import Any

from .render import ADDED

# Templates whose indices are affine in coordinates that are below their sizes, or brought into range first
# (what a gather reads), and whose loops end for every size. tests/test_trust.py watches each access.
PROVEN = frozenset(
    {
        "attention_few.wgsl",
        "attention_join.wgsl",
        "contract.wgsl",
        "contract_lanes.wgsl",
        "contract_parts.wgsl",
        "contract_rest.wgsl",
        "contract_strips.wgsl",
        "contract_thin.wgsl",
        "contract_tiles.wgsl",
        "fold.wgsl",
        "map.wgsl",
        "quantized_rows.wgsl",
        "quantized_shared.wgsl",
        "quantized_sum.wgsl",
        "quantized_tiles.wgsl",
        "quantized_words.wgsl",
        "reduce.wgsl",
        "tree.wgsl",
        "windows.wgsl",
        "winograd.wgsl",
        "winograd_filters.wgsl",
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
