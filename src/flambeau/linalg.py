"""Linear algebra over batches of matrices, as torch.linalg: docs/linalg.md has the conventions."""

from typing import TYPE_CHECKING, Any

from . import ops

if TYPE_CHECKING:  # the names below are in the table, which type checkers do not read

    def __getattr__(name: str) -> Any: ...


_functions = ops.named("linalg_")
globals().update(_functions)
__all__ = sorted(_functions)  # pyright: ignore[reportUnsupportedDunderAll]
