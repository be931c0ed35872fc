"""Ops of complex numbers in their real and imaginary parts.

A rule takes values (`Parts`, or tensors where an input is real) and gives one. Formulas are those that
neither overflow nor cancel where the result does not (Kahan, 1987); what is known to be real stays one float.
"""

from collections.abc import Callable
from math import e, log, pi
from typing import Any

from ..core import dtype as dt
from ..core.node import Node
from ..core.shape import Shape, broadcast
from . import integers, segments
from .pair import Pair, Words, applied, gathered

FLAT = 40.0  # from where on tanh is 1, and cosh no infinity
NEAR = 0.5  # of 1: within it log1p says more than log


class Parts(Pair):
    """A complex value; `is_real` where it is known that all imaginary parts are 0."""

    def __init__(
        self,
        dtype: dt.DType,
        shape: Shape,
        words: Words | None = None,
        packed: Any = None,
        real: Any = None,
    ):
        super().__init__(dtype, shape, words, packed)
        self._real = real

    @property
    def is_real(self) -> bool:
        return self._real is not None

    @property
    def words(self) -> Words:
        if not self.has_words:
            self._words = self._real, filled(self._real, 0.0)
        return super().words

    @property
    def re(self) -> Any:
        """The real part."""
        return self._real if self.is_real else self.words[0]

    @property
    def im(self) -> Any:
        """The imaginary part."""
        return self.words[1]

    @property
    def node(self) -> Node:
        return self._real.node if self.is_real else super().node

    def nodes(self) -> list[Node]:
        return [*super().nodes(), *([self._real.node] if self.is_real else [])]

    def of(self, words: Words) -> "Parts":
        return Parts(self.dtype, words[0].shape, words)

    def mapped(self, f: Callable[[Any], Any]) -> "Parts":
        return real(f(self.re)) if self.is_real else self.of((f(self.re), f(self.im)))

    def repacked(self, packed: Any) -> "Parts":
        return Parts(self.dtype, packed.shape[:-1], packed=packed)

    def __neg__(self) -> "Parts":
        return self.mapped(lambda x: -x)

    def __add__(self, other: "Parts") -> "Parts":
        if other.is_real:
            return real(self.re + other.re) if self.is_real else parts(self.re + other.re, self.im)
        return other + self if self.is_real else parts(self.re + other.re, self.im + other.im)

    def __sub__(self, other: "Parts") -> "Parts":
        if other.is_real:
            return real(self.re - other.re) if self.is_real else parts(self.re - other.re, self.im)
        return parts(self.re - other.re, -other.im if self.is_real else self.im - other.im)

    def __mul__(self, other: "Parts") -> "Parts":
        if other.is_real:
            return self.times(other.re)
        if self.is_real:
            return other.times(self.re)
        a, b, c, d = *self.words, *other.words
        return parts(a * c - b * d, a * d + b * c)

    def __truediv__(self, other: "Parts") -> "Parts":
        """By the divisor in units of its larger part: its square is between 1 and 2."""
        if other.is_real:
            return self.mapped(lambda x: x / other.re)
        unit = other.re.abs().maximum(other.im.abs())
        c, d = other.re / unit, other.im / unit
        made = self * parts(c, -d)
        size = (c * c + d * d) * unit
        return made.mapped(lambda x: x / size)

    def times(self, factor: Any) -> "Parts":
        """Times a real number, or a tensor of them."""
        return self.mapped(lambda x: x * factor)


def parts(re: Any, im: Any) -> Parts:
    """A value of its two parts, which broadcast."""
    shape = broadcast(re.shape, im.shape)
    re, im = (x if x.shape == shape else x.expand(*shape) for x in (re, im))
    return Parts(dt.complex64, shape, (re, im))


def real(re: Any) -> Parts:
    """A value without imaginary parts."""
    return Parts(dt.complex64, re.shape, real=re)


def filled(like: Any, value: float) -> Any:
    """A tensor of one value, in the shape of another."""
    return like.new_full(like.shape, value)


def view_as_complex(x: Any) -> Parts:
    """A tensor with both parts side by side in its last dim."""
    return Parts(dt.complex64, x.shape[:-1], packed=x)


def from_constant(node: Node, word: Callable[[int, dt.DType], Any]) -> Parts:
    """A host number, of which `word` gives a part."""
    return parts(word(0, dt.float32), word(1, dt.float32))


def by_i(z: Parts) -> Parts:
    return parts(-z.im, z.re)


def by_minus_i(z: Parts) -> Parts:
    return parts(z.im, -z.re)


def plus(z: Parts, number: float) -> Parts:
    return real(z.re + number) if z.is_real else parts(z.re + number, z.im)


# --- sizes, comparisons, choices ---


def size(z: Parts) -> Any:
    return z.re.abs() if z.is_real else z.re.hypot(z.im)


def conjugate(z: Parts) -> Parts:
    return z if z.is_real else parts(z.re, -z.im)


def equal(a: Parts, b: Parts) -> Any:
    return (a.re == b.re) & (a.im == b.im)


