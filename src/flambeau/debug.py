"""Debugging: the first op with a value that is not finite, the line of an index out of bounds, the kernels of
a device, and how far autocast moves values from float32."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from math import inf
from threading import get_ident
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from .autodiff.backward import slopes
from .codegen.render import render
from .core.autocast import autocast, heard, in_full
from .core.dtype import DTypeLike, float16
from .core.faults import ADVICE
from .core.files import CODE
from .core.modes import no_grad
from .core.node import Node, describe, toposort, walk_nodes, watch_serials
from .core.source_lines import record_lines
from .core.tree import is_sequence
from .device import DeviceLike, get_device
from .errors import IndexFault, ValueFault
from .ops.index.indices import watched
from .ops.join import stack
from .ops.random import get_rng_state, set_rng_state
from .runtime import run, state
from .tensor import Tensor

if TYPE_CHECKING:
    from .nn.module import Module

INSIDE = tuple(f"{CODE}{name}{os.sep}" for name in ("nn", "models"))  # our files whose lines help a user
SLOPES: CodeType = slopes.__code__


class made_at:
    """A context that records the Python line and the layer of `model` for each node that this thread makes:
    `get(node)` returns them, and `y.wgsl()` shows the lines above each kernel. Calls are slower in it."""

    def __init__(self, model: "Module | None" = None):
        modules = () if model is None else model.named_modules()
        self._names = {id(m): name for name, m in modules if name}
        self._lines: dict[int, str] = {}
        self._slopes: dict[int, Node] = {}  # serial -> the node that is differentiated
        self._rules: dict[int, str] = {}  # serial -> the op whose gradient rule makes the node

    def __enter__(self) -> "made_at":
        self._thread, self._watching = get_ident(), ExitStack()
        self._watching.enter_context(watch_serials(self._note))
        self._watching.enter_context(record_lines())
        return self

    def __exit__(self, *_: object) -> None:
        self._watching.__exit__(None, None, None)

    def _note(self, serial: int) -> None:
        # serial numbers are counted over all threads: those of others have other lines
        if get_ident() == self._thread:
            self._where(serial, sys._getframe(3))  # pyright: ignore[reportPrivateUsage]  # of who makes the node

    def _where(self, serial: int, frame: FrameType | None) -> None:
        """Record the nearest line of the user's code or of a layer, the layer, and the op whose gradient rule
        makes the node."""
        line = layer = ""
        while frame is not None:
            file = frame.f_code.co_filename
            if not line and (not file.startswith(CODE) or file.startswith(INSIDE)):
                line = f"{file}:{frame.f_lineno}"
            # A node that a gradient rule makes: the rule's frame holds the op and the node that it
            # differentiates.
            if frame.f_code is SLOPES and serial not in self._slopes:
                self._slopes[serial] = frame.f_locals["y"].node
                self._rules[serial] = frame.f_locals["op"].name.lstrip("_")
            # the innermost layer, which comes first
            layer = layer or self._names.get(id(frame.f_locals.get("self")), "")
            frame = frame.f_back
        self._lines[serial] = line + (f" (layer {layer!r})" if layer else "")

    def get(self, node: Node) -> str:
        """Return the line that created a node; "" if unknown."""
        return self._lines.get(node.serial, "")

    def gradient_of(self, node: Node) -> str:
        """The op whose gradient a node is part of, or ""."""
        return self._rules.get(node.serial, "")

    def differentiated_nodes(self) -> list[Node]:
        """The values whose gradients were taken."""
        nodes = walk_nodes(self._slopes.values(), lambda n: [p for p in n.parents if p.requires_grad])
        return sorted(nodes, key=lambda n: n.serial)


def first_bad(*tensors: Any, lines: made_at | None = None) -> str | None:
    """Describe the first op below uncomputed tensors whose result is not finite; None without one.

    Each value of the graph is computed by itself, in order, which is slow. lines: a `made_at` that was active
    when the tensors were made, for the Python line of the op.
    """
    for node in toposort([t.node for t in tensors]):
        # movements and composites compute nothing, and windows of an image are large
        if not node.dtype.is_float or node.op.kind in ("source", "movement", "composite"):
            continue
        inputs, value = ", ".join(describe(i) for i in node.inputs), Tensor(node)
        run.realize(value)
        if not value.isfinite().all().item():
            if node.op.kind == "leaf":
                return f"an input is not finite: {describe(node)}"
            name = node.attrs.get("label", node.op.name).lstrip("_")
            line = lines.get(node) if lines is not None else ""
            sentence = f"{name}({inputs}) produced the first value that is not finite: {describe(node)}"
            return f"{sentence}, at {line}" if line else sentence
    return None


class check_indices:
    """A context in which an index from a device that is out of bounds raises IndexError in the call that uses
    it, and a value from a device that is out of its range (a weight, a probability) ValueError.

    Outside of it they raise at the next read. Each call in it waits for its indices; while a function is
    recorded (jit) nothing is checked.
    """

    def __enter__(self):
        self._outer_check, watched.check = watched.check, _check
        return self

    def __exit__(self, *_):
        watched.check = self._outer_check


def _check(places: Any) -> None:
    if state.thread.recorder is None:
        try:
            run.read([places])
        except (IndexFault, ValueFault) as e:
            message = str(e).removesuffix(f": {ADVICE}")
            rule = ": use indices in range" if isinstance(e, IndexFault) else ""
            raise type(e)(f"{message}{rule}") from None


def kernels(device: DeviceLike | None = None) -> list[dict[str, Any]]:
    """The kernels that a device ran since it was opened, in order of first use: "name", "template", "groups"
    [3], "reads" and "writes" (bytes), "flops" and "wgsl" of each.

    device: by default the default device; "cpu" has no kernels.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for compiled in list(get_device(device).plans.values()):
        for k, cost in zip(compiled.plan.kernels, compiled.plan.costs, strict=True):
            # equal kernels of several plans are one row
            if (k.name, k.grid, k.shader) not in rows:
                row = {"name": k.name, "template": k.shader.template, "groups": list(k.grid)}
                row |= {"reads": cost.reads, "writes": cost.writes, "flops": cost.flops}
                rows[k.name, k.grid, k.shader] = row | {"wgsl": render(k.shader)}
    return list(rows.values())


