"""The plan of a graph: its kernels in order, what they read, and what is stored."""

from dataclasses import dataclass

from ..kernels.ir import Kernel


@dataclass(frozen=True)
class Plan:
    """Kernels in order, and where their values come from and go to.

    Values are numbered: the node's place in the graph's order, or above it for the plan's own temporaries.
    """

    kernels: tuple[Kernel, ...]
    leaves: tuple[int, ...]
    scalars: tuple[int, ...]
    roots: tuple[int, ...]  # which value each root is
    stored: tuple[tuple[int, int], ...]  # (value, bytes) of everything that kernels write
    last_use: dict  # value -> the last kernel that reads it
    asked: tuple[int, ...] = ()  # the places of the roots in the graph's order

    def __len__(self) -> int:
        return len(self.kernels)

    def __iter__(self):
        return iter(self.kernels)


def last_of(kernels: tuple[Kernel, ...]) -> dict[int, int]:
    """The last kernel that reads each value."""
    return {v: i for i, k in enumerate(kernels) for v in k.reads}