def is_some(z: Parts) -> Any:
    """Whether a number is not 0."""
    return (z.re != 0) | (z.im != 0)


def either(name: str) -> Callable[[Parts], Any]:
    """What holds of a number where it holds of one of its parts."""
    return lambda z: applied(name, z.re) | applied(name, z.im)


def choose(condition: Any, a: Parts, b: Parts) -> Parts:
    if a.is_real and b.is_real:
        return real(condition.where(a.re, b.re))
    return parts(condition.where(a.re, b.re), condition.where(a.im, b.im))


def cast(x: Any, to: dt.DType) -> Any:
    """Real numbers as complex ones, or whether complex ones are not 0."""
    if isinstance(x, Parts):
        return x if to is dt.complex64 else is_some(x)
    x = integers.cast(x, dt.float32) if isinstance(x, Pair) else x
    return real(x if x.dtype is dt.float32 else x.float())


# --- functions ---


def exp(z: Parts) -> Parts:
    if z.is_real:
        return real(z.re.exp())
    grown = z.re.exp()
    return parts(grown * z.im.cos(), grown * z.im.sin())


def expm1(z: Parts) -> Parts:
    half = (z.im * 0.5).sin()
    return parts(z.re.expm1() * z.im.cos() - half * half * 2.0, z.re.exp() * z.im.sin())


def logarithm(z: Parts) -> Parts:
    return parts(size(z).log(), z.im.atan2(z.re))


def log1p(z: Parts) -> Parts:
    near = (z.re * (z.re + 2.0) + z.im * z.im).log1p() * 0.5
    far = (z.re + 1.0).hypot(z.im).log()
    return parts((size(z) < NEAR).where(near, far), z.im.atan2(z.re + 1.0))


def root(z: Parts) -> Parts:
    """By the root of the larger half of the size and the real part; the other part follows from it."""
    large = ((size(z) + z.re.abs()) * 0.5).sqrt()
    small = (large == 0).where(0.0, z.im.abs() / ((large == 0).where(1.0, large) * 2.0))
    left = z.re < 0
    return parts(left.where(small, large), left.where(large, small).copysign(z.im))


def sine(z: Parts) -> Parts:
    return parts(z.re.sin() * z.im.cosh(), z.re.cos() * z.im.sinh())


def cosine(z: Parts) -> Parts:
    return parts(z.re.cos() * z.im.cosh(), -(z.re.sin() * z.im.sinh()))


def hyperbolic_sine(z: Parts) -> Parts:
    return by_minus_i(sine(by_i(z)))


def hyperbolic_tangent(z: Parts) -> Parts:
    """Half of both: 2 sinh x cosh x + 2i sin y cos y over 2 sinh^2 x + 2 cos^2 y, where nothing cancels."""
    x = z.re.clamp(-FLAT, FLAT)
    rise, turn = x.sinh(), z.im.cos()
    below = rise * rise + turn * turn
    return parts(rise * x.cosh() / below, z.im.sin() * turn / below)


def sigmoid(z: Parts) -> Parts:
    return plus(hyperbolic_tangent(z.times(0.5)), 1.0).times(0.5)


def inverse_hyperbolic_sine(z: Parts) -> Parts:
    """Of the right half, where the root does not cancel; the function is odd."""
    side = (z.re < 0).where(-1.0, 1.0)
    w = z.times(side)
    return logarithm(w + root(plus(w * w, 1.0))).times(side)


def inverse_hyperbolic_cosine(z: Parts) -> Parts:
    return logarithm(z + root(plus(z, 1.0)) * root(plus(z, -1.0)))


def inverse_hyperbolic_tangent(z: Parts) -> Parts:
    return (log1p(z) - log1p(-z)).times(0.5)


def inverse_sine(z: Parts) -> Parts:
    return by_minus_i(inverse_hyperbolic_sine(by_i(z)))


def inverse_cosine(z: Parts) -> Parts:
    return plus(-inverse_sine(z), pi / 2)


def power(x: Parts, y: Parts) -> Parts:
    """0 has the powers 1 (of 0) and 0 (of what is above)."""
    found = exp(y * logarithm(x))
    none, first = ~is_some(x), ~is_some(y)
    zero = real((none & (y.re > 0)).where(0.0, found.re * 0.0))
    found = choose(none & (y.re > 0), zero, found)
    return choose(first, real(first.to(dt.float32)), found)


def reciprocal(z: Parts) -> Parts:
    return real(filled(z.re, 1.0)) / z


# --- sums and products ---


def product(z: Parts, dims: tuple[int, ...]) -> Parts:
    """Halves of a dim times each other, until one is left."""
    for d in dims:
        if not z.shape[d]:
            shape = tuple(1 if e == d else n for e, n in enumerate(z.shape))
            return real(z.re.new_full(shape, 1.0))
        while (n := z.shape[d]) > 1:
            half = n // 2
            made = along(z, d, 0, half) * along(z, d, half, half)
            z = made if n % 2 == 0 else joined(made, along(z, d, n - 1, 1), dim=d)
    return z


