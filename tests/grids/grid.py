"""What a row of the grids is: an op, how arguments are drawn, torch's function, and how near both must be."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .draw import Draw

Call = tuple[tuple, dict[str, Any]]


@dataclass(frozen=True)
class Grid:
    """One op. `draw` gives the arguments of both calls: arrays become tensors of each library.

    A result may be off by `tol` times the largest magnitude of what is right (torch's in float64), and by a
    few times what torch is off in float32, so that what is badly conditioned is so for both.
    """

    draw: Callable[[Draw], Call]
    theirs: str | Callable = ""  # torch's name where it is another, or a function of (torch, *args, **kwargs)
    ours: Callable | None = None  # in place of the op itself, a function of (*args, **kwargs)
    tol: float = 1e-5  # 84 roundings of float32: sums in another order, functions of a few roundings each
    least: float = 0.1  # results and slopes below it are compared as if they were so large
    slopes: bool = True  # floats are differentiated, unless they are Still
    half: bool = True  # float16 and bfloat16 are given as well
    fixed: int = 2  # cases of each run


def call(*args, **kwargs) -> Call:
    return args, kwargs


class Table(dict[str, Grid]):
    """The rows of a family, by decorators: @table("conv2d", fixed=8)."""

    def __call__(self, *names: str, **options):
        """The draw function that follows draws for all these ops; it is given the name where it takes two."""

        def add(draw):
            takes_name = draw.__code__.co_argcount == 2
            for name in names:
                assert name not in self, name
                self[name] = Grid((lambda d, n=name: draw(d, n)) if takes_name else draw, **options)
            return draw

        return add
