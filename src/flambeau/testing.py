"""Checks an op against its reference, as our own ops are checked: values, fusion and gradients."""

from collections.abc import Callable
from typing import Any

from .core import dtype as dt
from .device import DeviceLike, get_device
from .differences import OF_TERMS, TOLERANCES, Differing, differences, distances, slope_of, within
from .runtime.run import read
from .tensor import Tensor, tensor

STEP = 2.0**-10  # the step of the finite differences


def check_op(
    op: Any,
    *arrays: Any,
    device: DeviceLike | None = None,
    tol: float = 3e-6,
    grad: bool | None = None,
    **attrs: Any,
) -> None:
    """Compare an op (or a function of tensors with .xp) with its reference on these arrays.

    Checks the values in one kernel and op by op, and, if the op has a gradient, its slope along a random
    direction against that of the reference in float64. An expression is also checked on arrays of other
    sizes, repeated from these, since its kernels compute one or four elements at a time.

    tol: relative above 1, absolute below. grad: whether to check the slope, by default if the op has a
    gradient. attrs: arguments of the op that are not tensors.
    AssertionError says what differs, by how much and where.
    """
    import numpy as np

    device = get_device(device)
    inputs = [np.asarray(a) for a in arrays]
    want = np.asarray(op.xp(np, *map(_as_float64, inputs), **attrs))
    # the reference in float64, so that its rounding does not count
    xs = [tensor(a, device=device) for a in inputs]
    check_close(op(*xs, **attrs).numpy(), want, tol, f"{op.name}: value")
    if getattr(op, "kind", "") == "elementwise" and want.size:
        _check_sizes(op, inputs, device, tol, attrs)

    def chain(settle: Callable[[Tensor], Tensor]) -> Tensor:
        # elementwise ops before and after, which fuse with the op; `settle` separates the kernels or does
        # nothing
        before = [settle(x * 1.5 - 0.5) if x.dtype.is_float else x for x in xs]
        return settle(settle(op(*before, **attrs)).float() * 0.5) + 1.0

    check_close(chain(lambda t: t).numpy(), chain(Tensor.realize).numpy(), tol, f"{op.name}: fused")
    if op.grad if grad is None else grad:
        _check_slope(op, inputs, device, attrs)


# an element, one at a time, four at a time with and without a rest
SIZES = ((), (3,), (4,), (1023,), (64, 64), (33, 64))


def _check_sizes(op: Any, inputs: list[Any], device: Any, tol: float, attrs: dict[str, Any]) -> None:
    """Compare an elementwise op with its reference on arrays of other sizes, and on columns as rows."""
    import numpy as np

    wide = [np.broadcast_to(a, np.broadcast_shapes(*(b.shape for b in inputs))) for a in inputs]
    for size in SIZES:
        arrays = [np.resize(a, size) for a in wide]
        want = np.asarray(op.xp(np, *map(_as_float64, arrays), **attrs))
        name = f"{op.name}: value of {list(size)}"
        check_close(op(*(tensor(a, device=device) for a in arrays), **attrs).numpy(), want, tol, name)
        if len(size) == 2:
            turned = op(*(tensor(a, device=device).T for a in arrays), **attrs)
            check_close(turned.numpy(), want.T, tol, f"{name} transposed")


def check_close(got: Any, want: Any, tol: float, name: str) -> None:
    """AssertionError unless arrays are equal within tol, integers exactly. NaN equals NaN.

    got, want: the arrays. name: begins the error.
    """
    assert got.shape == want.shape, f"{name}: shape {list(got.shape)}, the reference has {list(want.shape)}"
    is_exact = got.dtype.kind in "iub" and want.dtype.kind in "iub"
    worst = differences(got, want, 0.0 if is_exact else within(tol, 0.0, want, floor=1.0))
    if worst is not None:
        numbers = f"{worst.got} at {list(worst.at)}, the reference has {worst.want}"
        raise AssertionError(f"{name}: {numbers}: more than {0 if is_exact else tol} apart")


