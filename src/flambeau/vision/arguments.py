"""Arguments of transforms into what the kernels take, or into an error that says the rule."""

from collections.abc import Sequence
from typing import Any

INTERPOLATIONS = ("nearest", "bilinear")


def checked(kind: type, name: str, value: Any, low: float, high: float) -> float:
    """A number from low to high."""
    if not low <= value <= high:
        raise ValueError(f"{kind.__name__}({name}={value!r}): it is a number from {low} to {high}")
    return value


def pair_of(kind: type, name: str, value: Any) -> tuple[int, int]:
    """(height, width) from two whole numbers, or from one for both."""
    given = tuple(value) if isinstance(value, Sequence) else (value,)
    given = given * 2 if len(given) == 1 else given
    if len(given) != 2 or not all(isinstance(v, int) and v > 0 for v in given):
        raise ValueError(f"{kind.__name__}({name}={value!r}): it is one or two whole numbers above 0")
    return given


def range_of(kind: type, name: str, value: Any) -> tuple[float, float]:
    """(low, high) above 0."""
    if not isinstance(value, Sequence) or len(value) != 2 or not 0 < value[0] <= value[1]:
        raise ValueError(f"{kind.__name__}({name}={value!r}): it is (low, high), above 0 and in order")
    return value[0], value[1]


def symmetric(kind: type, name: str, value: Any, counts: tuple[int, ...] = (2,)) -> tuple[float, ...]:
    """A number as (-number, number), or as many as it may be, in order by twos."""
    given = tuple(value) if isinstance(value, Sequence) else (-value, value)
    if len(given) not in counts or any(a > b for a, b in zip(given[::2], given[1::2], strict=False)):
        rule = f"it is a number from 0 on, or {' or '.join(map(str, counts))} in order"
        raise ValueError(f"{kind.__name__}({name}={value!r}): {rule}")
    return given


def interpolation_of(kind: type, value: Any) -> str:
    """nearest or bilinear; torchvision's own enum has these as values."""
    name = str(getattr(value, "value", value))
    if name not in INTERPOLATIONS:
        rule = f"use one of {', '.join(INTERPOLATIONS)}"
        raise ValueError(f"{kind.__name__}(interpolation={value!r}): unknown: {rule}")
    return name


def by_channel(owner: Any, name: str, value: Any, channels: int) -> tuple[float, ...]:
    """A number for each channel, from as many or from one for all."""
    given = [float(v) for v in value] if isinstance(value, Sequence) else [float(value)]
    if len(given) not in (1, channels):
        cure = "give 1 number" if channels == 1 else f"give 1 or {channels} numbers"
        rule = f"the images have {channels} channel{'s' * (channels > 1)}: {cure}"
        raise ValueError(f"{type(owner).__name__}({name}={value!r}): {rule}")
    return tuple(given if len(given) == channels else given * channels)


def fill_of(owner: Any, value: Any, images: Any) -> tuple[float, ...]:
    """What lies outside, by channel."""
    return by_channel(owner, "fill", value, images.channels)
