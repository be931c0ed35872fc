"""Finds an expression of N for the values of a number at all batch sizes. It is exact at each size.

An expression is a number, [a, b] for a N + b, [a, b, c, m] for m floor((a N + b) / c), or a table
{"N": number, ...}.
"""

from math import gcd
from typing import Any

from ..core.tree import is_dict

DIVISORS = [2**i for i in range(1, 21)]  # c: sizes of workgroups, tiles and vector reads


def fit(batches: list[int], values: list[int]) -> Any:
    """Return the shortest expression with these `values` at ascending `batches`; a table if no other fits."""
    first = values[0]  # most numbers do not depend on the batch
    if all(v == first for v in values):
        return first
    return affine(batches, values) or fit_floor(batches, values) or dict(zip(map(str, batches), values))


def affine(batches: list[int], values: list[int]) -> list[int] | None:
    """Return [a, b] if every value is a N + b, else None."""
    # The ends determine a and b; the other batch sizes must agree.
    a, remainder = divmod(values[-1] - values[0], batches[-1] - batches[0])
    b = values[0] - a * batches[0]
    return None if remainder or any(a * n + b != v for n, v in zip(batches, values)) else [a, b]


def fit_floor(batches: list[int], values: list[int]) -> list[int] | None:
    """Return [a, b, c, m] if every value is m floor((a N + b) / c), else None. Grids have this form."""
    m = gcd(*values)
    steps = [v // m for v in values]
    slope = (steps[-1] - steps[0]) / (batches[-1] - batches[0])
    for c in DIVISORS:
        near = round(slope * c)  # a / c is the slope, up to rounding at both ends
        # Few batch sizes leave several a for a large c: all are tried, unless they are many.
        spread = c // (batches[-1] - batches[0]) + 1
        for a in range(max(near - spread, 1), near + spread + 1) if spread <= 8 else (near,):
            # floor((a N + b) / c) == v for every N: b lies between these two
            low = max(c * v - a * n for n, v in zip(batches, steps))
            high = min(c * v - a * n for n, v in zip(batches, steps)) + c - 1
            if low <= high:
                # b = c - 1 rounds up, the usual form of a grid: prefer it, so that the expression is
                # readable.
                return [a, c - 1 if low <= c - 1 <= high else high, c, m]
    return None


def value_of(expression: Any, n: int) -> int:
    """Return the value of an expression at batch size n."""
    if isinstance(expression, int):
        return expression
    if is_dict(expression):
        return expression[str(n)]
    a, b, *divided = expression
    if not divided:
        return a * n + b
    c, m = divided
    return (a * n + b) // c * m
