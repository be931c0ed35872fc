"""Linear algebra over batches of matrices, as torch.linalg: docs/linalg.md has the conventions."""

from typing import TYPE_CHECKING, Any

from .core.op import COMPOSED

PREFIX = "linalg_"

if TYPE_CHECKING:  # the names below are in the table, which type checkers do not read

    def __getattr__(name: str) -> Any: ...


_found = {name.removeprefix(PREFIX): f for name, f in COMPOSED.items() if name.startswith(PREFIX)}
globals().update(_found)
__all__ = sorted(_found)  # pyright: ignore[reportUnsupportedDunderAll]
