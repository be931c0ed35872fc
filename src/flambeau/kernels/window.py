"""Builds reductions over short windows (pooling): a thread computes four neighbours of a line."""

from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.choose import choose
from ..core.node import Node
from ..core.shape import Affine, Bound, View
from .emit import (
    Bindings,
    Quantities,
    Raw,
    are_side_by_side,
    below,
    check_bindings,
    coordinates,
    emit,
    fitting,
    label,
    naming_over,
    spread_grid,
)
from .ir import GPU_WORKGROUP, WORKGROUP, Kernel, Shader, WgslFunction
from .lower import PlanContext, epilogue, finish_function

if TYPE_CHECKING:
    from .reduce import ReductionDomain

CELLS = 32  # elements of a line that a thread reads for its four columns
STEP = 4  # the largest distance of windows (or taps) in cells: beyond it they share none


class WindowLine(NamedTuple):
    """Four adjacent windows: a window begins `stride` cells after the previous one, its taps are `dilation`
    cells apart, and a line has `columns` windows."""

    taps: int
    stride: int
    dilation: int
    columns: int

    @property
    def cells(self) -> tuple[int, ...]:
        """The cells that four windows read."""
        return tuple(sorted({self.cell(j, t) for j in range(4) for t in range(self.taps)}))

    @property
    def is_short(self) -> bool:
        """Whether a thread can hold its cells."""
        return self.taps <= CELLS and len(self.cells) <= CELLS

    def cell(self, column: int, tap: int) -> int:
        return column * self.stride + tap * self.dilation


