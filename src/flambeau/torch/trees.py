"""torch.utils._pytree: nested containers as lists of leaves."""

from ..core.tree import tree_map as tree_map

__all__ = ["tree_map"]
