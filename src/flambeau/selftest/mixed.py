"""Random programs of lines of all kinds."""

from collections.abc import Callable
from typing import Any

from . import operations, pointwise
from .program_builder import EVERY, FLOATS, Builder
from .programs import Program

OF_LINES = (
    "unary", "unary", "unary", "binary", "binary", "binary", "binary", "ratio", "comparison", "where",
    "where", "cast", "transpose", "reshape", "slicing", "slicing", "padding", "expansion", "windows",
    "rearrangement", "concatenation",
)  # fmt: skip
OF_CALLS = (
    "reduction", "reduction", "reduction", "all_of", "extreme", "running", "ordering", "normalization",
    "product", "product", "linear", "convolution", "pooling", "attention", "gathering", "scattering",
    "assignment", "random",
)  # fmt: skip
LINES: tuple[Callable[[Builder], Any], ...] = (
    *(getattr(pointwise, name) for name in OF_LINES),
    *(getattr(operations, name) for name in OF_CALLS),
)


def random_program(seed: int, lines: int = 30) -> Program:
    """A program of up to `lines` lines over two to four inputs of any dtype."""
    b = Builder(seed)
    rank = b.one((0, 1, 2, 2, 3, 3, 4))
    large = b.chance(0.15)
    shape = [b.small(9 if rank > 2 else 33) for _ in range(rank)]
    if large and rank:
        b.most = 1 << 18
        shape = [1 if rank > 2 else 3] * rank
        # Around the limit of a grid's dim.
        shape[b.whole(0, rank - 1)] = b.one((b.size(), 65535 + b.whole(-1, 2), 65537 * b.one((1, 2))))
    # Shapes that broadcast with the first: a suffix of it, and one with dims of size 1.
    rest = [shape, shape[b.whole(0, rank) :], [1 if i % 2 else n for i, n in enumerate(shape)], shape]
    for s in rest[: b.whole(2, 4)]:
        b.input(s, b.one(FLOATS if b.chance(0.6) else EVERY), b.one(("quarters", "quarters", "normal")))
    for _ in range(b.whole(3, lines if not large else 8)):
        texts = b.one(LINES)(b)
        if texts:
            b.line(*texts)
    if not b.lines:
        b.line(f"{b.values[0].name}.float() * 2", f"{b.values[0].name} * 2.0")
    return b.finish("random programs")
