"""Converts the attributes of sliding windows (Conv, pools) to one Window for each spatial dim."""

from math import prod
from typing import Any, NamedTuple

from ...core.shape import Window


class WindowAttributes(NamedTuple):
    """The window attributes of Conv and pools, under ONNX's names; `pads` has all begins, then all ends."""

    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    dilations: list[int] | None = None
    kernel_shape: list[int] | None = None
    pads: list[int] | None = None
    strides: list[int] | None = None


# limits of a channel's elements and a dim's positions: more means a damaged or malicious file
LARGEST = 1 << 31


def check_count(count: int, subject: str, most: int = LARGEST) -> int:
    """ValueError for a count above the limit."""
    if count > most:
        raise ValueError(f"{subject} would be {count:,}: at most {most:,} are supported")
    return count


def spread(values: list[int] | None, rank: int, default: int, name: str) -> list[int]:
    """Return a number for each spatial dim; ValueError for another count."""
    numbers = [default] * rank if not values else [int(v) for v in values]
    if len(numbers) != rank:
        raise ValueError(f"{name} {numbers} is for {len(numbers)} dims: the input has {rank} spatial dims")
    return numbers


def pairs_of(pads: list[int] | None, rank: int) -> list[tuple[int, int]]:
    """Return pads as (before, after) for each dim; ValueError for another count."""
    numbers = spread(pads, 2 * rank, 0, "pads")
    return list(zip(numbers[:rank], numbers[rank:], strict=True))


def _automatic(n: int, span: int, stride: int, lower: bool) -> tuple[int, int]:
    """Pads that give ceil(n / stride) positions; an odd one comes after, or before if `lower`."""
    # SAME: as many positions as ceil(n / stride), whatever the kernel is
    total = max((-(-n // stride) - 1) * stride + span - n, 0)
    smaller = total // 2
    return (total - smaller, smaller) if lower else (smaller, total - smaller)


def _grow(n: int, w: Window) -> Window:
    """With ceil_mode: extend the padding at the end for the last window that starts inside."""
    span = w.dilation * (w.kernel - 1) + 1
    last = -(-(n + w.before + w.after - span) // w.stride)
    # a window that would start in the padding at the end is left out
    last -= last * w.stride >= n + w.before
    return w._replace(after=max(w.after, last * w.stride + span - n - w.before))


def windows_of(size: tuple[int, ...], kernel: list[int], a: WindowAttributes) -> tuple[Window, ...]:
    """One Window for each spatial dim, without the padding of ceil_mode (see `grow_windows`); ValueError for
    invalid attributes."""
    rank = len(size)
    if a.auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise ValueError(f"auto_pad {a.auto_pad!r} is unknown: use NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    kernel = spread(kernel, rank, 1, "kernel_shape")
    strides, dilations = spread(a.strides, rank, 1, "strides"), spread(a.dilations, rank, 1, "dilations")
    if min(*kernel, *strides, *dilations, 1) < 1:
        raise ValueError(
            f"kernel_shape {kernel}, strides {strides}, dilations {dilations}: all must be above 0"
        )
    pads = pairs_of(a.pads if a.auto_pad == "NOTSET" else None, rank)
    if min((p for pair in pads for p in pair), default=0) < 0:
        raise ValueError(f"pads {list(a.pads or ())}: none may be below 0")
    check_count(prod(n + sum(p) for n, p in zip(size, pads, strict=True)), "the elements of a padded channel")
    if a.auto_pad.startswith("SAME"):
        each = zip(size, kernel, strides, dilations, strict=True)
        pads = [_automatic(n, d * (k - 1) + 1, s, a.auto_pad == "SAME_LOWER") for n, k, s, d in each]
    rows = zip(kernel, strides, dilations, pads, strict=True)
    return tuple(Window(k, s, d, before, after) for k, s, d, (before, after) in rows)


def grow_windows(size: tuple[int, ...], windows: tuple[Window, ...], ceil_mode: int) -> tuple[Window, ...]:
    """Return the windows with the padding of ceil_mode."""
    return tuple(_grow(n, w) for n, w in zip(size, windows, strict=True)) if ceil_mode else windows


def pad_input(x: Any, windows: tuple[Window, ...]) -> tuple[Any, list[int]]:
    """Pad x with zeros in dims whose two pads differ; also returns the remaining, symmetric pads."""
    # F.conv takes one pad for both ends: the surplus of either side is a Pad before it
    left = [min(w.before, w.after) for w in windows]
    rest = [(w.before - p, w.after - p) for w, p in zip(windows, left, strict=True)]
    return (pad_ends(x, rest), left)


def pad_ends(x: Any, ends: list[tuple[int, int]], value: float = 0) -> Any:
    """Padded by (before, after) of each of the last dims; negative numbers cut."""
    flat = [n for pair in reversed(ends) for n in pair]
    return x.pad(flat, value=value) if any(flat) else x
