"""What one kernel computes of several values, and what finding that decides about what is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..core.node import Node
from ..kernels.ir import Kernel
from ..kernels.lower import PlanContext

NEAR_NODES = 256  # of the graph between members: values that are computed early live longer
SEARCHED_NODES = 48  # below a member, or made of it, that are looked at


class Lowered(NamedTuple):
    """The kernels of values, and those of the values that need none: each shares another's buffer."""

    kernels: list[Kernel]
    shared: dict[Node, int] = {}


@dataclass(frozen=True, eq=False)
class FusedGroup:
    """Values that one kernel computes; what kind of kernel it is, a class says.

    nodes: all that it computes, inputs first. outputs: those of them that it stores, and for_group: of these
    what is stored for its sake alone. private: what is not stored, since it alone reads it. serial: of the
    first of its nodes.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[Node, ...]
    for_group: tuple[Node, ...] = ()
    private: tuple[Node, ...] = ()
    serial: int = 0

    @property
    def size(self) -> int:
        """How many elements are read once that several kernels would read anew."""
        return 0

    def build(self, plan: PlanContext) -> Lowered | None:
        """Its kernels; None where several are better."""
        raise NotImplementedError

    def without_last(self) -> "FusedGroup | None":
        """The group without its last output, where that can be computed behind it; None where it can't."""
        return None

    def halves(self) -> Sequence["FusedGroup"]:
        """Groups that compute parts of it, the later of which may read what the earlier store."""
        return ()


@dataclass(frozen=True)
class Decision:
    """What a group changes about what is stored, and the group, where it is worth a kernel.

    cut: epilogues of which the group computes the beginning: that, from the head on. store: what others had
    better read. private: what is not stored any more, since the group alone reads it.
    """

    cut: Sequence[list[Node]] = ()
    store: Sequence[Node] = ()
    private: Sequence[Node] = ()
    group: FusedGroup | None = None
