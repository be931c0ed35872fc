"""Compares arrays with a reference within bounds, and has the one table of tolerances by dtype.

Three comparisons differ on purpose. `capture/check.py` compares programs, not values: a replay must compute
the same ones from the same tensors. `autograd.gradcheck` has PyTorch's tolerances, which are arguments.
Tuning compares on the device, where its results are, by the table here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from .core import dtype as dt

Array = Any  # of NumPy


class Tolerance(NamedTuple):
    """How far results of a dtype may be off, each for one kind of comparison."""

    unit: float  # a rounding: half of a step at 1
    least: float  # magnitudes up to it may be flushed to 0
    top: float  # from it on a device may overflow
    rtol: float  # torch.testing's, of two implementations of one function
    atol: float
    # of the largest magnitude, of two kernels for one value: Winograd's transforms and matrix units round
    # products that are larger than the result
    variant: float


TOLERANCES = {
    dt.float32: Tolerance(2.0**-24, 2.0**-125, 3.4e38, 1.3e-6, 1e-5, 1e-3),
    dt.float16: Tolerance(2.0**-11, 2.0**-24, 65504.0, 1e-3, 1e-5, 2e-2),
    dt.bfloat16: Tolerance(2.0**-8, 2.0**-125, 3.38e38, 1.6e-2, 1e-5, 1e-1),
}
OF_LARGEST = 1e-4  # of the largest magnitude, in float32, where no bound of the error is known
OF_TERMS = 2e-4  # of the sum of a slope's terms' magnitudes, for gradients in float32


class Differing(NamedTuple):
    """The elements that are out of bounds: a mask of them, and the worst in units of its bound.

    at: its indices; got, want, bound: its numbers.
    """

    where: Array
    at: tuple[int, ...]
    got: Any
    want: Any
    bound: float

    @property
    def total(self) -> int:
        return int(self.where.sum())

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.at))}]"
        numbers = f"{self.got!r} at {place}, not {self.want!r} within {self.bound:.1e}"
        return f"{numbers} ({self.total:,} of {self.where.size:,} elements)"


def differences(got: Array, want: Array, bounds: Array, equal_nan: bool = True) -> Differing | None:
    """The elements of `got` that are farther than their bounds from those of `want`; None if there are none.

    All have one shape; bounds may be a number. An infinite or NaN bound allows everything. Infinities equal
    themselves, and NaN equals NaN with equal_nan.
    """
    import numpy as np

    off = distances(got, want, equal_nan)
    where = off > bounds
    if not where.any():
        return None
    bounds = np.broadcast_to(np.asarray(bounds, "f8"), off.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        units = np.where(where, off / np.maximum(bounds, 1e-300), -1.0)
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(units)), off.shape))
    return Differing(where, worst, got[worst].item(), want[worst].item(), float(bounds[worst]))


def distances(got: Array, want: Array, equal_nan: bool = True) -> Array:
    """|got - want| in float64; 0 where they are equal, infinite where only one is NaN or infinite."""
    import numpy as np

    if got.dtype.kind == "c" or want.dtype.kind == "c":
        parts = (distances(f(got), f(want), equal_nan) for f in (np.real, np.imag))
        return np.hypot(*parts)
    if got.dtype.kind in "iub" and want.dtype.kind in "iub":  # float64 does not hold all of them
        is_equal, least = got.astype("i8") == want.astype("i8"), 1.0
    else:
        is_equal, least = got == want, 0.0
        if equal_nan:
            is_equal = is_equal | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(got.astype("f8") - want.astype("f8"))
    return np.where(is_equal, 0.0, np.where(np.isnan(off), np.inf, np.maximum(off, least)))


def within(rtol: float, atol: float, want: Array, floor: float = 0.0) -> Array:
    """Bounds atol + rtol * max(|want|, floor); where want is not finite only its equal is within them."""
    import numpy as np

    size = np.abs(np.where(np.isfinite(want), want, 0))
    return np.where(np.isfinite(want), atol + rtol * np.maximum(size, floor), 0.0)


def of_largest(want: Array, share: float = OF_LARGEST) -> Array:
    """One bound for all finite elements, by the largest of them; integers are exact."""
    import numpy as np

    if want.dtype.kind not in "fc":
        return np.zeros(want.shape)
    largest = np.max(np.abs(np.where(np.isfinite(want), want, 0)), initial=1e-3)
    return within(0.0, share * float(largest), want)


class Slope(NamedTuple):
    """A directional derivative."""

    value: float
    change: float  # from the value by an eight times larger step
    bend: float  # 0 for a smooth function, and the jump of the slope, seven times, at a corner


def slope_of(loss: Callable[[float], float], step: float, centre: float | None = None) -> Slope:
    """The slope of loss(t) at 0 by central differences of two steps; NaN or infinite where loss is.

    centre: loss(0), if it is known.
    """
    centre = loss(0.0) if centre is None else centre
    (left, right), (near_left, near_right) = (
        ((centre - loss(-h)) / h, (loss(h) - centre) / h) for h in (step, step / 8)
    )
    value = (near_left + near_right) / 2
    # a smooth function's second difference is eight times smaller at the small step; a corner's is as large
    bend = abs(8 * (near_right - near_left) - (right - left))
    return Slope(value, abs((left + right) / 2 - value), bend)
