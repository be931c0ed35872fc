"""Computes ops of complex numbers in their real and imaginary parts.

A rule takes values (`Parts`, or tensors for real inputs) and returns one. The formulas neither overflow nor
cancel unless the result does (Kahan, "Branch cuts for complex elementary functions", 1987). A value that is
known to be real stays one float.
"""

from collections.abc import Callable
from math import e, log, pi
from typing import Any

from ..core import dtype as dt
from ..core.node import Node
from ..core.shape import Shape, broadcast
from . import integers, segments
from .pair import Pair, Words, call_op, gather

FLAT = 40.0  # |x| above which tanh is 1 in float32; sinh(40)^2 is still finite
NEAR = 0.5  # |z| below which log1p keeps digits of log(1 + z) that log loses


class Parts(Pair):
    """A complex value. is_real: all imaginary parts are known to be 0."""

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
            self._words = self._real, fill_like(self._real, 0.0)
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

    def map_words(self, f: Callable[[Any], Any]) -> "Parts":
        return real(f(self.re)) if self.is_real else self.of((f(self.re), f(self.im)))

    def with_packed(self, packed: Any) -> "Parts":
        return Parts(self.dtype, packed.shape[:-1], packed=packed)

    def __neg__(self) -> "Parts":
        return self.map_words(lambda x: -x)

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
        """Division with the divisor scaled by its larger part, so that its square is between 1 and 2."""
        if other.is_real:
            return self.map_words(lambda x: x / other.re)
        unit = other.re.abs().maximum(other.im.abs())
        c, d = other.re / unit, other.im / unit
        product = self * parts(c, -d)
        size = (c * c + d * d) * unit
        return product.map_words(lambda x: x / size)

    def times(self, factor: Any) -> "Parts":
        """Times a real number, or a tensor of them."""
        return self.map_words(lambda x: x * factor)


def parts(re: Any, im: Any) -> Parts:
    """A value of its two parts, which broadcast."""
    shape = broadcast(re.shape, im.shape)
    re, im = (x if x.shape == shape else x.expand(*shape) for x in (re, im))
    return Parts(dt.complex64, shape, (re, im))


def real(re: Any) -> Parts:
    """A value without imaginary parts."""
    return Parts(dt.complex64, re.shape, real=re)


def fill_like(like: Any, value: float) -> Any:
    """A tensor of one value in the shape and on the device of another. A host number has no device:
    `new_full` would take the default one."""
    return integers.full(like.shape, value, like.dtype, like.node.device)


def view_as_complex(x: Any) -> Parts:
    """A tensor with both parts side by side in its last dim."""
    return Parts(dt.complex64, x.shape[:-1], packed=x)


def from_constant(node: Node, word: Callable[[int, dt.DType], Any]) -> Parts:
    """A host number: word(i, dtype) is a tensor of its i-th part."""
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
    """Whether each number is nonzero."""
    return (z.re != 0) | (z.im != 0)


def either(name: str) -> Callable[[Parts], Any]:
    """A test that is true if it is true for one of the parts."""
    return lambda z: call_op(name, z.re) | call_op(name, z.im)


def choose(condition: Any, a: Parts, b: Parts) -> Parts:
    if a.is_real and b.is_real:
        return real(condition.where(a.re, b.re))
    return parts(condition.where(a.re, b.re), condition.where(a.im, b.im))


def cast(x: Any, to: dt.DType) -> Any:
    """Cast real numbers to complex ones; complex ones to bool (nonzero)."""
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
    # cos y - 1 = -2 sin(y / 2)^2 does not cancel for small y.
    half = (z.im * 0.5).sin()
    return parts(z.re.expm1() * z.im.cos() - half * half * 2.0, z.re.exp() * z.im.sin())


def logarithm(z: Parts) -> Parts:
    return parts(size(z).log(), z.im.atan2(z.re))


def log1p(z: Parts) -> Parts:
    # |1 + z|^2 - 1 = x (x + 2) + y^2
    near = (z.re * (z.re + 2.0) + z.im * z.im).log1p() * 0.5
    far = (z.re + 1.0).hypot(z.im).log()
    return parts((size(z) < NEAR).where(near, far), z.im.atan2(z.re + 1.0))


def root(z: Parts) -> Parts:
    """sqrt((|z| + |re|) / 2) is the larger part, which does not cancel; the other is |im| / (2 larger)."""
    large = ((size(z) + z.re.abs()) * 0.5).sqrt()
    small = (large == 0).where(0.0, z.im.abs() / ((large == 0).where(1.0, large) * 2.0))
    left = z.re < 0  # the larger part is the imaginary one there
    return parts(left.where(small, large), left.where(large, small).copysign(z.im))


def sine(z: Parts) -> Parts:
    return parts(z.re.sin() * z.im.cosh(), z.re.cos() * z.im.sinh())


def cosine(z: Parts) -> Parts:
    return parts(z.re.cos() * z.im.cosh(), -(z.re.sin() * z.im.sinh()))


def hyperbolic_sine(z: Parts) -> Parts:
    return by_minus_i(sine(by_i(z)))


