"""Lists the layers of a model for an input: shapes, parameters, operations, memory."""

from collections.abc import Generator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

from ..core.handle import RemovableHandle
from ..core.modes import no_grad
from ..core.node import Node, toposort
from ..core.tree import leaves
from ..tensor import Tensor
from .module import Module
from .parameter import is_lazy


class LayerRow(NamedTuple):
    """One call of one layer: FLOPs are those of products and convolutions (two a multiplication with its
    addition); output counts bytes."""

    name: str
    layer: str
    shape: str
    parameters: int
    flops: int
    output: int


class Summary(NamedTuple):
    """The rows of a model's layers, and its sums; it prints as a table."""

    rows: list[LayerRow]
    parameters: int
    trainable: int
    flops: int
    parameter_bytes: int
    output_bytes: int

    def __str__(self) -> str:
        heads = ("layer", "output", "parameters", "MFLOP", "KiB")
        lines = [
            (f"{r.name} ({r.layer})".strip(), r.shape, f"{r.parameters:,}", f"{r.flops / 1e6:,.3f}",
             f"{r.output / 1024:,.1f}")
            for r in self.rows
        ]  # fmt: skip
        wide = [max(len(line[i]) for line in [heads, *lines]) for i in range(5)]
        shown = [
            "  ".join(
                t.ljust(w) if i < 2 else t.rjust(w) for i, (t, w) in enumerate(zip(line, wide, strict=True))
            )
            for line in [heads, *lines]
        ]
        kib = self.parameter_bytes / 1024
        totals = [
            f"{self.parameters:,} parameters ({self.trainable:,} trained), {kib:,.1f} KiB",
            f"{self.flops / 1e6:,.3f} MFLOP, {self.output_bytes / 1024:,.1f} KiB of outputs",
        ]
        return "\n".join([*shown, *totals])

    __repr__ = __str__


def _flops(nodes: list[Node]) -> int:
    """Two for each multiply-add of products: the result's elements times the terms of each sum."""
    total = 0
    # The same nodes that the planner fuses; a composed op has counted its parts.
    for n in nodes:
        if n.op.kind == "contract":
            nk, shape = n.attrs["nk"], n.inputs[0].shape
            # the last nk dims of an operand are the ones that are summed over
            total += 2 * prod(shape[len(shape) - nk :]) * prod(n.shape)
    return total


@contextmanager
def _restore_after(model: Module) -> Generator[None, None, None]:
    """Restore the model's tensors afterwards: a call may update some, such as running statistics."""
    tensors = [t for t in (*model.parameters(), *model.buffers()) if not is_lazy(t)]
    before = [(t, Tensor(t.node)) for t in tensors]  # other handles on the same values
    try:
        yield
    finally:
        for t, was in before:
            if t.node is not was.node:
                t.assign_(was)


def summary(model: Module, *inputs: Any, **kw: Any) -> Summary:
    """List the layers of a call of a model with these inputs: outputs, parameters and work; no kernel runs
    and no state changes.

    Rows are the layers that contain no other layers, in the order of their calls. It prints as a table.
    """
    rows: list[LayerRow] = []
    names = {id(m): name for name, m in model.named_modules()}
    seen: set[Node] = set()
    handles: list[RemovableHandle] = []
    counted: set[int] = set()

    def note(module: Module, _args: Any, out: Any) -> None:
        tensors = [t for t in leaves(out) if isinstance(t, Tensor)]
        # nodes of earlier layers belong to those
        nodes = [n for n in toposort([t.node for t in tensors]) if n not in seen]
        seen.update(nodes)
        fresh = [p for p in module.parameters() if id(p) not in counted]  # a shared parameter counts once
        counted.update(map(id, fresh))
        shape = " ".join(str(list(t.shape)) for t in tensors)
        size = sum(p.numel() for p in fresh)
        nbytes = sum(t.nbytes for t in tensors)
        rows.append(LayerRow(names[id(module)], type(module).__name__, shape, size, _flops(nodes), nbytes))

    for m in model.modules():
        if not any(True for _ in m.children()):  # layers without layers inside
            handles.append(m.register_forward_hook(note))
    try:
        # the graph is built, and no kernel runs
        with no_grad(), _restore_after(model):
            model(*inputs, **kw)
    finally:
        for h in handles:
            h.remove()
    params = list(model.parameters())
    return Summary(
        rows,
        sum(p.numel() for p in params),
        sum(p.numel() for p in params if p.requires_grad),
        sum(r.flops for r in rows),
        sum(p.nbytes for p in params),
        sum(r.output for r in rows),
    )
