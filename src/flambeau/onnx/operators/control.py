"""If, Loop and Scan."""

from typing import Any

from ...core.dtype import DTYPES
from ...core.tree import is_list
from ...device import Device
from ...functions import stack, zeros
from ...tensor import Tensor
from ..graph import GraphDef, ValueDef
from ..values import device_for, host
from .table import operator


@operator("If", moves=False, numbers="condition")
def if_else(condition: Any, *, then_branch: GraphDef, else_branch: GraphDef, node: Any) -> tuple[Any, ...]:
    chosen = then_branch if truth(condition) else else_branch
    return tuple(node.run(chosen))


def truth(value: Any) -> bool:
    """Return the bool of a condition of one element."""
    while is_list(value):
        if len(value) != 1:
            raise ValueError(f"the condition has {len(value)} elements: it takes one")
        value = value[0]
    return bool(value)


@operator("Loop", moves=False, optional=True, numbers=("count", "condition"))
def loop(count: Any, condition: Any, *states: Any, body: GraphDef, node: Any) -> tuple[Any, ...]:
    """Run a loop at most `count` times while the condition holds; returns states and stacked outputs."""
    # without a count and a condition a loop never ends, as the spec says
    most = None if count is None else count if isinstance(count, int) else count[0]
    goes_on = True if condition is None else truth(condition)
    rows: list[list[Any]] = []
    values, k = list(states), 0
    while goes_on and (most is None or k < most):
        # body: (iteration, condition, states...) -> (condition, states..., values to stack...)
        held, *results = node.run(body, host(k), host(True, "bool"), *values)
        values, scanned = results[: len(values)], results[len(values) :]
        rows.append(scanned)
        goes_on, k = truth(held.tolist()), k + 1
    scan_outputs = body.outputs[1 + len(states) :]
    return *values, *[
        stack_runs([row[j] for row in rows], v, node.device) for j, v in enumerate(scan_outputs)
    ]


def stack_runs(parts: list[Tensor], wanted: ValueDef, device: Device, axis: int = 0) -> Any:
    """Stack the values of each iteration along a new axis."""
    # No iteration: an empty stack needs the declared sizes and dtype; unknown sizes count as 0.
    if parts:
        return stack(together(parts, device), axis)
    sizes = [n if isinstance(n, int) else 0 for n in wanted.shape or ()]
    dtype = DTYPES[wanted.dtype or "float32"]
    return zeros(*sizes[:axis], 0, *sizes[axis:], dtype=dtype, device=device_for(dtype, device))


def together(parts: list[Tensor], device: Device) -> list[Tensor]:
    """Move tensors to one device."""
    if len({id(p.device) for p in parts}) > 1:
        return [p.to(device) for p in parts]
    return parts


@operator("Scan", moves=False, optional=True)
def scan_of_batches(
    lengths: Any, *inputs: Any, body: GraphDef, num_scan_inputs: int, directions: Any = None, node: Any
) -> tuple[Any, ...]:
    """Scan before opset 9: the first axis is a batch, the second is scanned."""
    if lengths is not None:
        raise ValueError("sequence_lens: sequences of different lengths are not supported: use opset 9")
    how: dict[str, Any] = {"scan_input_directions": directions} if directions else {}
    each = [
        scan(*[v[b] for v in inputs], body=body, num_scan_inputs=num_scan_inputs, node=node, **how)
        for b in range(inputs[0].shape[0])
    ]
    return tuple(stack(list(parts)) for parts in zip(*each))


@operator("Scan", since=9, moves=False)
def scan(*inputs: Any, body: GraphDef, num_scan_inputs: int, node: Any, **how: Any) -> tuple[Any, ...]:
    """Return the states after all steps, and the stacked outputs of each step; how: axes and directions."""
    # body: (states..., elements...) -> (states..., outputs...)
    states, scanned = list(inputs[: len(inputs) - num_scan_inputs]), inputs[len(inputs) - num_scan_inputs :]
    scan_outputs = body.outputs[len(states) :]
    axes, backward, out_axes, out_backward = directions_of(how, len(scanned), len(scan_outputs))
    lengths = {x.shape[a] for x, a in zip(scanned, axes)}
    if len(lengths) != 1:
        raise ValueError(f"the scanned axes have sizes {sorted(lengths)}: they must be equal")
    rows: list[list[Any]] = []
    n = lengths.pop()
    for k in range(n):
        now = [x.select(a, n - 1 - k if back else k) for x, a, back in zip(scanned, axes, backward)]
        results = node.run(body, *states, *now)
        states, kept = results[: len(states)], results[len(states) :]
        rows.append(kept)
    parts = [[row[j] for row in rows] for j in range(len(scan_outputs))]
    ordered = [list(reversed(p)) if back else p for p, back in zip(parts, out_backward)]
    outputs = zip(ordered, scan_outputs, out_axes)
    return *states, *[stack_runs(p, v, node.device, _axis(a, p, v)) for p, v, a in outputs]


def _axis(axis: int, parts: list[Tensor], wanted: ValueDef) -> int:
    ndim = parts[0].ndim if parts else len(wanted.shape or ())
    # negative axes count in the stacked result, which has one dim more
    return axis + ndim + 1 if axis < 0 else axis


def directions_of(how: dict[str, Any], inputs: int, outputs: int) -> tuple[Any, ...]:
    """Axes and directions of scanned inputs and outputs; TypeError for other attributes."""
    known = {
        "scan_input_axes": inputs,
        "scan_input_directions": inputs,
        "scan_output_axes": outputs,
        "scan_output_directions": outputs,
    }
    unknown = sorted(how.keys() - known.keys())
    if unknown:
        raise TypeError(f"has no attribute {unknown[0]!r}")
    return tuple(how.get(name) or (0,) * count for name, count in known.items())
