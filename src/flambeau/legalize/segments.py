"""Multiplies rows that scatter to one destination, for pairs, whose products no scatter kernel computes."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .pair import call_op, gather


class Arithmetic(NamedTuple):
    """The operations of a class of pairs: product, selection, a slice of a dim, concatenation."""

    multiply: Callable[[Any, Any], Any]
    choose: Callable[[Any, Any, Any], Any]
    part: Callable[[Any, int, int, int], Any]
    concatenate: Callable[[Any, Any], Any]


def product(of: Arithmetic, x: Any, keys: Any, places: Any, src: Any) -> Any:
    """x with its rows multiplied by rows of src; keys are the destinations sorted, by `places`.

    Each row is concatenate with that 1, 2, 4, ... before, where this goes to the same destination: the last
    of those that do has all of them.
    """

    def rows(table: Any, positions: Any) -> Any:
        return gather(table, positions.unsqueeze(1).expand(positions.shape[0], src.shape[1]), 0)

    products, n, step = rows(src, places), src.shape[0], 1
    while step < n:
        early, late = of.part(products, 0, 0, n - step), of.part(products, 0, step, n - step)
        # Keys are sorted, so equal keys `step` apart have equal keys between them.
        same = (keys.narrow(0, step, n - step) == keys.narrow(0, 0, n - step)).unsqueeze(1)
        late = of.choose(same.expand(*late.shape), of.multiply(early, late), late)
        products, step = of.concatenate(of.part(products, 0, 0, step), late), 2 * step
    # The place of the last row of each destination in `keys`; -1 for destinations without a row.
    last = call_op("_last", keys, n=x.shape[0])
    hit = (last >= 0).unsqueeze(1).expand(*x.shape)
    return of.choose(hit, of.multiply(x, rows(products, last.clamp(min=0))), x)
