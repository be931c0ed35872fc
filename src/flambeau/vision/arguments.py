"""Checks the arguments of transforms and converts them to the numbers that the kernels take."""

from typing import Any

from ..core.tree import is_row

INTERPOLATIONS = ("nearest", "bilinear")


def numbers_of(value: Any) -> tuple[Any, ...]:
    """Convert a list or a number to a tuple."""
    return tuple(value) if is_row(value) else (value,)


def check_number(kind: type, name: str, value: Any, low: float, high: float) -> float:
    """ValueError unless the number is from low to high."""
    if not low <= value <= high:
        raise ValueError(f"{kind.__name__}({name}={value!r}): must be a number from {low} to {high}")
    return value


def pair_of(kind: type, name: str, value: Any) -> tuple[int, int]:
    """(height, width) from two integers, or from one for both."""
    sizes = numbers_of(value)
    sizes = sizes * 2 if len(sizes) == 1 else sizes
    if len(sizes) != 2 or not all(isinstance(v, int) and v > 0 for v in sizes):
        raise ValueError(f"{kind.__name__}({name}={value!r}): must be one or two positive integers")
    return sizes[0], sizes[1]


def range_of(kind: type, name: str, value: Any) -> tuple[float, float]:
    """(low, high) above 0."""
    if not is_row(value) or len(value) != 2 or not 0 < value[0] <= value[1]:
        raise ValueError(f"{kind.__name__}({name}={value!r}): must be (low, high), positive and in order")
    return value[0], value[1]


def symmetric(kind: type, name: str, value: Any, counts: tuple[int, ...] = (2,)) -> tuple[float, ...]:
    """(-number, number) from one number, or (low, high) pairs; `counts` are the valid lengths."""
    bounds: tuple[float, ...] = numbers_of(value) if is_row(value) else (-value, value)
    if len(bounds) not in counts or any(a > b for a, b in zip(bounds[::2], bounds[1::2], strict=False)):
        rule = f"must be a number of at least 0, or {' or '.join(map(str, counts))} numbers in order"
        raise ValueError(f"{kind.__name__}({name}={value!r}): {rule}")
    return bounds


def interpolation_of(kind: type, value: Any) -> str:
    """ "nearest" or "bilinear", also from torchvision's enum, whose values these are."""
    name = str(getattr(value, "value", value))
    if name not in INTERPOLATIONS:
        rule = f"use one of {', '.join(INTERPOLATIONS)}"
        raise ValueError(f"{kind.__name__}(interpolation={value!r}): unknown: {rule}")
    return name


def by_channel(owner: Any, name: str, value: Any, channels: int) -> tuple[float, ...]:
    """One number for each channel; a single number is repeated."""
    numbers = tuple(float(v) for v in numbers_of(value))
    if len(numbers) not in (1, channels):
        cure = "pass 1 number" if channels == 1 else f"pass 1 or {channels} numbers"
        rule = f"the images have {channels} channel{'s' * (channels > 1)}: {cure}"
        raise ValueError(f"{type(owner).__name__}({name}={value!r}): {rule}")
    return numbers if len(numbers) == channels else numbers * channels


def fill_of(owner: Any, value: Any, images: Any) -> tuple[float, ...]:
    """Return the fill value outside an image, for each channel."""
    return by_channel(owner, "fill", value, images.channels)
