"""Kernels into the order in which they run."""

from heapq import heapify, heappop, heappush

from ..kernels.ir import Kernel


def scheduled(kernels: list[Kernel], made: list[int]) -> tuple[Kernel, ...]:
    """The kernels in the order in which the program asked for what they begin with, as far as inputs allow.

    It is the order in which nothing lives longer than where operations run at once: a gradient by a weight
    is computed beside the one by its layer's input, whatever is done with it later.
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
    ready = [(made[i], i) for i, n in enumerate(missing) if not n]
    heapify(ready)
    order = []
    while ready:
        _, i = heappop(ready)
        order.append(kernels[i])
        for u in users[i]:
            missing[u] -= 1
            if not missing[u]:
                heappush(ready, (made[u], u))
    assert len(order) == len(kernels), "kernels wait for each other"
    return tuple(order)


def soon(kernels: tuple[Kernel, ...], sizes: dict[int, int], free: set[int]) -> tuple[Kernel, ...]:
    """The kernels in order, but each that needs no more memory than it frees as soon as it can run.

    So a parameter is updated when its gradient is there, and no two gradients live at once.
    """
    return tuple(kernels[i] for i in _Order(kernels, sizes, free).run())


class _Order:
    """Kernels that wait, and of each value who will still read it."""

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
            | {w for v in k.outputs for w in writers[v] if w < i}  # one may begin what another goes on with
            for i, k in enumerate(kernels)
        ]
        self.users: list[list[int]] = [[] for _ in kernels]
        for i, missing in enumerate(self.missing):
            for w in missing:
                self.users[w].append(i)
        self.made: set[int] = set()
        self.done = [False] * len(kernels)
        self.ready = [i for i, missing in enumerate(self.missing) if not missing]
        self.cheap = [i for i in self.ready if self._is_cheap(i)]
        heapify(self.ready)
        heapify(self.cheap)

    def run(self) -> list[int]:
        order: list[int] = []
        while self.cheap or self.ready:
            i = heappop(self.cheap or self.ready)
            if not self.done[i]:
                self.done[i] = True
                order.append(i)
                self._finish(i)
        return order

    def _finish(self, i: int) -> None:
        asked: set[int] = set()
        self.made.update(self.kernels[i].outputs)
        for v in set(self.kernels[i].inputs):
            self.readers[v].discard(i)
            if len(self.readers[v]) == 1:  # its last reader frees it now
                asked |= self.readers[v]
        for u in self.users[i]:
            self.missing[u].discard(i)
            if not self.missing[u]:
                heappush(self.ready, u)
                asked.add(u)
        for u in asked:
            if not self.missing[u] and not self.done[u] and self._is_cheap(u):
                heappush(self.cheap, u)

    def _is_cheap(self, i: int) -> bool:
        k, sizes = self.kernels[i], self.sizes
        freed = {v for v in k.inputs if v in self.free and len(self.readers[v]) == 1}
        return sum(sizes[v] for v in k.outputs if v not in self.made) <= sum(sizes[v] for v in freed)
