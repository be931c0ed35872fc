"""Checks of an op against its reference: values, fusion and gradients, as our own ops are checked."""

from collections.abc import Callable
from typing import Any

from .device import get_device
from .runtime.readback import read
from .tensor import Tensor, tensor

STEP = 1e-3


def check_op(op: Any, *arrays: Any, device: Any = None, tol: float = 3e-6, grad: bool | None = None, **attrs):
    """Compare an op (or a function of tensors with .xp) with its reference on these arrays.

    Values in one kernel and op by op, and, where it has a gradient, the slope along a random direction
    against the reference's, in float64. tol is relative above 1 and absolute below. grad: whether slopes are
    compared; attrs: arguments of the op that are no tensors. AssertionError says what differs, by how much
    and where.
    """
    import numpy as np

    device = get_device(device)
    given = [np.asarray(a) for a in arrays]
    want = np.asarray(op.xp(np, *map(_wide, given), **attrs))
    xs = [tensor(a, device=device) for a in given]
    check_close(op(*xs, **attrs).numpy(), want, tol, f"{op.name}: value")

    def chain(settle: Callable) -> Tensor:
        before = [settle(x * 1.5 - 0.5) if x.dtype.is_float else x for x in xs]
        return settle(settle(op(*before, **attrs)).float() * 0.5) + 1.0

    check_close(chain(lambda t: t).numpy(), chain(Tensor.realize).numpy(), tol, f"{op.name}: fused")
    if op.grad if grad is None else grad:
        _check_slope(op, given, device, attrs)


def check_close(got: Any, want: Any, tol: float, what: str) -> None:
    """AssertionError unless arrays are equal within tol; NaN equals NaN.

    got: what is looked at; want: what it should be; what: a name for it, with which the error begins.
    """
    import numpy as np

    assert got.shape == want.shape, f"{what}: shape {list(got.shape)}, the reference has {list(want.shape)}"
    off = np.abs(_wide(got) - _wide(want)) / np.maximum(1, np.abs(_wide(want)))
    off = np.where((got == want) | ((got != got) & (want != want)), 0, off)
    if off.size and not off.max() <= tol:
        at = np.unravel_index(np.argmax(off), off.shape)
        place = [int(i) for i in at]
        raise AssertionError(
            f"{what}: {got[at]} at {place}, the reference has {want[at]}: more than {tol} apart"
        )


def _check_slope(op: Any, given: list, device: Any, attrs: dict) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    steps = [rng.normal(size=a.shape) if a.dtype.kind == "f" else None for a in given]
    weights = rng.uniform(0.5, 1.5, np.shape(op.xp(np, *map(_wide, given), **attrs)))

    def at(t: float) -> float:
        moved = [_wide(a) if s is None else _wide(a) + t * s for a, s in zip(given, steps, strict=True)]
        return float((op.xp(np, *moved, **attrs) * weights).sum())

    xs = [tensor(a, device=device, requires_grad=a.dtype.kind == "f") for a in given]
    loss = (op(*xs, **attrs) * tensor(weights.astype("f4"), device=device)).sum()
    grads = loss.backward()
    known = [(grads[x], s) for x, s in zip(xs, steps, strict=True) if s is not None and x in grads]
    raw = read([g for g, _ in known])
    parts = [np.frombuffer(b, "f4").reshape(s.shape) for b, (_, s) in zip(raw, known, strict=True)]
    found = sum(float((g * s).sum()) for g, (_, s) in zip(parts, known, strict=True))
    slope = (at(-2 * STEP) - 8 * at(-STEP) + 8 * at(STEP) - at(2 * STEP)) / (12 * STEP)
    scale = max(1.0, *(float(np.abs(g).sum()) for g in parts)) if parts else 1.0
    assert abs(found - slope) <= 2e-4 * scale, (
        f"{op.name}: gradient gives slope {found}, the reference {slope}"
    )


def _wide(a: Any) -> Any:
    return a.astype("f8") if a.dtype.kind == "f" else a


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
) -> None:
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere, of one shape.

    Without tolerances they are torch.testing's: 1.3e-6 and 1e-5 for float32, 1e-3 and 1e-5 for float16,
    0.016 and 1e-5 for bfloat16, 0 for integers. equal_nan: NaNs equal each other. The
    error counts the elements that differ and says where they do so most, absolutely and relatively.
    """
    import numpy as np

    if (rtol is None) != (atol is None):
        raise ValueError("assert_close(): rtol and atol come together: give both or neither")
    names = [x.dtype.name for x in (actual, expected) if isinstance(x, Tensor)]
    loose = [TOLERANCES.get(name, (0.0, 0.0)) for name in names] or [TOLERANCES["float32"]]
    relative, absolute = map(max, zip(*loose))
    relative, absolute = relative if rtol is None else rtol, absolute if atol is None else atol
    got, want = (np.asarray(x.numpy() if isinstance(x, Tensor) else x) for x in (actual, expected))
    if got.shape != want.shape:
        raise AssertionError(f"shapes differ: {list(got.shape)} and {list(want.shape)}")
    got, want = got.astype("f8"), want.astype("f8")
    bad = ~np.isclose(got, want, relative, absolute, equal_nan)
    if bad.any():
        raise AssertionError(_difference(got, want, bad, relative, absolute))


TOLERANCES = {"float32": (1.3e-6, 1e-5), "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5)}


def _difference(got, want, bad, rtol: float, atol: float) -> str:
    import numpy as np

    lines = [f"{bad.sum()} of {bad.size} elements differ ({100 * bad.sum() / bad.size:.1f} %)"]
    with np.errstate(all="ignore"):
        away = np.where(bad, np.abs(got - want), 0)
        for word, by, most in (("absolute", away, atol), ("relative", away / np.abs(want), rtol)):
            at = np.unravel_index(np.argmax(np.nan_to_num(by, nan=np.inf, posinf=np.inf)), by.shape)
            place = list(map(int, at))
            lines.append(
                f"greatest {word} difference: {by[at]:.3g} at {place}: {got[at]:.9g}, not {want[at]:.9g}"
                f" (allowed: {most:g})"
            )
    return "\n".join(lines)
