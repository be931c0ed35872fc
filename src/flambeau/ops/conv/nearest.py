"""The input indices of nearest interpolation by PyTorch's arithmetic, whose rounding decides between
neighbours."""

from __future__ import annotations

from array import array
from math import floor

KEPT = 256  # results in the cache: the indices of a dim are computed one by one


def _single(values: list[float]) -> array[float]:
    """Numbers rounded to float32."""
    return array("f", values)


def _double(values: list[float]) -> array[float]:
    return array("d", values)


def nearest_places(
    n: int, o: int, factor: float | None, exact: bool, image: bool, wide: bool
) -> tuple[int, ...]:
    """The index among n inputs for each of o outputs.

    factor: outputs per input, if given; exact: "nearest-exact", by centres; image: the input has 4 dims,
    where PyTorch ignores the factor if the size is the same or twice as large; wide: the input is float64.
    """
    if image and not exact and o in (n, 2 * n):
        return tuple(i * n // o for i in range(o))
    rounded = _double if wide and not image else _single
    step = rounded([1 / factor if factor else n / o])[0]
    if exact:
        places = rounded([step * (i + 0.5) for i in range(o)])
        centres = rounded([place - 0.5 for place in places])
        centres_32 = _single([max(place, 0.0) + 0.5 for place in centres])
    else:
        centres_32 = _single([i * step for i in range(o)])
    return tuple(min(floor(place), n - 1) for place in centres_32)
