"""PyTorch's in-place methods: `x.op_(...)` gives x the value of `x.op(...)`, and so do `x += y` and its kind.

Nothing is computed where it lies: x gets a new node (runtime/writes.py tells its views), and a kernel writes
over the old value where nobody else needs it.
"""

import builtins
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..core import dtype as dt
from ..core.node import describe
from ..core.op import COMPOSED, NOT_COMPLEX, TAKES, Family, Op
from ..core.spelling import explain
from ..errors import TypeError, ValueError
from .distribution import (
    cauchy,
    chance,
    digits_of,
    exponential,
    geometric,
    log_normal,
    rand,
    randn,
    spread,
    uniform_between,
    whole_numbers,
)

# op_ for each: what keeps the shape of its first tensor
NAMES = (
    "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr arccos arccosh arcsin "
    "arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh baddbmm bitwise_and "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max "
    "clamp_min clip conj_physical copysign cos cosh cumprod cumsum deg2rad digamma div divide eq erf erfc "
    "erfinv exp exp2 expm1 fix float_power floor floor_divide fmod frac gcd ge greater greater_equal gt "
    "heaviside hypot i0 igamma igammac index_add index_copy index_fill index_put index_reduce lcm ldexp le "
    "lerp less less_equal lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logit "
    "lt "
    "masked_fill masked_scatter mul multiply mvlgamma nan_to_num ne neg negative nextafter not_equal "
    "polygamma pow put rad2deg reciprocal relu remainder renorm round rsqrt scatter scatter_add "
    "scatter_reduce sgn sigmoid sign sin sinc sinh sqrt square sub subtract tan tanh tril triu "
    "true_divide trunc xlogy"
)

SHAPES = ("squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")  # a tensor gets another shape

OPERATORS = {  # Python's: the method whose value it gives
    "__iadd__": "__add__",
    "__isub__": "__sub__",
    "__imul__": "__mul__",
    "__itruediv__": "__truediv__",
    "__ifloordiv__": "__floordiv__",
    "__imod__": "__mod__",
    "__ipow__": "__pow__",
    "__iand__": "__and__",
    "__ior__": "__or__",
    "__ixor__": "__xor__",
    "__ilshift__": "__lshift__",
    "__irshift__": "__rshift__",
}
_SIGNS = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")
SYMBOLS = dict(zip(OPERATORS.values(), _SIGNS, strict=True))


def write(x: Any, value: Any, name: str, base: str) -> Any:
    """Give a tensor the value of an op in place; ValueError and TypeError where it is of another kind."""
    call = f"{name}({describe(x)})"
    instead = f"use x = x {SYMBOLS[base]} y" if base in SYMBOLS else f"use x = x.{base}(...)"
    if value.shape != x.shape:
        raise ValueError(
            f"{call}: the result has shape {list(value.shape)}, and a tensor keeps its own: {instead}"
        )
    if value.dtype.category > x.dtype.category:
        raise TypeError(
            f"{call}: the result is {value.dtype.short}, and a tensor keeps its dtype: {instead},"
            " or cast x first"
        )
    return x.replace_(value)


def _in_place(name: str, base: str) -> Callable[..., Any]:
    """The method that gives a tensor the value of another of its methods."""

    def method(self: Any, *args: Any, **kw: Any) -> Any:
        self._check_write()
        made = getattr(self, base)(*args, **kw)
        return made if made is NotImplemented else write(self, made, name, base)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Gives the tensor the value of {base}(...), and returns it."
    return method


def _in_shape(name: str, base: str) -> Callable[..., Any]:
    """The method that has a tensor show its elements as another of its methods does."""

    def method(self: Any, *args: Any, **kw: Any) -> Any:
        self._check_write()
        return self._show_as(getattr(self, base)(*args, **kw), name)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        f"Gives the tensor the shape of {base}(...), and returns it; ValueError where it has views."
    )
    return method


ENDS = {"from": "low", "to": "high"}  # PyTorch's names, of which Python allows one in a call by ** alone


