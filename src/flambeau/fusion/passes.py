"""Turns the kernels that compute a graph into those that run, by passes in a fixed order.

A pass takes a Draft and changes its kernels; a new one is a function here and a place in PASSES.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..core.limits import Limits
from ..core.node import Node
from ..kernels.ir import Kernel
from ..kernels.map import in_parts
from .horizontal import join_bundles, merge, order_by_bundle
from .inplace import in_place
from .multi_output import without_unread
from .plan import last_of
from .schedule import in_memory_order, in_program_order
from .split_k import add_in_readers


@dataclass
class Draft:
    """A plan in the making.

    serials: of each kernel, that of the node it begins with. roots: the values that are asked for.
    temporaries: bytes of values of no node. dying: leaves that may be overwritten; None in a plan that runs
    once, since others may still read its leaves.
    """

    kernels: tuple[Kernel, ...]
    serials: list[int]
    nodes: Sequence[Node]  # by value
    roots: set[int]
    temporaries: dict[int, int]
    dying: frozenset[int] | None
    limits: Limits
    bundles: list[int] = field(default_factory=list[int])  # the number of consecutive kernels in each bundle

    @property
    def is_recorded(self) -> bool:
        """Whether the plan is run again and again."""
        return self.dying is not None

    @property
    def written(self) -> set[int]:
        """The values that kernels make."""
        return {v for k in self.kernels for v in k.outputs}

    @property
    def stored(self) -> dict[int, int]:
        """The bytes of each value that kernels make."""
        return {v: self.temporaries.get(v) or self.nodes[v].nbytes for v in sorted(self.written)}

    @property
    def sizes(self) -> dict[int, int]:
        """The bytes of each value that kernels make or may write over."""
        return self.stored | {v: self.nodes[v].nbytes for v in self.dying or ()}

    @property
    def free(self) -> set[int]:
        """The values that are not needed after the plan has run."""
        return self.written - self.roots | (self.dying or frozenset())


def drop_unread(draft: Draft) -> None:
    """Drop results that only their own kernel reads, and kernels none of whose results is read."""
    kernels, left = without_unread(list(draft.kernels), draft.roots)
    draft.kernels, draft.serials = tuple(kernels), [draft.serials[i] for i in left]


def schedule(draft: Draft) -> None:
    """Order kernels as the program called the ops that they begin with."""
    draft.kernels = in_program_order(draft.kernels, draft.serials)


def add_up_in_readers(draft: Draft) -> None:
    """Let a map that is the only reader of a split sum add up its parts."""
    draft.kernels = add_in_readers(draft.kernels, draft.roots)


def schedule_for_memory(draft: Draft) -> None:
    """In a recorded plan, run kernels that free memory as early as they can run."""
    if draft.dying:  # without dying leaves no parameter is updated
        draft.kernels = in_memory_order(draft.kernels, draft.sizes, draft.free)


def gather_bundles(draft: Draft) -> None:
    """In a recorded plan on a GPU, put small independent kernels next to each other."""
    bundles = [[k] for k in draft.kernels]
    if draft.is_recorded and not draft.limits.software:
        held = {i for i, n in enumerate(draft.nodes) if n.buffer is not None} | draft.roots
        dying = draft.dying or frozenset()
        bundles = order_by_bundle(draft.kernels, draft.sizes, held, dying, draft.limits)
        bundles = join_bundles(bundles, draft.sizes, dying, draft.limits)
    draft.kernels = tuple(k for bundle in bundles for k in bundle)
    draft.bundles = [len(bundle) for bundle in bundles]


def write_in_place(draft: Draft) -> None:
    """In a recorded plan, let maps write over inputs that no later kernel reads."""
    free = draft.free
    if not draft.is_recorded or not free:
        return
    kernels = in_place(draft.kernels, last_of(draft.kernels), draft.sizes, free)
    most = draft.limits.storage_buffers
    full = {i for i, k in enumerate(kernels) if k.shader.kind == "map_multi" and k.binds > most}
    if full:
        _take_apart(draft, full)
        kernels = in_place(draft.kernels, last_of(draft.kernels), draft.sizes, draft.free)
    draft.kernels = kernels


def _take_apart(draft: Draft, places: set[int]) -> None:
    """Split each of these kernels into several: they bind too many buffers, since an input that they were to
    write over is read later, or not in order."""
    most = draft.limits.storage_buffers
    parts = [in_parts(k, most) if i in places else [k] for i, k in enumerate(draft.kernels)]
    rest = iter(parts)
    draft.bundles = [sum(len(next(rest)) for _ in range(n)) for n in draft.bundles]
    draft.kernels = tuple(k for several in parts for k in several)


def merge_bundles(draft: Draft) -> None:
    """Make one kernel of each bundle."""
    rest = iter(draft.kernels)
    bundles = [[next(rest) for _ in range(n)] for n in draft.bundles]
    draft.kernels = tuple(k for bundle in bundles for k in merge(bundle, draft.limits))


# The order matters: scheduling for memory must see split sums joined with their readers, writing in place the
# final order, and bundles are merged last, since a merged kernel can't be taken apart to tell which value it
# may write over.
PASSES: tuple[Callable[[Draft], None], ...] = (
    drop_unread,
    schedule,
    add_up_in_readers,
    schedule_for_memory,
    gather_bundles,
    write_in_place,
    merge_bundles,
)


def run_passes(draft: Draft) -> tuple[Kernel, ...]:
    """The kernels of a draft after every pass; a single kernel can only overwrite its inputs."""
    for change in PASSES if len(draft.kernels) > 1 else (write_in_place,):
        change(draft)
    return draft.kernels
