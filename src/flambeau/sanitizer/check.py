"""Finds the first wrong value of a call: each op alone, the kernels that fuse ops, cached plans and
pipelines, gradients, and replays."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.events import subscribe
from ..core.host import to_numpy
from ..core.node import Node, describe, toposort, walk_nodes
from ..debug import made_at
from ..device.protocol import Gpu
from ..differences import Differing
from ..errors import FlambeauError
from ..inspector.call import TargetCall, tensors_of
from ..runtime import run
from ..runtime.state import compute_with
from ..selftest.bounds import Known
from ..selftest.compare import differing
from .clone_graph import call_of, copy_graph, has_value, leaf, op_name_of, reference, with_loose_bound
from .gradient_check import wrong_slope
from .probing import Launched, compute
from .replay import Replay
from .report import Checked, Wrong
from .sanitize import NOTHING, name_of

MOST = 20  # rows of a report
UNMOVED = ("movement", "gather")  # kinds that only move values
# Ops whose gradient is not the slope of the reference: factorisations read half of a symmetric matrix, and a
# batch norm's includes the path through mean and variance.
OTHERS = ("cholesky", "_cholesky", "_eigh", "eigh", "_batch_affine")
STALE = "the cached pipeline is not of this kernel's text"


def check(fn: Callable[..., Any], *args: Any, replay: bool = True, **kw: Any) -> Checked:
    """Call a function and compare every value that a GPU computes with NumPy's, from the same inputs: each op
    alone, the kernels that fuse several, the results of cached plans and pipelines, each op's gradient with
    the slope of its reference, and the function recorded by `jit` with the plain call.

    With replay the function is called three times more, and tensors that it assigns to get the values of the
    first call back. FlambeauError if nothing runs on a GPU.

    fn: the function
    """
    return check_call(TargetCall(name_of(fn), fn, args, kw), replay)


def check_call(call: TargetCall, replay: bool = True) -> Checked:
    """`check` of a call. A whole script is not replayed."""
    session = Checking()
    again = Replay(call.fn, call.args, call.kw) if replay and not call.is_script else None

    def refuse(*_: Any) -> None:
        rule = "a saved program has kernels and no ops: check the function that it was saved of"
        raise FlambeauError(f"check({call.target}): {rule}")

    with made_at() as session.lines, compute_with(session.compute), subscribe("saved", refuse):
        result = again.first() if again is not None else call.fn(*call.args, **call.kw)
        run.realize(*tensors_of(result))
    report = session.report
    report.result = result
    if not report.values:
        raise FlambeauError(f"check({call.target}): {NOTHING}")
    if again is not None and not report.wrong:
        again.compare(report)
    return report


class Checking:
    """The state of one check."""

    lines: made_at

    def __init__(self) -> None:
        self.report = Checked()
        self.seen: set[tuple[Any, ...]] = set()  # signatures of ops whose gradients were compared

    def compute(self, device: Gpu, roots: list[Node]) -> None:
        """Compute nodes op by op, kernel by kernel, and by the cached plan."""
        order = toposort(roots)
        values = {n: _array(device, n.buffer, n) for n in order if n.buffer is not None}
        # Copies of the values: each stage compares with its own inputs.
        self.compute_alone(device, order, dict(values))
        fused = self.compute_fused(device, roots, order, values)
        self.gradients()
        run.compute_by_plan(device, roots)
        for n in dict.fromkeys(roots):
            if (array := fused.get(n)) is not None and n.nbytes:
                wrong = wrong_elements(_array(device, n.buffer, n), with_loose_bound(array))
                if wrong is not None:
                    self.add("cache", n, wrong, "the cached plan of this graph computes something else")

    # --- one op at a time ---

    def compute_alone(self, device: Gpu, order: list[Node], values: dict[Node, Any]) -> None:
        """Compute each op by itself, from the values before it, and compare."""
        buffers = {n: n.buffer for n in order if n.buffer is not None}
        for n in sorted(order, key=lambda n: n.serial):
            if not has_value(n) or not n.nbytes:
                continue
            opaque = n.inputs[0] if n.op.kind == "output" else None

            def known(x: Node, opaque: Node | None = opaque) -> Node | None:
                return None if x is opaque or x not in buffers else leaf(x, buffers[x])

            copy = copy_graph(n, known)
            kernels: list[Launched] = []
            compute(
                device, [copy], lambda launched, _, kernels=kernels: self._run(launched, kernels), spare=0
            )
            buffers[n] = copy.buffer
            # From here on the device's value is the input of later ops, so an error is reported only where it
            # arises.
            values[n] = _array(device, copy.buffer, n)
            self.report.values += 1
            right = reference(n, lambda x, opaque=opaque: None if x is opaque else values.get(x))
            wrong = wrong_elements(values[n], right)
            if wrong is not None:
                self.add_alone(device, n, wrong, kernels, right, copy_graph(n, known))
        self.values = values

    def _run(self, launched: Launched, kernels: list[Launched]) -> None:
        launched.run_plain()
        kernels.append(launched)
        self.report.kernels.add(launched.shader)

    def add_alone(
        self, device: Gpu, n: Node, wrong: Differing, kernels: list[Launched], right: Any, copy: Node
    ) -> None:
        """Add a wrong op, or a cached pipeline of another kernel."""
        # Without the cache the kernel is compiled again: if it is right now, the cached pipeline was
        # another's.
        pipelines, device.pipelines = device.pipelines, {}
        try:
            compute(device, [copy], lambda launched, _: launched.run_plain(), spare=0)
        finally:
            device.pipelines = pipelines
        is_stale = wrong_elements(_array(device, copy.buffer, n), right) is None
        self.add("cache" if is_stale else "op", n, wrong, STALE if is_stale else "", kernels[-1])

    def is_stale(self, launched: Launched) -> bool:
        """Whether a kernel gives another result when it is compiled again."""
        places = range(len(launched.kernel.inputs), launched.bindings)
        if launched.kernel.over or not places:
            return False
        before = launched.raw(list(places))
        cache, s = launched.device.pipelines, launched.shader
        pipeline = cache.pop(s)
        launched.run_plain()
        after = launched.raw(list(places))
        cache[s] = pipeline
        return before != after

    # --- as they are fused ---

    def compute_fused(
        self, device: Gpu, roots: list[Node], order: list[Node], values: dict[Node, Any]
    ) -> dict[Node, Any]:
        """Compute the graph by its plan, kernel by kernel, and compare the stored values."""
        copies: dict[Node, Node] = {}
        for n in order:
            own = leaf(n, n.buffer) if n.buffer is not None else None
            after = tuple(copies[i] for i in n.after if i in copies)
            copies[n] = own or n.copied(tuple(copies[i] for i in n.inputs), after)
        back = {c: n for n, c in copies.items()}  # copy -> the original node

        def look(launched: Launched, places: list[Node]) -> None:
            self._run(launched, [])
            for index, v in enumerate(launched.kernel.outputs, len(launched.kernel.inputs)):
                # Values that no later kernel writes: parts of a result would be compared too early.
                n = back.get(places[v]) if v < len(places) and v in launched.last else None
                if n is not None and n.nbytes:
                    values[n] = to_numpy(launched.raw([index])[0], n.shape, n.dtype)
                    self._compare_stored(n, values, launched)

        compute(device, [copies[n] for n in roots], look, spare=0)
        return values

    def _compare_stored(self, n: Node, values: dict[Node, Any], launched: Launched) -> None:
        if n.op.kind in ("leaf", "source") and not n.inputs:
            return
        opaque = n.inputs[0] if n.op.kind == "output" else None
        right = reference(n, lambda x: None if x is n or x is opaque else values.get(x))
        wrong = wrong_elements(values[n], right)
        # An op that is wrong alone explains the fused value.
        earlier = {w.serial for w in self.report.wrong if w.stage in ("op", "cache")}
        if wrong is None or not earlier.isdisjoint(x.serial for x in computed_by(n, values)):
            return
        if self.is_stale(launched):
            return self.add("cache", n, wrong, STALE, launched)
        self.add("fusion", n, wrong, f"op by op it is right; fused is {launched.kernel.name}", launched)

    # --- gradients ---

    def gradients(self) -> None:
        """Compare the gradient of each differentiated op with its reference's slope, once per signature."""
        for n in self.lines.differentiated_nodes():
            parents = n.parents
            if n.op.kind in UNMOVED or not (n.nbytes and parents and n.inputs and n.op.grad):
                continue
            # The reference is a function of the inputs: a gradient by other nodes can't be compared with its
            # slope.
            if n.op.name.startswith(OTHERS) or (n.op.kind != "composite" and n.inputs != parents):
                continue
            key = (*n.signature(), *(p.shape for p in parents), *(p.dtype.short for p in parents))
            if key in self.seen or any(p.dtype.is_complex for p in (n, *parents)):
                continue
            self.seen.add(key)
            self.report.gradients += 1
            wrong = wrong_slope(n, {p: np.asarray(self._value(p)) for p in parents}, self._known)
            if wrong is not None:
                self.add("gradient", n, None, str(wrong))

    def _value(self, n: Node) -> Any:
        """A node's value: the device's if it is known, otherwise the reference's from known ones."""
        array = self._known(n)
        return reference(n, self._known).value if array is None else array

    def _known(self, n: Node) -> Any:
        if n not in self.values and n.buffer is not None:
            self.values[n] = _array(n.device, n.buffer, n)
        return self.values.get(n)

    # --- the report ---

    def add(
        self, stage: str, n: Node, wrong: Differing | None, rule: str, launched: Launched | None = None
    ) -> None:
        """Add a row to the report."""
        if len(self.report.wrong) >= MOST:
            return
        while (
            stage != "gradient" and n.op.kind in ("movement", "composite") and n.inputs
        ):  # a view: the value was computed below it
            n = n.inputs[0]
        kernel = launched.kernel.name if launched is not None else ""
        template = launched.shader.template if launched is not None else ""
        row = Wrong(
            stage, op_name_of(n), f"{call_of(n)} -> {describe(n)}", rule, self.lines.get(n),
            self.lines.gradient_of(n), kernel, template, wrong, n.serial,
        )  # fmt: skip
        self.report.wrong.append(row)


def _array(device: Any, buffer: Any, n: Node) -> Any:
    """A value as an array on the host."""
    if device.kind != "gpu":  # a value on the host that the call computes beside the GPU's
        return np.asarray(buffer.array)
    if not n.nbytes:
        return to_numpy(b"", n.shape, n.dtype)
    return to_numpy(device.read([(buffer.handle, n.nbytes)])[0], n.shape, n.dtype)


def wrong_elements(got: Any, right: Known) -> Differing | None:
    """The elements of a value that are out of the reference's bounds."""
    error = 0.0 if right.error is None else right.error
    return differing(got, *(np.broadcast_to(x, got.shape) for x in (right.value, error)))


def computed_by(n: Node, values: dict[Node, Any]) -> Iterator[Node]:
    """The nodes that a stored value is computed from, down to other stored values."""
    return walk_nodes([n], lambda x: (i for i in x.inputs if i not in values))
