"""Sums over logical shards in one fixed binary tree, so that the bits do not depend on which worker adds
which shards.

A node of the tree is a span of shards, (first, end). Float addition is not associative: the order of the
additions decides the last bits of a sum. Here the order follows from the number of shards alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
Span = tuple[int, int]


class TreePlace(NamedTuple):
    """The position of a node in the tree: its parent, its sibling, and whether it is the left one."""

    parent: Span
    sibling: Span
    is_left: bool


@cache
def places(shards: int) -> dict[Span, TreePlace]:
    """Return the position of each node but the root, for a number of shards."""
    positions: dict[Span, TreePlace] = {}
    pending: list[Span] = [(0, shards)]
    while pending:
        span = first, end = pending.pop()
        if end - first > 1:
            middle = first + (end - first + 1) // 2
            left, right = (first, middle), (middle, end)
            positions[left], positions[right] = TreePlace(span, right, True), TreePlace(span, left, False)
            pending += [left, right]
    return positions


class TreeSum(Generic[T]):
    """Adds values of nodes as they arrive: each pair as soon as both are present.

    shards: the number of leaves. filled: the shards that have items; a node without any is left out, and its
    sibling's value is the parent's. add: adds two values, the left one first.
    """

    def __init__(self, shards: int, filled: Collection[int], add: Callable[[T, T], T]):
        self.add, self._places, self._filled = add, places(shards), frozenset(filled)
        self._root = (0, shards)
        self.values: dict[Span, T] = {}  # the sums so far, of spans without a common parent

    def put(self, span: Span, value: T) -> None:
        """Add the value of a node."""
        # Go up the tree while the sibling's sum exists, or the sibling has no items.
        while span != self._root:
            place = self._places[span]
            other = self.values.pop(place.sibling, None)
            if other is not None:
                value = self.add(value, other) if place.is_left else self.add(other, value)
            elif not self._is_empty(place.sibling):
                break
            span = place.parent
        self.values[span] = value

    def _is_empty(self, span: Span) -> bool:
        return self._filled.isdisjoint(range(*span))

    @property
    def total(self) -> T:
        """The sum over all shards, once all have come."""
        return self.values[self._root]


def spans_of(shards: int, filled: Collection[int], owned: Collection[int]) -> list[Span]:
    """Return the largest nodes whose shards with items are all `owned`: the partial sums that a worker can
    compute alone, in order."""
    tree: TreeSum[bool] = TreeSum(shards, filled, lambda left, right: True)
    for shard in sorted(set(owned).intersection(filled)):
        tree.put((shard, shard + 1), True)
    return sorted(tree.values)