def cumulative_product(z: Parts, dim: int) -> Parts:
    """Products with what is 1, 2, 4, ... places before, until all before is in."""
    n, step = z.shape[dim], 1
    while step < n:
        made = along(z, dim, step, n - step) * along(z, dim, 0, n - step)
        z, step = joined(along(z, dim, 0, step), made, dim=dim), 2 * step
    return z


def along(z: Parts, dim: int, start: int, count: int) -> Parts:
    """Elements of a dim from one on."""
    return z.mapped(lambda x: x.narrow(dim, start, count))


def joined(*given: Parts, dim: int) -> Parts:
    """One after another along a dim."""
    if all(z.is_packed for z in given):
        return given[0].repacked(applied("_cat", *[z.packed for z in given], dim=dim))
    return parts(*(applied("_cat", *xs, dim=dim) for xs in zip(*[z.words for z in given], strict=True)))


def contraction(a: Parts, b: Parts, **attrs: Any) -> Parts:
    """Four products of reals; two where one operand is real, one where both are."""

    def product_of(x: Any, y: Any) -> Any:
        return applied("_contract", x, y, **attrs)

    if a.is_real:
        return b.mapped(lambda y: product_of(a.re, y))
    if b.is_real:
        return a.mapped(lambda x: product_of(x, b.re))
    return parts(
        product_of(a.re, b.re) - product_of(a.im, b.im), product_of(a.re, b.im) + product_of(a.im, b.re)
    )


def linear(name: str) -> Callable[..., Parts]:
    """An op that adds real numbers up, of each part; of other operands the indices are known to be inside."""

    def rule(z: Parts, *rest: Any, **attrs: Any) -> Parts:
        return z.mapped(lambda x: applied(name, x, *map(integers.index_of, rest), **attrs))

    return rule


def _added(z: Parts, keys: Any, places: Any, src: Parts, join: str) -> Parts:
    keys, places = integers.index_of(keys), integers.index_of(places)
    if join == "prod":
        return segments.product(ARITHMETIC, z, keys, places, src)
    pairs = zip(z.words, src.words, strict=True)
    return parts(*(applied("_scatter_sorted", x, keys, places, s, join=join) for x, s in pairs))


def _gather(z: Parts, index: Any, dim: int) -> Parts:
    return gathered(z, integers.index_of(index), dim)


def _rows_joined(a: Parts, b: Parts) -> Parts:
    return joined(a, b, dim=0)


ARITHMETIC = segments.Arithmetic(Parts.__mul__, choose, along, _rows_joined)

OF_ONE: dict[str, Callable[[Parts], Any]] = {
    "_conj": conjugate,
    "view_as_real": lambda z: z.packed,
    "neg": lambda z: -z,
    "abs": size,
    "square": lambda z: z * z,
    "reciprocal": reciprocal,
    "exp": exp,
    "exp2": lambda z: exp(z.times(log(2))),
    "expm1": expm1,
    "log": logarithm,
    "log2": lambda z: logarithm(z).times(1 / log(2)),
    "log10": lambda z: logarithm(z).times(log(e) / log(10)),
    "log1p": log1p,
    "sqrt": root,
    "rsqrt": lambda z: reciprocal(root(z)),
    "sigmoid": sigmoid,
    "sin": sine,
    "cos": cosine,
    "tan": lambda z: by_minus_i(hyperbolic_tangent(by_i(z))),
    "sinh": hyperbolic_sine,
    "cosh": lambda z: cosine(by_i(z)),
    "tanh": hyperbolic_tangent,
    "asin": inverse_sine,
    "acos": inverse_cosine,
    "atan": lambda z: by_minus_i(inverse_hyperbolic_tangent(by_i(z))),
    "asinh": inverse_hyperbolic_sine,
    "acosh": inverse_hyperbolic_cosine,
    "atanh": inverse_hyperbolic_tangent,
    "isnan": either("isnan"),
    "isinf": either("isinf"),
    "isfinite": lambda z: z.re.isfinite() & z.im.isfinite(),
    "logical_not": lambda z: ~is_some(z),
}
OF_TWO: dict[str, Callable[[Parts, Parts], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": power,
    "eq": equal,
    "ne": lambda x, y: ~equal(x, y),
    "logical_and": lambda x, y: is_some(x) & is_some(y),
    "logical_or": lambda x, y: is_some(x) | is_some(y),
    "logical_xor": lambda x, y: is_some(x) ^ is_some(y),
}
RULES: dict[str, Callable[..., Any]] = {
    **OF_ONE,
    **OF_TWO,
    "_join": parts,
    "view_as_complex": view_as_complex,
    "where": choose,
    "cast": cast,
    "_sum": linear("_sum"),
    "_prod": product,
    "_cumsum": linear("_cumsum"),
    "_cumprod": cumulative_product,
    "_contract": contraction,
    "_fold": linear("_fold"),
    "_cat": joined,
    "_gather": _gather,
    "_back": linear("_back"),
    "_scatter_sorted": _added,
}
