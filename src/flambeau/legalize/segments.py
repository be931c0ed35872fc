"""Products of the rows that go to one destination, of values that no kernel joins: 64-bit integers, complex
numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .pair import applied, gathered


class Arithmetic(NamedTuple):
    """What a kind of pairs can do: a product, a choice, elements of a dim from one on, and joined parts."""

    multiply: Callable[[Any, Any], Any]
    choose: Callable[[Any, Any, Any], Any]
    part: Callable[[Any, int, int, int], Any]
    joined: Callable[[Any, Any], Any]


def product(of: Arithmetic, x: Any, keys: Any, places: Any, src: Any) -> Any:
    """Rows of src multiplied to rows of x; keys are the destinations sorted, by `places`.

    Each row is joined with that 1, 2, 4, ... before, where this goes to the same destination: the last of
    those that do has all of them.
    """

    def rows(found: Any, at: Any) -> Any:
        return gathered(found, at.unsqueeze(1).expand(at.shape[0], src.shape[1]), 0)

    made, n, step = rows(src, places), src.shape[0], 1
    while step < n:
        early, late = of.part(made, 0, 0, n - step), of.part(made, 0, step, n - step)
        same = (keys.narrow(0, step, n - step) == keys.narrow(0, 0, n - step)).unsqueeze(1)
        late = of.choose(same.expand(*late.shape), of.multiply(early, late), late)
        made, step = of.joined(of.part(made, 0, 0, step), late), 2 * step
    last = applied("_last", keys, n=x.shape[0])
    hit = (last >= 0).unsqueeze(1).expand(*x.shape)
    return of.choose(hit, of.multiply(x, rows(made, last.clamp(min=0))), x)
