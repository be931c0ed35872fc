"""Merges a kernel that adds up the pieces of a split sum into the map that reads the sum."""

from dataclasses import replace
from typing import NamedTuple

from ..kernels.ir import MAPS, Kernel, numbers_of
from ..kernels.substitute import MapReads, with_input


class Pieces(NamedTuple):
    """A sum of pieces: the value that holds them consecutively, the length of each and of all, and the number
    of neighbours that are added at once."""

    value: int
    size: int
    all: int
    width: int


def add_in_readers(kernels: tuple[Kernel, ...], keep: set[int]) -> tuple[Kernel, ...]:
    """Let a map that is the only reader of a split sum add up the pieces; drop the kernel that did.

    keep: values that are roots.
    """
    readers: dict[int, list[int]] = {}
    for j, k in enumerate(kernels):
        for v in k.inputs:
            readers.setdefault(v, []).append(j)
    remaining: list[Kernel | None] = list(kernels)
    for i, k in enumerate(kernels):
        pieces = _pieces_of(k)
        if pieces is None or k.outputs[0] in keep:
            continue
        of_sum = readers.get(k.outputs[0], [])
        reader = remaining[of_sum[0]] if len(of_sum) == 1 else None
        adder = _add_pieces(reader, k.outputs[0], pieces) if reader is not None else None
        if adder is not None:
            remaining[of_sum[0]], remaining[i] = adder, None
    return tuple(k for k in remaining if k is not None)


def _pieces_of(k: Kernel) -> Pieces | None:
    """The pieces that a kernel adds up; None if it does anything else."""
    options, numbers = dict(k.shader.options), numbers_of(k)
    if k.shader.kind != "split_sum" or k.shader.functions:
        return None
    return Pieces(k.inputs[0], numbers[options["size"]], numbers[options["all"]], k.shader.outs[0][1])


def _add_pieces(k: Kernel, total: int, pieces: Pieces) -> Kernel | None:
    """The kernel with the pieces as inputs in place of their sum. None if a thread reads the sum at another
    place than its own, or in another width than the pieces are added in."""
    if k.shader.kind not in MAPS:
        return None
    reads = MapReads(k)
    for f, step in reads.of(total):
        if step.kind != "load" or step.tests or not step.extra[0] == f.width == pieces.width:
            return None
        if not reads.is_in_order(f, step):
            return None
    names = [f"{word}{len(k.shader.params) + i}" for i, word in enumerate(("size", "total"))]
    k = with_input(k, total, pieces.value, lambda s: s._replace(kind="pieces", extra=(*s.extra, *names)))
    shader = replace(k.shader, params=(*k.shader.params, *((name, "u32") for name in names)))
    return replace(k, shader=shader, quantities=(*k.quantities, pieces.size, pieces.all))
