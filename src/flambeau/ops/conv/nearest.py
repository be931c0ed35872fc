"""The inputs that nearest interpolation takes, by PyTorch's arithmetic: its roundings decide between two."""

from array import array
from math import floor

KEPT = 256  # lines that are kept: their places are counted one by one


def _single(values: list[float]) -> array:
    """Numbers rounded to float32."""
    return array("f", values)


def _double(values: list[float]) -> array:
    return array("d", values)


def nearest_places(
    n: int, o: int, factor: float | None, exact: bool, image: bool, wide: bool
) -> tuple[int, ...]:
    """The place of each of o outputs among n inputs.

    factor: outputs an input, where it was given; exact: "nearest-exact", by centres; image: of 4 dims, whose
    sizes that are equal or twice as large are no matter of the factor; wide: of float64.
    """
    if image and not exact and o in (n, 2 * n):
        return tuple(i * n // o for i in range(o))
    rounded = _double if wide and not image else _single
    step = rounded([1 / factor if factor else n / o])[0]
    if exact:
        places = rounded([step * (i + 0.5) for i in range(o)])
        centres = rounded([place - 0.5 for place in places])
        at = _single([max(place, 0.0) + 0.5 for place in centres])
    else:
        at = _single([i * step for i in range(o)])
    return tuple(min(floor(place), n - 1) for place in at)