class Drifted(NamedTuple):
    """A value under autocast compared with float32: the layer and the op that made it (for a gradient, the
    parameter and "gradient"), and its dtype.

    error: |a - b| / |b|. largest: the largest magnitude. overflowed, vanished: the elements that became
    infinite or NaN, or 0, and are not in float32.
    """

    layer: str
    op: str
    dtype: str
    error: float
    largest: float
    overflowed: int
    vanished: int


class Drift(list[Drifted]):
    """The rows of `drift`, in the order of the values. It prints as a table."""

    @property
    def first_overflow(self) -> Drifted | None:
        """The first value with infinities or NaN that float32 does not have."""
        return next((row for row in self if row.overflowed), None)

    def __str__(self) -> str:
        head = ("layer", "op", "dtype", "error", "largest", "overflowed", "vanished")
        lines = [
            head,
            *((r.layer, r.op, r.dtype, f"{r.error:.1e}", f"{r.largest:.3g}", *r[5:]) for r in self),
        ]
        widths = [max(len(str(line[i])) for line in lines) for i in range(len(head))]
        rows = ["  ".join(str(v).ljust(w) for v, w in zip(line, widths, strict=True)) for line in lines]
        bad = self.first_overflow
        summary = "nothing overflows" if bad is None else f"the first overflow: {bad.layer} {bad.op}".rstrip()
        return "\n".join([*(row.rstrip() for row in rows), summary])

    __repr__ = __str__