def _drawing(kinds: str) -> Callable[..., Any]:
    """Declare a method that gives a tensor, of a dtype of these kinds, the values that its body draws."""

    def declare(draw: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(draw)
        def method(self: Any, *args: Any, **kw: Any) -> Any:
            self._check_write()
            kw = {ENDS.get(k, k): v for k, v in kw.items()}
            try:
                if self.dtype.kind not in kinds:
                    raise TypeError(TAKES.get(kinds, NOT_COMPLEX))
                return self.replace_(draw(self, *args, **kw).to(self.dtype))
            except (builtins.ValueError, builtins.TypeError) as e:
                raise explain(e, draw.__name__, (self, *args), kw) from None

        return method

    return declare


class InPlace(Family):
    def fill_(self, value):
        """Gives every element one value (a number, or a tensor of one); returns the tensor."""
        one = value.expand(*self.shape) if hasattr(value, "node") else None
        made = type(self).full(self.shape, value, self.dtype, self.device) if one is None else one
        return self.replace_(made.to(self.dtype))

    def zero_(self):
        """Gives every element 0; returns the tensor."""
        return self.fill_(0)

    def copy_(self, src, non_blocking: bool = False):
        """Gives the tensor the values of src, which is broadcast, cast and moved; returns the tensor.

        non_blocking: taken, and of no meaning: nothing here waits for a copy.
        """
        src = src if hasattr(src, "node") else self.new_tensor(src)
        return self.replace_(src.to(self.device).to(self.dtype).expand(*self.shape))

    def fill_diagonal_(self, fill_value: float, wrap: bool = False):
        """Gives the elements at equal places of all dims fill_value; returns the tensor. [n, m]

        wrap: of a tall matrix, go on below as if there were rows of the same width again. ValueError where it
        is no matrix and its dims differ.
        """
        if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
            raise ValueError(f"fill_diagonal_({describe(self)}): takes a matrix, or dims of one size")
        step = sum(self.numel() // max(self._total(d), 1) for d in range(1, self.ndim + 1))
        rows, width = self.shape[0], self.shape[1]
        end = self.numel() if wrap or self.ndim > 2 or rows <= width else width * width
        flat = self.reshape(-1).slice_assign(slice(0, end, step), fill_value)
        return self.replace_(flat.reshape(*self.shape))

    def _total(self, dims: int) -> int:
        total = 1
        for n in self.shape[:dims]:
            total *= n
        return total

    @_drawing("fc")
    def uniform_(self, low: float = 0.0, high: float = 1.0, *, generator=None):
        """Draws every element evenly in [low, high), which PyTorch names from and to; returns the tensor.

        ValueError where low is above high, or the dtype does not hold them; TypeError for integers.
        """
        parts = [
            uniform_between(low, high, self.shape, self.dtype.real, self.device, generator)
            for _ in range(1 + self.is_complex())
        ]
        return COMPOSED["complex"](*parts) if self.is_complex() else parts[0]

    @_drawing("fc")
    def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator=None):
        """Draws every element from a normal distribution of this mean and std; returns the tensor.

        ValueError where std is negative; TypeError for integers.
        """
        dtype = self.dtype if self.is_complex() else dt.float32
        drawn = randn(self.shape, device=self.device, generator=generator, dtype=dtype)
        return drawn * spread(std) + mean

    @_drawing("f")
    def log_normal_(self, mean: float = 1.0, std: float = 2.0, *, generator=None):
        """Draws every element as exp of what normal_(mean, std) draws; returns the tensor.

        ValueError where std is not above 0; TypeError for integers.
        """
        return log_normal(self.shape, mean, std, device=self.device, generator=generator)

    @_drawing("f")
    def exponential_(self, lambd: float = 1.0, *, generator=None):
        """Draws every element from an exponential distribution of rate lambd; returns the tensor.

        ValueError where lambd is not above 0; TypeError for integers.
        """
        return exponential(self.shape, lambd, device=self.device, generator=generator)

    @_drawing("f")
    def cauchy_(self, median: float = 0.0, sigma: float = 1.0, *, generator=None):
        """Draws every element from a Cauchy distribution around median, sigma wide; returns the tensor.

        ValueError where sigma is not above 0; TypeError for integers.
        """
        return cauchy(self.shape, median, sigma, device=self.device, generator=generator)

    @_drawing("fiu")
    def geometric_(self, p: float, *, generator=None):
        """Draws every element as the tries up to the first success of chance p; returns the tensor.

        ValueError where p is not inside 0 to 1.
        """
        return geometric(self.shape, p, device=self.device, generator=generator)

    @_drawing("fiub")
    def bernoulli_(self, p=0.5, *, generator=None):
        """Draws every element as 1 with chance p, a number or a tensor, else as 0; returns self.

        ValueError for what is no probability; of a tensor's elements at the next read.
        """
        return rand(self.shape, device=self.device, generator=generator, dtype=dt.float32) < chance(p)

    @_drawing("fiub")
    def random_(self, low: int | None = None, high: Any = ..., *, generator=None):
        """Draws every element as a whole number from low to high - 1, which PyTorch names from and to;
        returns the tensor.

        One number counts as high, and low is 0; high=None: up to the largest of the dtype; without any, too,
        and of floats up to where all whole numbers are held. ValueError where low is not below high.
        """
        digits = 1 << digits_of(self.dtype) if self.dtype.is_float else 0
        most = digits or (1 if self.dtype is dt.bool_ else dt.iinfo(self.dtype).max)
        if high is ...:
            low, high = 0, low
        low, high = low or 0, most + 1 if high is None else high
        return whole_numbers(low, high, self.shape, self.dtype, self.device, generator)


METHODS = {f"{base}_": base for base in NAMES.split()} | OPERATORS
SHAPED = {f"{base}_": base for base in SHAPES}
for _name, _base in METHODS.items():
    setattr(InPlace, _name, _in_place(_name, _base))
for _name, _base in SHAPED.items():
    setattr(InPlace, _name, _in_shape(_name, _base))


def sign(table: type) -> None:
    """Give each method the signature of what it gives the value of, as `help` and the stubs show it."""
    for name, base in (METHODS | SHAPED).items():
        entry = getattr(table, base)
        if isinstance(entry, Op):
            entry = entry.prepare or (_one if len(entry.operand_names) == 1 else _two)
        vars(vars(InPlace)[name])["__wrapped__"] = entry


def _one(self): ...


def _two(self, other): ...