def _check_slope(op: Any, inputs: list[Any], device: Any, attrs: dict[str, Any]) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    steps: list[Any] = [rng.normal(size=a.shape) if a.dtype.kind == "f" else None for a in inputs]
    # weights that differ, so that errors of elements do not cancel in the sum
    weights = rng.uniform(0.5, 1.5, np.shape(op.xp(np, *map(_as_float64, inputs), **attrs)))

    # the reference along the random direction, in float64
    def loss_at(t: float) -> float:
        moved = [
            _as_float64(a) if s is None else _as_float64(a) + t * s
            for a, s in zip(inputs, steps, strict=True)
        ]
        return float((op.xp(np, *moved, **attrs) * weights).sum())

    xs = [tensor(a, device=device, requires_grad=a.dtype.kind == "f") for a in inputs]
    loss = (op(*xs, **attrs) * tensor(weights.astype("f4"), device=device)).sum()
    grads = loss.backward()
    pairs = [(grads[x], s) for x, s in zip(xs, steps, strict=True) if s is not None and x in grads]
    raw = read([g for g, _ in pairs])
    parts = [np.frombuffer(b, "f4").reshape(s.shape) for b, (_, s) in zip(raw, pairs, strict=True)]
    # the slope along the direction is the gradient's dot product with it
    gradient = sum(float((g * s).sum()) for g, (_, s) in zip(parts, pairs, strict=True))
    slope = slope_of(loss_at, STEP).value
    scale = max(1.0, *(float(np.abs(g).sum()) for g in parts)) if parts else 1.0
    # the tolerance grows with the sum of |g|, since each element was rounded
    assert abs(gradient - slope) <= OF_TERMS * scale, (
        f"{op.name}: gradient gives slope {gradient}, the reference {slope}"
    )


def _as_float64(a: Any) -> Any:
    return a.astype("f8") if a.dtype.kind == "f" else a


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
) -> None:
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere, and the shapes agree.

    Default tolerances are those of torch.testing: 1.3e-6 and 1e-5 for float32, 1e-3 and 1e-5 for float16,
    0.016 and 1e-5 for bfloat16, 0 for integers. equal_nan: whether NaN equals NaN. The error has the number
    of elements that differ, and the largest absolute and relative difference.
    """
    import numpy as np

    if (rtol is None) != (atol is None):
        raise ValueError("assert_close(): rtol and atol go together: pass both or neither")
    # arrays alone count as float32
    dtypes = [x.dtype for x in (actual, expected) if isinstance(x, Tensor)] or [dt.float32]
    loose = [TOLERANCES[d] for d in dtypes if d in TOLERANCES]
    # of two dtypes, the tolerance of the less precise one
    rtol = max((t.rtol for t in loose), default=0.0) if rtol is None else rtol
    atol = max((t.atol for t in loose), default=0.0) if atol is None else atol
    got, want = (np.asarray(x.numpy() if isinstance(x, Tensor) else x) for x in (actual, expected))
    if got.shape != want.shape:
        raise AssertionError(f"shapes differ: {list(got.shape)} and {list(want.shape)}")
    worst = differences(got, want, within(rtol, atol, want), equal_nan)
    if worst is not None:
        raise AssertionError(_describe(worst, got, want, rtol, atol))


def _describe(worst: Differing, got: Any, want: Any, rtol: float, atol: float) -> str:
    """How many elements differ, and the greatest absolute and relative difference."""
    import numpy as np

    share = 100 * worst.total / worst.where.size
    lines = [f"{worst.total} of {worst.where.size} elements differ ({share:.1f} %)"]
    # where elements agree, no difference counts, although they may be infinite or NaN
    off = np.where(worst.where, distances(got, want, equal_nan=False), 0)
    kind = "c16" if "c" in (got.dtype.kind, want.dtype.kind) else "f8"
    got, want = got.astype(kind), want.astype(kind)
    with np.errstate(all="ignore"):
        sizes = (("absolute", off, atol), ("relative", off / np.abs(want), rtol))
    for word, size, allowed in sizes:
        # an infinite difference is the greatest, NaN counts as none
        worst_index = np.unravel_index(np.argmax(np.nan_to_num(size, nan=0, posinf=np.inf)), size.shape)
        place, pair = [int(i) for i in worst_index], f"{got[worst_index]:.9g}, not {want[worst_index]:.9g}"
        numbers = f"{size[worst_index]:.3g} at {place}: {pair}"
        lines.append(f"greatest {word} difference: {numbers} (allowed: {allowed:g})")
    return "\n".join(lines)
