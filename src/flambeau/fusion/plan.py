"""The plan of a graph: its kernels in order, what they read, what is stored, and what each costs."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..kernels.ir import Kernel


class Cost(NamedTuple):
    """One kernel: its name and template, bytes read and written at least, operations, and what they are on.

    `flops` counts a multiply-add of a contraction as two, and an elementwise op by its `Op.cost`.
    """

    name: str
    template: str
    reads: int
    writes: int
    flops: int
    shape: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        return self.reads + self.writes


@dataclass(frozen=True)
class Plan:
    """Kernels in order, and where their values come from and go to.

    Values are numbered: the node's place in the graph's order, or above it for the plan's own temporaries.
    """

    kernels: tuple[Kernel, ...]
    leaves: tuple[int, ...] = ()
    scalars: tuple[int, ...] = ()
    roots: tuple[int, ...] = ()  # which value each root is
    stored: tuple[tuple[int, int], ...] = ()  # (value, bytes) of everything that kernels write
    costs: tuple[Cost, ...] = ()  # of each kernel

    @cached_property
    def last_use(self) -> dict[int, int]:
        """The last kernel that reads each value."""
        return last_of(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __iter__(self):
        return iter(self.kernels)


def last_of(kernels: tuple[Kernel, ...]) -> dict[int, int]:
    """The last kernel that reads each value."""
    return {v: i for i, k in enumerate(kernels) for v in k.reads}