def hyperbolic_tangent(z: Parts) -> Parts:
    """tanh(x + iy) = (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y), where nothing cancels."""
    x = z.re.clamp(-FLAT, FLAT)
    rise, turn = x.sinh(), z.im.cos()
    below = rise * rise + turn * turn
    return parts(rise * x.cosh() / below, z.im.sin() * turn / below)


def sigmoid(z: Parts) -> Parts:
    return plus(hyperbolic_tangent(z.times(0.5)), 1.0).times(0.5)


def inverse_hyperbolic_sine(z: Parts) -> Parts:
    """Computed for the right half plane, where the root does not cancel; the function is odd."""
    side = (z.re < 0).where(-1.0, 1.0)
    w = z.times(side)
    return logarithm(w + root(plus(w * w, 1.0))).times(side)


def inverse_hyperbolic_cosine(z: Parts) -> Parts:
    # Two roots, not root(z^2 - 1): that one has the wrong branch in the left half plane.
    return logarithm(z + root(plus(z, 1.0)) * root(plus(z, -1.0)))


def inverse_hyperbolic_tangent(z: Parts) -> Parts:
    return (log1p(z) - log1p(-z)).times(0.5)


def inverse_sine(z: Parts) -> Parts:
    return by_minus_i(inverse_hyperbolic_sine(by_i(z)))


def inverse_cosine(z: Parts) -> Parts:
    return plus(-inverse_sine(z), pi / 2)


def power(x: Parts, y: Parts) -> Parts:
    """exp(y log x). 0 to the power 0 is 1, and 0 to a power with a positive real part is 0."""
    result = exp(y * logarithm(x))
    none, first = ~is_some(x), ~is_some(y)
    zero = real((none & (y.re > 0)).where(0.0, result.re * 0.0))
    result = choose(none & (y.re > 0), zero, result)
    return choose(first, real(first.to(dt.float32)), result)


def reciprocal(z: Parts) -> Parts:
    return real(fill_like(z.re, 1.0)) / z


# --- sums and products ---


def product(z: Parts, dims: tuple[int, ...]) -> Parts:
    """The product over dims: halves of a dim are multiplied until one element is left."""
    for d in dims:
        if not z.shape[d]:
            shape = tuple(1 if e == d else n for e, n in enumerate(z.shape))
            return real(integers.full(shape, 1.0, z.re.dtype, z.re.node.device))
        while (n := z.shape[d]) > 1:
            half = n // 2
            products = along(z, d, 0, half) * along(z, d, half, half)
            z = products if n % 2 == 0 else concatenate(products, along(z, d, n - 1, 1), dim=d)
    return z


def cumulative_product(z: Parts, dim: int) -> Parts:
    """Running products: in turns, each element times the one 1, 2, 4, ... before it."""
    n, step = z.shape[dim], 1
    while step < n:
        products = along(z, dim, step, n - step) * along(z, dim, 0, n - step)
        z, step = concatenate(along(z, dim, 0, step), products, dim=dim), 2 * step
    return z


def along(z: Parts, dim: int, start: int, count: int) -> Parts:
    """`count` elements of a dim from `start` on."""
    return z.map_words(lambda x: x.narrow(dim, start, count))


def concatenate(*values: Parts, dim: int) -> Parts:
    """Concatenate values along a dim."""
    if all(z.is_packed for z in values):  # one copy instead of two
        return values[0].with_packed(call_op("_cat", *[z.packed for z in values], dim=dim))
    return parts(*(call_op("_cat", *xs, dim=dim) for xs in zip(*[z.words for z in values], strict=True)))


def contraction(a: Parts, b: Parts, **attrs: Any) -> Parts:
    """Four products of reals; two where one operand is real, one where both are."""

    def product_of(x: Any, y: Any) -> Any:
        return call_op("_contract", x, y, **attrs)

    if a.is_real:
        return b.map_words(lambda y: product_of(a.re, y))
    if b.is_real:
        return a.map_words(lambda x: product_of(x, b.re))
    return parts(
        product_of(a.re, b.re) - product_of(a.im, b.im), product_of(a.re, b.im) + product_of(a.im, b.re)
    )


def linear(name: str) -> Callable[..., Parts]:
    """A linear op, applied to each part. Further operands are indices that are known to be in range."""

    def rule(z: Parts, *rest: Any, **attrs: Any) -> Parts:
        return z.map_words(lambda x: call_op(name, x, *map(integers.index_of, rest), **attrs))

    return rule


def _scatter(z: Parts, keys: Any, places: Any, src: Parts, join: str) -> Parts:
    keys, places = integers.index_of(keys), integers.index_of(places)
    if join == "prod":
        return segments.product(ARITHMETIC, z, keys, places, src)
    pairs = zip(z.words, src.words, strict=True)
    return parts(*(call_op("_scatter_sorted", x, keys, places, s, join=join) for x, s in pairs))


def _gather(z: Parts, index: Any, dim: int) -> Parts:
    return gather(z, integers.index_of(index), dim)


def _join_rows(a: Parts, b: Parts) -> Parts:
    return concatenate(a, b, dim=0)


ARITHMETIC = segments.Arithmetic(Parts.__mul__, choose, along, _join_rows)

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
    "_cat": concatenate,
    "_gather": _gather,
    "_back": linear("_back"),
    "_scatter_sorted": _scatter,
}
