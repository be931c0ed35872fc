"""Contractions of few rows over short windows (depthwise convolutions): a thread makes four neighbours."""

from dataclasses import replace

from ..ir import Kernel
from ..kernel import GPU_WORKGROUP
from ..window import CELLS, Line, walk_of
from .operand import COLUMNS, ROWS, SUMMED, Spelling
from .product import Launch, Product, Share
from .skinny import THIN, high_of


def along(product: Product) -> Product:
    """With the many as columns, and dims in the order of memory."""
    made = product if product.m <= product.n else product.turned()
    return replace(made, domain=made.domain._replace(order=tuple(range(len(made.domain.shape)))))


def line_of(product: Product) -> Line | None:
    """How the columns' side reads windows along its last dim; None where it reads other things."""
    shape, groups, b = product.domain.shape, product.domain.groups, product.b
    own = [d for d in range(len(shape)) if groups[d] == COLUMNS and shape[d] > 1]
    summed = [d for d in range(len(shape)) if groups[d] == SUMMED and shape[d] > 1]
    if product.m > THIN or not own or not summed or shape[own[-1]] < 4 or not b.walks(summed[-1]):
        return None
    column, tap = own[-1], summed[-1]
    found = {walk_of(a, column, tap) for a in b.affines if a.strides[column] or a.strides[tap]}
    stride, dilation = found.pop() if len(found) == 1 else (0, 0)
    if not stride:
        return None
    line = Line(shape[tap], stride, dilation, shape[column])
    alone = Spelling("b", b, COLUMNS, product.domain, True).runs[SUMMED][-1] == (tap,)
    return line if alone and len(line.cells) <= CELLS else None


def strips_kernel(product: Product, narrow: bool = False) -> Kernel:
    """Every thread four columns of one line, a line of taps at a time, in registers."""
    product, domain = along(product), along(product).domain
    line = line_of(product)
    assert line is not None, "windows were found when the variant was named"
    made = Launch(product, product.k, None, narrow or line.columns % 4 != 0)
    a, b = (
        Spelling(n, o, g, domain, True, "free")
        for n, o, g in (("a", product.a, ROWS), ("b", product.b, COLUMNS))
    )
    functions, q = made.functions([a, b]), made.q
    if made.is_over:
        return strips_kernel(product, narrow=True)
    shares = [Share(0, 0, 0, 0, 0, n, False, n, s.digits(n, q), 0) for s, n in ((a, 1), (b, line.taps))]
    options, depth = made.options([a, b], shares, 1)
    strips = -(-line.columns // 4)
    lines = product.n // line.columns
    groups = -(-lines * strips // GPU_WORKGROUP)
    last = max(d for d in range(len(domain.shape)) if domain.groups[d] == SUMMED and domain.shape[d] > 1)
    units = tuple(f.strides[last] // line.dilation for f in product.b.affines)
    options |= {
        "high": high_of(product.m),
        "tiles": q.add("tiles", groups),
        "taps": line.taps,
        "cells": line.cells,
        "stride": line.stride,
        "dilation": line.dilation,
        "strips": q.add("strips", strips),
        "units": tuple(q.add("stride", u) if u else "" for u in units),
        "line": q.add("line", line.columns),
        "lines": q.add("lines", lines),
        "last": q.add("last", line.cell(line.columns - 1, line.taps - 1)) if line.columns % 4 else "",
    }
    return made.kernel("contract/depthwise.wgsl", GPU_WORKGROUP, groups * depth, functions, options)