def drift(
    fn: Callable[..., Any], *args: Any, dtype: DTypeLike = float16, model: "Module | None" = None, **kw: Any
) -> Drift:
    """Call a function in float32 and under autocast, and compare the value of every operation, by layer; if
    it returns one number, also the gradients of the parameters. Waits once for all results.

    `fn` is called twice with `args` and `kw` and the same random numbers. Layers are named as in `model`,
    which defaults to `fn` if that is a module. ValueError if the function makes other operations under
    autocast.
    """
    watched: Any = fn if model is None and hasattr(fn, "named_modules") else model
    before = get_rng_state()
    wide = _values_of_call(fn, args, kw, in_full(), watched)
    set_rng_state(before)
    low = _values_of_call(fn, args, kw, autocast(dtype=dtype), watched)
    # both calls must perform the same operations, else values can't be paired
    if [v[:2] for v in wide] != [v[:2] for v in low]:
        rule = "it runs other operations under autocast: make it independent of dtypes"
        raise ValueError(f"drift({getattr(fn, '__name__', type(fn).__name__)}): {rule}")
    with no_grad():
        numbers = [_compare(a[2].detach(), b[2].detach()) for a, b in zip(low, wide, strict=True)]
        # one read for all values
        rows_of_numbers: list[list[float]] = stack(numbers).tolist() if numbers else []
    rows = zip(low, rows_of_numbers, strict=True)
    return Drift(
        Drifted(layer, op, y.dtype.name, error, largest, int(infinite), int(zero))
        for (layer, op, y), (error, largest, infinite, zero) in rows
    )


def _compare(low: Tensor, wide: Tensor) -> Tensor:
    """error, largest, how many overflowed, how many vanished. -> [4]"""
    a, b = low.float(), wide.float()
    # Elements that are infinite on one side only would make the error infinite: they are counted apart.
    both = a.isfinite() & b.isfinite()
    off, size = (both.where(x, 0.0).square().sum().sqrt() for x in (a - b, b))
    infinite = (b.isfinite() & ~a.isfinite()).float().sum()
    zero = ((a == 0) & (b != 0)).float().sum()
    largest = a.isfinite().where(a, 0.0).abs().amax()
    # inf rather than a ratio of the remaining elements; 1e-30 avoids a division by 0 for a value of zeros
    error = (infinite > 0).where(inf, off / size.maximum(1e-30))
    return stack([error, largest, infinite, zero])


def _values_of_call(
    fn: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any], precision: Any, model: "Module | None"
) -> list[tuple[str, str, Tensor]]:
    """(layer, operation, result) of every operation with a float result, and those of gradients."""
    values: list[tuple[str, str, Tensor]] = []
    inside: list[str] = []

    def record_op(op: str, result: Any) -> None:
        for y in result if is_sequence(result) else (result,):
            # views and casts compute nothing: their errors are those of their sources
            if isinstance(y, Tensor) and y.dtype.is_float and y.numel() and y.link is None and op != "cast":
                values.append((inside[-1] if inside else "", op, y))

    token = heard.set(record_op)
    try:
        with _track_layers(model, inside), precision:
            out = fn(*args, **kw)
    finally:
        heard.reset(token)
    if isinstance(out, Tensor) and out.requires_grad and out.numel() == 1:
        grads = out.backward(retain_graph=True)
        named = model.named_parameters() if model is not None else ()
        values += [(name, "gradient", grads[p]) for name, p in named if p in grads]
    return values


@contextmanager
def _track_layers(model: "Module | None", inside: list[str]) -> Generator[None]:
    """Track the names of the running layers, the innermost last."""

    def enter(name: str, *_: Any) -> None:
        inside.append(name)

    def leave(*_: Any) -> None:
        inside.pop()

    handles: list[Any] = []
    for name, layer in model.named_modules() if model is not None else ():
        handles.append(layer.register_forward_pre_hook(partial(enter, name)))
        handles.append(layer.register_forward_hook(leave))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
