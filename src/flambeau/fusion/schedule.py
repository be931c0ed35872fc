"""Orders kernels: as the program called their ops, or by the memory that they free."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from ..kernels.ir import Kernel


def in_program_order(kernels: Sequence[Kernel], serials: list[int]) -> tuple[Kernel, ...]:
    """The kernels in the order in which the program called the ops that they begin with, as far as inputs
    allow.

    In this order no value lives longer than if each op ran when it is called: the gradient of a weight is
    computed next to that of its layer's input, wherever it is read. serials: of each kernel, that of the node
    that it begins with.
    """
    writers: dict[int, list[int]] = {}  # several where each writes a part
    for i, k in enumerate(kernels):
        for v in k.outputs:
            writers.setdefault(v, []).append(i)
    users: list[list[int]] = [[] for _ in kernels]
    missing = [0] * len(kernels)
    for i, k in enumerate(kernels):
        for w in {w for v in k.inputs for w in writers.get(v, ()) if w != i}:
            users[w].append(i)
            missing[i] += 1
    ready = [(serials[i], i) for i, n in enumerate(missing) if not n]
    heapify(ready)
    order: list[Kernel] = []
    while ready:
        _, i = heappop(ready)
        order.append(kernels[i])
        for u in users[i]:
            missing[u] -= 1
            if not missing[u]:
                heappush(ready, (serials[u], u))
    assert len(order) == len(kernels), "kernels wait for each other"
    return tuple(order)


def in_memory_order(kernels: tuple[Kernel, ...], sizes: dict[int, int], free: set[int]) -> tuple[Kernel, ...]:
    """The kernels in order, except that each kernel that allocates no more than it frees runs as early as it
    can.

    So a parameter is updated as soon as its gradient exists, and no two gradients live at once.
    """
    return tuple(kernels[i] for i in _MemoryOrder(kernels, sizes, free).run())


class _MemoryOrder:
    """Kernels that wait for inputs, and the remaining readers of each value."""

    def __init__(self, kernels: tuple[Kernel, ...], sizes: dict[int, int], free: set[int]):
        self.kernels, self.sizes, self.free = kernels, sizes, free
        writers: dict[int, set[int]] = {}
        self.readers: dict[int, set[int]] = {}
        for i, k in enumerate(kernels):
            for v in k.outputs:
                writers.setdefault(v, set()).add(i)
            for v in k.inputs:
                self.readers.setdefault(v, set()).add(i)
        self.missing = [
            {w for v in k.inputs for w in writers.get(v, ()) if w != i}
            | {w for v in k.outputs for w in writers[v] if w < i}  # a chain may continue another's
            for i, k in enumerate(kernels)
        ]
        self.users: list[list[int]] = [[] for _ in kernels]
        for i, missing in enumerate(self.missing):
            for w in missing:
                self.users[w].append(i)
        self.written: set[int] = set()
        self.done = [False] * len(kernels)
        self.ready = [i for i, missing in enumerate(self.missing) if not missing]
        self.freeing = [i for i in self.ready if self._frees_enough(i)]
        heapify(self.ready)
        heapify(self.freeing)

    def run(self) -> list[int]:
        order: list[int] = []
        while self.freeing or self.ready:
            i = heappop(self.freeing or self.ready)
            if not self.done[i]:
                self.done[i] = True
                order.append(i)
                self._finish(i)
        return order

    def _finish(self, i: int) -> None:
        changed: set[int] = set()  # kernels that can run now, or free more than before
        self.written.update(self.kernels[i].outputs)
        for v in set(self.kernels[i].inputs):
            self.readers[v].discard(i)
            if len(self.readers[v]) == 1:  # its last reader frees it now
                changed |= self.readers[v]
        for u in self.users[i]:
            self.missing[u].discard(i)
            if not self.missing[u]:
                heappush(self.ready, u)
                changed.add(u)
        for u in changed:
            if not self.missing[u] and not self.done[u] and self._frees_enough(u):
                heappush(self.freeing, u)

    def _frees_enough(self, i: int) -> bool:
        """Whether a kernel needs no more memory than it frees."""
        k, sizes = self.kernels[i], self.sizes
        freed = {v for v in k.inputs if v in self.free and len(self.readers[v]) == 1}
        return sum(sizes[v] for v in k.outputs if v not in self.written) <= sum(sizes[v] for v in freed)
