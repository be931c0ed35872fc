"""Kernels that add up pieces, and those that read their sums element by element, into one each."""

from dataclasses import replace
from typing import NamedTuple

from ..kernels.ir import MAPS, Function, Kernel, Step, numbers_of
from .inplace import READS, is_row_major


class Pieces(NamedTuple):
    """A sum of pieces: the value that holds them, one behind the other, how long each is and all of them, and
    how many neighbours are added at once."""

    value: int
    size: int
    all: int
    width: int


def absorbed(kernels: tuple[Kernel, ...], keep: set[int]) -> tuple[Kernel, ...]:
    """The kernels without those that add up pieces for one map, which does that itself.

    keep: values that are asked for.
    """
    readers: dict[int, list[int]] = {}
    for j, k in enumerate(kernels):
        for v in k.inputs:
            readers.setdefault(v, []).append(j)
    made: list[Kernel | None] = list(kernels)
    for i, k in enumerate(kernels):
        pieces = _pieces_of(k)
        if pieces is None or k.outputs[0] in keep:
            continue
        found = readers.get(k.outputs[0], [])
        reader = made[found[0]] if len(found) == 1 else None
        joined = _adding(reader, k.outputs[0], pieces) if reader is not None else None
        if joined is not None:
            made[found[0]], made[i] = joined, None
    return tuple(k for k in made if k is not None)


def _pieces_of(k: Kernel) -> Pieces | None:
    """What a kernel adds up, if that is pieces and all that it does."""
    options, numbers = dict(k.shader.options), numbers_of(k)
    if k.shader.kind != "split_sum" or k.shader.functions:
        return None
    return Pieces(k.inputs[0], numbers[options["size"]], numbers[options["all"]], k.shader.outs[0][1])


def _adding(k: Kernel, value: int, pieces: Pieces) -> Kernel | None:
    """The kernel with pieces in place of the value that is their sum; None where it does not read that in
    order."""
    if k.shader.kind not in MAPS:
        return None
    place, numbers = k.inputs.index(value), numbers_of(k)
    sizes = [numbers[name] for name in dict(k.shader.options)["dims"]]
    names = [f"{word}{len(k.shader.params) + i}" for i, word in enumerate(("size", "total"))]
    functions = []
    for name, f in k.shader.functions:
        own = [s for s in f.steps if s.kind in READS and s.name == f"in{place}"]
        if not all(_is_in_order(s, f, pieces, sizes, numbers) for s in own):
            return None
        functions.append((name, _added(f, place, names)))
    params = (*k.shader.params, *((name, "u32") for name in names))
    shader = replace(k.shader, params=params, functions=tuple(functions))
    inputs = (*k.inputs[:place], pieces.value, *k.inputs[place + 1 :])
    return replace(k, shader=shader, inputs=inputs, quantities=(*k.quantities, pieces.size, pieces.all))


def _is_in_order(s: Step, f: Function, pieces: Pieces, sizes: list[int], numbers: dict) -> bool:
    """Whether a step reads all sums, each in the thread that has its place, as many at once as are added."""
    if s.kind != "load" or s.tests or not s.extra[0] == f.width == pieces.width:
        return False
    return is_row_major(s, f, sizes, numbers)


def _added(f: Function, place: int, names: list[str]) -> Function:
    steps = (
        s._replace(kind="pieces", extra=(*s.extra, *names))
        if s.kind == "load" and s.name == f"in{place}"
        else s
        for s in f.steps
    )
    return f._replace(steps=tuple(steps))
