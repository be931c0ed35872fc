"""Builds kernels of few rows over short windows (depthwise convolutions): a thread computes four
neighbours."""

from ..ir import GPU_WORKGROUP, Kernel
from ..window import WindowLine, walk_of
from .dispatch import ContractionBuilder, SumPieces, TileLoad
from .product import COLUMNS, ROWS, SUMMED, OperandIndexing, Product
from .skinny import FEW_ROWS, thread_rows


def along(product: Product) -> Product:
    """The product with the longer side as columns, and dims in their own order."""
    return (product if product.m <= product.n else product.transpose()).in_memory_order()


def line_of(product: Product) -> WindowLine | None:
    """The line of windows that the columns' side reads along its last dim; None if it reads no windows."""
    shape, groups, b = product.domain.shape, product.domain.groups, product.b
    own = [d for d in range(len(shape)) if groups[d] == COLUMNS and shape[d] > 1]
    summed = [d for d in range(len(shape)) if groups[d] == SUMMED and shape[d] > 1]
    if product.m > FEW_ROWS or not own or not summed or shape[own[-1]] < 4 or summed[-1] not in b.walked:
        return None
    column, tap = own[-1], summed[-1]
    walks = {walk_of(a, column, tap) for a in b.affines if a.strides[column] or a.strides[tap]}
    stride, dilation = walks.pop() if len(walks) == 1 else (0, 0)
    if not stride:
        return None
    line = WindowLine(shape[tap], stride, dilation, shape[column])
    # The taps have to be a run of their own: the kernel's innermost loop is over them.
    is_single_run = OperandIndexing("b", b, COLUMNS, product.domain, True).runs[SUMMED][-1] == (tap,)
    return line if is_single_run and line.is_short else None


def depthwise_kernel(product: Product, narrow: bool) -> Kernel:
    """Every thread four columns of one line, a line of taps at a time, in registers."""
    product, domain = along(product), along(product).domain
    line = line_of(product)
    assert line is not None, "`candidates` offers this variant for windows only"
    builder = ContractionBuilder(product, SumPieces(product.k), narrow or line.columns % 4 != 0)
    a, b = (
        OperandIndexing(n, o, g, domain, True, "free")
        for n, o, g in (("a", product.a, ROWS), ("b", product.b, COLUMNS))
    )
    functions, q = builder.functions([a, b]), builder.q
    loads = [TileLoad(n, s.carries(n, q), stride=n) for s, n in ((a, 1), (b, line.taps))]
    options, depth = builder.options([a, b], loads, 1)
    strips = -(-line.columns // 4)
    lines = product.n // line.columns
    groups = -(-lines * strips // GPU_WORKGROUP)
    last = max(d for d in range(len(domain.shape)) if domain.groups[d] == SUMMED and domain.shape[d] > 1)
    # By how many elements a position moves for one cell of the line; a tap is `dilation` cells.
    units = tuple(f.strides[last] // line.dilation for f in product.b.affines)
    options |= {
        "high": thread_rows(product.m),
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
    return builder.kernel("contract/depthwise.wgsl", GPU_WORKGROUP, groups * depth, functions, options)
