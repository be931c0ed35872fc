"""Assigns buffers to the values of a plan, which share them by size and lifetime."""

from bisect import bisect
from typing import NamedTuple

from .plan import Plan


class Slots(NamedTuple):
    """The bytes of each slot, and which slot a value that kernels write has. Values written over leaves have
    none."""

    sizes: list[int]
    of: dict[int, int]

    @property
    def nbytes(self) -> int:
        return sum(self.sizes)


def assign(plan: Plan, align: int = 256, apart: frozenset[int] = frozenset()) -> Slots:
    """Give every value a slot that no other uses meanwhile: the largest first, each the smallest that is free
    (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020).

    Values share entire buffers, not ranges of one: in WebGPU a kernel can't read one part of a buffer and
    write another. Values `apart`, and those written over them, have buffers elsewhere.
    """
    begins, ends, first = lifetimes(plan)
    sizes = dict(plan.stored)
    slots: list[int] = []
    busy: list[list[tuple[int, int]]] = []  # of each slot: when it is in use, in order
    buffer_of: dict[int, int] = {}
    for v in sorted((v for v in begins if v not in apart), key=lambda v: (-sizes[v], begins[v])):
        span = begins[v], ends[v]
        fits = (i for i in reversed(range(len(slots))) if _is_free(busy[i], span))
        slot = next(fits, None)  # slots are ordered from large to small: the last free one is the smallest
        if slot is None:
            slot = len(slots)
            slots.append(-(-max(sizes[v], 1) // align) * align)
            busy.append([])
        busy[slot].insert(bisect(busy[slot], span), span)
        buffer_of[v] = slot
    for v, top in first.items():
        if top in buffer_of:
            buffer_of[v] = buffer_of[top]
    return Slots(slots, buffer_of)


def lifetimes(plan: Plan) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """The first and last kernel that needs each buffer's value, or a value written over it; and for each
    value written over another, the first value of that chain."""
    keep, end = set(plan.roots), len(plan.kernels)
    leaves = set(plan.leaves)
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    first: dict[int, int] = {}
    for i, k in enumerate(plan.kernels):
        over = dict(k.over)
        for v in k.outputs:
            if v in over:
                first[v] = first.get(over[v], over[v])
            top = first.get(v, v)
            if top not in leaves:
                begins.setdefault(top, i)
                ends[top] = max(ends.get(top, i), end if v in keep else plan.last_use.get(v, i))
    return begins, ends, first


def _is_free(busy: list[tuple[int, int]], span: tuple[int, int]) -> bool:
    index = bisect(busy, span)
    before, after = busy[max(index - 1, 0) : index], busy[index : index + 1]
    return not (before and before[0][1] >= span[0]) and not (after and after[0][0] <= span[1])


def peak(plan: Plan) -> int:
    """The most bytes that live values take at any kernel: a lower bound for every assignment."""
    begins, ends, _ = lifetimes(plan)
    sizes = dict(plan.stored)
    change = [0] * (len(plan.kernels) + 2)
    for v, begin in begins.items():
        change[begin] += sizes[v]
        change[ends[v] + 1] -= sizes[v]
    live = most = 0
    for c in change:
        live += c
        most = max(most, live)
    return most