def walk_of(a: Affine, column: int, tap: int) -> tuple[int, int]:
    """How many cells there are between windows, and between taps; (0, 0) unless both go forward."""
    x, y = a.strides[column], a.strides[tap]
    unit = gcd(x, y)  # elements of a cell
    return (x // unit, y // unit) if x > 0 and y > 0 else (0, 0)


def line_of(steps: list[Raw], runs: list[tuple[int, ...]], sizes: list[int], kept: int) -> WindowLine | None:
    """The line of windows that the reduced elements are read along; None if they are not windows of a line.

    runs, sizes: those of the kept dims (the last are columns) and of the reduced dims (the last are taps).
    """
    outer = sum(r[0] < kept for r in runs)
    if not 0 < outer < len(runs) or sizes[outer - 1] < 4:
        return None
    column, tap = runs[outer - 1][-1], runs[-1][-1]
    walks = (walk_of(s.view.index, column, tap) for s in steps if s.kind == "load" and s.view)
    stride, dilation = next((w for w in walks if w[0]), (0, 0))  # the first load that moves along both
    line = WindowLine(sizes[-1], stride, dilation, sizes[outer - 1])
    near = 0 < stride <= STEP and dilation <= STEP and line.is_short
    # consecutive windows, as rows of a matrix are, are not a line
    is_separate = len(runs) == outer + 1 and stride >= line.cell(0, line.taps)
    return line if near and not is_separate else None


class WindowBuilder:
    """Builds one kernel: values that depend only on a cell are computed once for all windows that share
    it."""

    def __init__(
        self, plan: PlanContext, head: Node, tail: Node, domain: "ReductionDomain", line: WindowLine
    ):
        self.plan, self.head, self.tail, self.domain, self.line = plan, head, tail, domain, line
        self.runs, self.sizes = runs, _ = domain.collapsed
        self.outer = sum(r[0] < domain.kept for r in runs)
        self.column, self.tap = runs[self.outer - 1][-1], runs[-1][-1]
        self.lead = coordinates(self.outer - 1, "c", "line")
        self.loops = [f"r{i}" for i in range(len(runs) - self.outer - 1)]
        self.by_cells = self._by_cells()

    # --- values of a cell, and values of a column and a tap ---

    def _by_cells(self) -> set[int]:
        of_cells: set[int] = set()
        for i, s in enumerate(self.domain.trace.steps):
            if all(map(self._walks, s.view.affines if s.view else ())) and of_cells.issuperset(s.args):
                of_cells.add(i)
        return of_cells

    def _walks(self, a: Affine) -> bool:
        still = not a.strides[self.column] and not a.strides[self.tap]
        return still or walk_of(a, self.column, self.tap) == (self.line.stride, self.line.dilation)

    def _affine(self, a: Affine) -> Affine:
        """By cells in place of columns."""
        strides = list(a.strides)
        # A position is stride * column + dilation * tap cells: in cells, the tap has no stride.
        strides[self.column] //= self.line.stride
        strides[self.tap] = 0
        return Affine(tuple(strides), a.offset)

    def _view(self, i: int, v: View) -> View:
        """The domain of the i-th step: cells, if it depends on nothing else."""
        if i not in self.by_cells:
            return v
        bounds = tuple(Bound(self._affine(b.position), b.size) for b in v.bounds)
        return View(v.shape, self._affine(v.index), bounds)

    def functions(self, b: Bindings, q: Quantities, narrow: bool) -> list[tuple[str, WgslFunction]]:
        """`cells`, of a cell of the line; `value`, of those and of a column and a tap, where that is more."""
        trace, root = self.domain.trace, self.domain.root
        read = trace.with_views(self._view)
        first, last = self.runs[: self.outer - 1], self.runs[self.outer - 1]
        runs = [*first, *self.runs[self.outer : -1], last]  # the column last: four are neighbours in it
        names = [*self.lead, *self.loops, "cell"]
        rest = [i for i in below(trace.steps, root) if i not in self.by_cells]
        dense = not rest and not narrow and self.line.columns % 4 == 0 and _is_dense(self.line.cells)
        width = 4 if dense and are_side_by_side(read.steps, runs) else 1
        # The results of `cells`: values of a cell that the rest reads, or the root if no work remains.
        edge = sorted({a for i in rest for a in trace.steps[i].args if a in self.by_cells}) or [root]
        own = sorted({i for e in edge for i in below(trace.steps, e)})
        cells = emit(read.steps, naming_over(runs, names, b, q, width), edge[0], own)
        if not rest:
            return [("cells", cells)]
        results = tuple((f"t{e}", trace.steps[e].dtype.short) for e in edge)
        arguments = tuple((name, dtype, 1) for name, dtype in results)
        runs, names = [*first, last, *self.runs[self.outer :]], [*self.lead, "column", *self.loops, "tap"]
        value = emit(trace.steps, naming_over(runs, names, b, q, 1), root, rest)
        return [
            ("cells", cells._replace(result="Cells", results=results)),
            ("value", value._replace(arguments=arguments)),
        ]

    # --- the kernel ---

    def kernel(self, narrow: bool) -> Kernel:
        plan, head, tail, line, domain = self.plan, self.head, self.tail, self.line, self.domain
        q, b = Quantities(), Bindings()
        functions = self.functions(b, q, narrow)
        after = epilogue(plan, head, tail, domain.trace.reads)
        finish, e_sizes = finish_function(after, head.shape, b, q, "e0")
        check_bindings(b, plan.max_inputs)
        functions += [("finish", finish)] if finish else []
        threads = WORKGROUP if plan.limits.software else GPU_WORKGROUP
        strips = -(-line.columns // 4)
        grid = spread_grid(-(-strips * (domain.rows // line.columns) // threads), plan.limits.groups)
        is_even = line.columns % 4 == 0
        options = self.options(q, strips, grid[0], e_sizes)
        shader = Shader(
            "reduce/windows.wgsl",
            tuple(q.names),
            tuple(b.kinds),
            ((tail.dtype.short, 4 if is_even else 1),),
            (threads, 1, 1),
            tuple(functions),
            tuple(sorted(options.items())),
        )
        name = label(head.op.monoid, domain.trace.steps, after.trace.steps if after else ())
        out = (plan.index[id(tail)],)
        return Kernel(name, shader, tuple(b.values), out, tuple(q.values), grid)

    def options(self, q: Quantities, strips: int, groups: int, e_sizes: list[int]) -> dict[str, Any]:
        line, rows, sizes = self.line, self.domain.rows, self.sizes
        last = line.cell(line.columns - 1, line.taps - 1)
        return {
            "op": self.head.op.monoid,
            "acc": self.head.dtype.short,
            "taps": line.taps,
            "cells": line.cells,
            "stride": line.stride,
            "dilation": line.dilation,
            "lead": tuple(self.lead),
            "loops": tuple(
                (r, q.add("reduced", n)) for r, n in zip(self.loops, sizes[self.outer :], strict=False)
            ),
            "dims": tuple(q.add("dim", n) for n in sizes[1 : self.outer - 1]),
            "strips": q.add("strips", strips),
            "size": q.add("size", strips * (rows // line.columns)),
            "line": q.add("line", line.columns),
            "last": q.add("last", last) if line.columns % 4 else "",
            "e_dims": tuple(q.add("dim", n) for n in e_sizes[1:]),
            "span": q.add("span", groups),
        }


def _is_dense(cells: tuple[int, ...]) -> bool:
    """Whether cells are whole vec4s, and all of them are read."""
    return cells == tuple(range(len(cells))) and len(cells) % 4 == 0


def window_kernel(plan: PlanContext, head: Node, tail: Node, domain: "ReductionDomain") -> Kernel | None:
    """A reduction along lines of windows as one kernel; None if it is none, or another kernel is better."""
    line = line_of(domain.trace.steps, *domain.collapsed, domain.kept)
    if line is None or tail.dtype.is_packed or domain.trace.checks:
        return None
    bucket = (min(domain.rows, 1 << 24).bit_length(), line.taps, line.stride)
    if choose(plan.limits, "window", bucket, ["four", "one"], "four") == "one":
        return None
    builder = WindowBuilder(plan, head, tail, domain, line)
    return fitting(builder.kernel) if builder.by_cells else None
