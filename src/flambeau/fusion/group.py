"""Describes groups of values that one kernel computes, and how a group changes the stored values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..core.node import Node
from ..kernels.ir import Kernel
from ..kernels.lower import PlanContext

NEAR_NODES = 256  # of the graph between members: values that are computed early live longer
SEARCHED_NODES = 48  # nodes below a member, or that depend on it, that a search visits


class Lowered(NamedTuple):
    """The kernels of some values, and the values that need none because they share another's buffer."""

    kernels: list[Kernel]
    shared: dict[Node, int] = {}


@dataclass(frozen=True, eq=False)
class FusedGroup:
    """Values that one kernel computes; subclasses build the kernel.

    nodes: all that it computes, inputs first. outputs: the nodes that it stores. for_group: the outputs that
    only this grouping stores. private: nodes that are no longer stored, since only the group reads them.
    serial: that of its first node.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[Node, ...]
    for_group: tuple[Node, ...] = ()
    private: tuple[Node, ...] = ()
    serial: int = 0

    @property
    def size(self) -> int:
        """How many elements the group reads once and separate kernels would read several times."""
        return 0

    def build(self, plan: PlanContext) -> Lowered | None:
        """Its kernels; None where several are better."""
        raise NotImplementedError

    def without_last(self) -> "FusedGroup | None":
        """The group without its last output, if that can be computed after it; else None."""
        return None

    def halves(self) -> Sequence["FusedGroup"]:
        """Groups that compute parts of it; later ones may read the values that earlier ones store."""
        return ()


@dataclass(frozen=True)
class Decision:
    """How a group changes the stored values, and the group, if it is worth a kernel.

    cut: epilogues of which the group computes only these first nodes, the head included. store: values that
    readers outside should load, not compute. private: values that only the group reads, no longer stored.
    """

    cut: Sequence[list[Node]] = ()
    store: Sequence[Node] = ()
    private: Sequence[Node] = ()
    group: FusedGroup | None = None
