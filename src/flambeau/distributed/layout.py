"""The order in which gradients are exchanged: rounds of some megabytes, with a segment for each worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Bytes of float32 in the largest round. 496 MB between two H200s took 79, 66 and 84 ms with 16, 32 and 64 MB
# (2026-11-28): each round wakes threads, and the last one passes all stages alone.
ROUND = 32 << 20
SMALL_ROUND = 8 << 20  # bytes of rounds of small models, so that their stages overlap too
ELEMENT = 4  # bytes of a float32


def round_size(nbytes: int, most: int = ROUND) -> int:
    """Return the bytes of a round, if all gradients have `nbytes` and the largest round `most`."""
    return min(most, max(nbytes // 4, SMALL_ROUND))


class RoundPiece(NamedTuple):
    """Elements of a tensor in a round: the tensor's number, their start in the round, their number, and their
    start in the tensor."""

    tensor: int
    start: int
    size: int
    first: int = 0


class Round(NamedTuple):
    """Tensors that are exchanged together, one after the other in a flat array.

    bounds: worker w adds the elements [bounds[w], bounds[w + 1]). is_exact: they travel in float32. is_owned:
    the sums stay on that worker, instead of going to all.
    """

    pieces: tuple[RoundPiece, ...]
    bounds: tuple[int, ...]
    is_exact: bool
    is_owned: bool = False

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.bounds[-1]

    def renumber(self, numbers: Sequence[int]) -> Round:
        """Return the round with other numbers of its tensors."""
        pieces = tuple(p._replace(tensor=numbers[p.tensor]) for p in self.pieces)
        return self._replace(pieces=pieces)

    def segment(self, worker: int) -> slice:
        """The elements that a worker adds."""
        return slice(self.bounds[worker], self.bounds[worker + 1])


def rounds_of(
    sizes: Sequence[int], exact: Sequence[bool], workers: int, limit: int = ROUND
) -> tuple[Round, ...]:
    """Plan rounds whose elements are divided evenly among the workers. A large tensor continues in the next
    round.

    The last tensors come first: backward computes their gradients first. sizes: elements of each tensor.
    """
    rounds: list[Round] = []
    most = max(limit // ELEMENT, 1)
    for is_exact in (False, True):
        numbers = [i for i in reversed(range(len(sizes))) if exact[i] is is_exact]
        for pieces in _fill(numbers, sizes, most):
            total = sum(p.size for p in pieces)
            # A segment may begin in the middle of a tensor.
            bounds = tuple(total * w // workers for w in range(workers + 1))
            rounds.append(Round(tuple(pieces), bounds, is_exact))
    return tuple(rounds)


def _fill(numbers: Sequence[int], sizes: Sequence[int], most: int) -> list[list[RoundPiece]]:
    """Cut tensors, one after the other, in lists of `most` elements."""
    rounds: list[list[RoundPiece]] = []
    room = 0
    for i in numbers:
        first = 0
        while first < sizes[i] or not first:
            if not room:
                rounds.append([])
                room = most
            size = min(room, sizes[i] - first)
            rounds[-1].append(RoundPiece(i, most - room, size, first))
            room -= size
            first += max(size, 1)
    return rounds


def owned_rounds(
    sizes: Sequence[int], exact: Sequence[bool], owners: Sequence[int], workers: int, limit: int = ROUND
) -> tuple[Round, ...]:
    """Plan rounds in which each tensor lies completely in its owner's segment; all workers get the exact
    ones."""
    rounds: list[Round] = []
    of_worker = [
        _groups(
            [i for i in reversed(range(len(sizes))) if owners[i] == w and not exact[i]],
            sizes,
            max(1, limit // workers),
        )
        for w in range(workers)
    ]
    # Round n has the n-th group of each worker: segments of a round differ in length.
    for number in range(max(map(len, of_worker))):
        pieces: list[RoundPiece] = []
        bounds = [0]
        for groups in of_worker:
            more, total = _pieces(groups[number] if number < len(groups) else [], sizes, bounds[-1])
            pieces += more
            bounds.append(total)
        rounds.append(Round(tuple(pieces), tuple(bounds), False, is_owned=True))
    return (*rounds, *(r for r in rounds_of(sizes, exact, workers, limit) if r.is_exact))


def owners_of(sizes: Sequence[int], workers: int) -> list[int]:
    """Assign tensors to workers: the largest first, each to the worker with the fewest elements so far."""
    totals = [0] * workers
    owners = [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        owners[i] = min(range(workers), key=lambda w: (totals[w], w))
        totals[owners[i]] += sizes[i]
    return owners


def _groups(numbers: Sequence[int], sizes: Sequence[int], limit: int) -> list[list[int]]:
    groups: list[list[int]] = []
    room = 0
    for i in numbers:
        if not groups or room < sizes[i] * ELEMENT:
            groups.append([])
            room = limit
        groups[-1].append(i)
        room -= sizes[i] * ELEMENT
    return groups


def _pieces(group: Sequence[int], sizes: Sequence[int], start: int = 0) -> tuple[tuple[RoundPiece, ...], int]:
    """Return the pieces of a group of tensors from `start` on, and their end."""
    pieces: list[RoundPiece] = []
    for i in group:
        pieces.append(RoundPiece(i, start, sizes[i]))
        start += sizes[i]
    return tuple(pieces), start
