"""Elementwise ops: one row each here, one macro of the same name in wgsl/lib/elementwise.wgsl."""

from math import log, pi, sqrt
from typing import Any

from ..core import dtype as dt
from ..core.declare import composite, kernel
from ..core.op import UNORDERED, Family, Op, check_held

SIGNED = "bools have no signs or differences: use ~ or ^, or cast with .int()"  # PyTorch refuses them too


def float_dtype(*dtypes):
    """Integers compute as the default floats."""
    return dt.promote(*dtypes).float_of()


def _number(*dtypes):
    """Bools compute as the default integer."""
    found = dt.promote(*dtypes)
    return found if found.kind != "b" else dt.default_integer()


def _ordered(*dtypes):
    """Bools are compared as int32."""
    found = dt.promote(*dtypes)
    return found if found.kind != "b" else dt.int32


def _bool(*_, **__):
    return dt.bool_


def _reference(xp_rule):
    """`"exp"` becomes lambda xp, x: xp.exp(x)."""
    if callable(xp_rule):
        return xp_rule
    return lambda xp, *arrays: getattr(xp, xp_rule)(*arrays)


ANY = "fiubc"
ONE, TWO = ("input",), ("input", "other")


def elementwise(grad, xp, doc, dtype=dt.promote, cost=1, dtypes="fiub", names=(), **rules) -> Op:
    """A row: gradient, reference, meaning, dtype of the result, the kinds that it takes, the operands' names;
    and of `Op` the operands' dtypes (where they differ from the result's), `refusal` and `holomorphic`."""
    names = names or (ONE if grad and grad.__code__.co_argcount == 3 else TWO)  # grad: (g, y, *operands)
    rules = {"dtype": dtype, "operands": dtype, "dtypes": dtypes, "operand_names": names} | rules
    return Op("elementwise", xp=_reference(xp), grad=grad, doc=doc, cost=cost, **rules)


def analytic(grad, xp, doc, cost) -> Op:
    """A function of floats and of complex numbers."""
    return elementwise(grad, xp, doc, float_dtype, cost, dtypes=ANY)


def bitwise(xp, doc, dtypes="iub", names=TWO) -> Op:
    return elementwise(None, xp, doc, dtypes=dtypes, names=names)


def compare(xp, doc, operands=dt.promote, names=TWO, dtypes=ANY) -> Op:
    return elementwise(None, xp, doc, _bool, operands=operands, names=names, dtypes=dtypes)


def order(xp, doc) -> Op:
    return elementwise(None, xp, doc, _bool, operands=_ordered, refusal=UNORDERED)


def _power(xp, x, y):
    """NumPy refuses negative powers of integers; only 1 and -1 have any that are not 0."""
    if xp.kind(x) == "f" and xp.is_numpy:
        x = xp.astype(x, "float64")  # NumPy's own powers of float32 are a step off
    if xp.kind(x) in "fc" or xp.all(y >= 0):
        return xp.pow(x, y)
    odd = xp.where(y % 2 == 1, x, 1)
    return xp.where(y >= 0, xp.pow(x, xp.abs(y)), xp.where(xp.abs(x) == 1, odd, 0))


def _power_grad(g, z, x, y):
    """By the exponent there is none at 0, but for powers below 0. No factor is infinite where another is 0:
    each may be differentiated again."""
    none = y == 0
    flat = (x == 0) & ((y.real if y.dtype.is_complex else y) >= 0)
    return [
        none.where(0.0, g) * (y * x ** (none.where(1.0, y) - 1)),
        flat.where(0.0, g) * (z * flat.where(1.0, x).log()),
    ]


def _shift(op, rest):
    """Counts outside 0 to 31 (of 64 bits 63) push every bit out: what is left is `rest`, 0 or all sign, as in
    PyTorch."""

    def reference(xp, x, y):
        inside = (y >= 0) & (y < (64 if xp.name_of(x).endswith("64") else 32))
        return xp.where(inside, getattr(xp, op)(x, xp.astype(xp.where(inside, y, 0), x.dtype)), rest(xp, x))

    return reference


def scaled(x, alpha, name: str = "alpha"):
    """alpha * x, where alpha is not 1; integers take whole ones only, as in PyTorch."""
    if isinstance(alpha, float) and not getattr(x, "dtype", dt.float32).has_gradients:
        raise TypeError(f"{name} of integers must be whole: cast the tensors with .float(), or round {name}")
    return x if isinstance(alpha, int | float) and alpha == 1 else x * alpha


def _remainder(xp, x, y):
    """What is left of floats has the sign of x where it is 0, as in PyTorch."""
    r = xp.fmod(x, y) if xp.kind(x) == "f" else xp.remainder(x, y)
    return xp.where((r != 0) & ((r < 0) != (y < 0)), r + y, r) if xp.kind(x) == "f" else r


def _atan2_grad(g, z, x, y):
    """None at the origin, which has every angle."""
    size = x * x + y * y
    none = size == 0
    share = none.where(0.0, g) / none.where(1.0, size)
    return [share * y, -share * x]


def _shared(g, x, y, x_loses, y_loses):
    """Gradients of an extreme of two: half for each of equals; beside a NaN both have it."""
    half = (x == y).where(g * 0.5, g)
    return [x_loses.where(0.0, half), y_loses.where(0.0, half)]


def fitted(value, dtype):
    """A number, or a tensor, as it is put among elements of a dtype: integers take whole parts and stay what
    they are, as in PyTorch."""
    if hasattr(value, "node"):
        return value.to(dtype)
    if dtype.has_gradients or not isinstance(value, int | float):
        return value
    if value - value != 0:
        raise ValueError(f"{dtype.name} has no {value}: cast the tensor with .float()")
    return bool(value) if dtype is dt.bool_ else int(value)


def _nothing(g, x):
    return type(g).zeros(x.shape, dtype=g.dtype, device=g.device) if x.requires_grad else None


def _steps_grad(g, y, x):
    """What has steps alone has the slope 0, also where g is infinite or no number."""
    return [_nothing(g, x)]


def _steps_grad_of_two(g, z, x, y):
    return [_nothing(g, x), _nothing(g, y)]


@composite(grad=lambda g, y, value, *others: [None, *(_nothing(g, x) for x in others)])
def _covered(value, *others):
    """A value that others do not change, made where they were: gradients by them are 0, as PyTorch's."""
    return value


covered = _covered


def _copysign_grad(g, z, x, y):
    return [g * (z.signbit() == x.signbit()).where(1.0, -1.0) * (x != 0), _nothing(g, y)]


def _next_float(xp, x, y):
    wide = "float64" if "float64" in (xp.name_of(x), xp.name_of(y)) else "float32"
    return xp.nextafter(xp.astype(x, wide), xp.astype(y, wide))


def as_float(x):
    """x in float32; in its own dtype where that is float64 or complex."""
    wide = x.dtype.as_float
    return x if x.dtype is wide else x.to(wide)


class Elementwise(Family):
    exp = analytic(lambda g, y, x: [g * y], "exp", "e to the power x", 4)
    exp2 = analytic(lambda g, y, x: [g * y * log(2)], "exp2", "2 to the power x", 4)
    expm1 = analytic(lambda g, y, x: [g * (y + 1)], "expm1", "exp(x) - 1, exact near 0", 8)
    log = analytic(lambda g, y, x: [g / x], "log", "natural logarithm", 4)
    log2 = analytic(lambda g, y, x: [g / (x * log(2))], "log2", "logarithm to base 2", 4)
    log10 = analytic(lambda g, y, x: [g / (x * log(10))], "log10", "logarithm to base 10", 4)
    log1p = analytic(lambda g, y, x: [g / (x + 1)], "log1p", "log(1 + x), exact near 0", 8)
    sqrt = analytic(lambda g, y, x: [g / (y * 2)], "sqrt", "square root", 2)
    rsqrt = analytic(lambda g, y, x: [g * y * y * y * -0.5], lambda xp, x: 1 / xp.sqrt(x), "1 / sqrt(x)", 2)
    reciprocal = analytic(lambda g, y, x: [-g * y * y], lambda xp, x: 1 / x, "1 / x", 2)
    sin = analytic(lambda g, y, x: [g * x.cos()], "sin", "sine of x radians", 4)
    cos = analytic(lambda g, y, x: [-g * x.sin()], "cos", "cosine of x radians", 4)
    tan = analytic(lambda g, y, x: [g * (y * y + 1)], "tan", "tangent of x radians", 4)
    asin = analytic(lambda g, y, x: [g / (1 - x * x).sqrt()], "asin", "inverse sine", 8)
    acos = analytic(lambda g, y, x: [-g / (1 - x * x).sqrt()], "acos", "inverse cosine", 8)
    atan = analytic(lambda g, y, x: [g / (x * x + 1)], "atan", "inverse tangent", 8)
    sinh = analytic(lambda g, y, x: [g * x.cosh()], "sinh", "hyperbolic sine", 8)
    cosh = analytic(lambda g, y, x: [g * x.sinh()], "cosh", "hyperbolic cosine", 8)
    tanh = analytic(lambda g, y, x: [g * (1 - y * y)], "tanh", "hyperbolic tangent", 4)
    asinh = analytic(lambda g, y, x: [g / (x * x + 1).sqrt()], "asinh", "inverse of sinh", 8)
    acosh = analytic(lambda g, y, x: [g / ((x - 1).sqrt() * (x + 1).sqrt())], "acosh", "inverse of cosh", 8)
    atanh = analytic(lambda g, y, x: [g / (1 - x * x)], "atanh", "inverse of tanh", 8)
    erf = elementwise(
        lambda g, y, x: [g * (-x * x).exp() * (2 / sqrt(pi))], "erf", "error function", float_dtype, 8
    )
    sigmoid = analytic(
        lambda g, y, x: [g * y * (1 - y)], lambda xp, x: 1 / (1 + xp.exp(-x)), "1 / (1 + exp(-x))", 4
    )
    neg = elementwise(lambda g, y, x: [-g], "negative", "-x", dtypes="fiuc", refusal=SIGNED)
    abs = elementwise(
        lambda g, y, x: [g * x.sgn()],
        "abs",
        "absolute value",
        lambda d: d.real,
        operands=dt.promote,
        dtypes=ANY,
        holomorphic=False,
    )
    sign = elementwise(
        _steps_grad,
        lambda xp, x: xp.astype(xp.astype(x > 0, "int8") - xp.astype(x < 0, "int8"), x.dtype),
        "-1, 0 or 1; 0 for NaN",
    )
    floor = elementwise(_steps_grad, "floor", "largest integer not above x")
    ceil = elementwise(_steps_grad, "ceil", "smallest integer not below x")
    trunc = elementwise(_steps_grad, "trunc", "integer part, towards 0")
    relu = elementwise(
        lambda g, y, x: [(y <= 0).where(0.0, g)],
        lambda xp, x: xp.where(x < 0, xp.zeros_like(x), x),
        "max(x, 0)",
        _number,
    )
    square = elementwise(lambda g, y, x: [g * x * 2], "square", "x * x", _number, dtypes=ANY)

    isnan = compare("isnan", "whether x is not a number", float_dtype, ONE)
    isinf = compare("isinf", "whether x is infinite", float_dtype, ONE)
    isfinite = compare("isfinite", "whether x is neither infinite nor not a number", float_dtype, ONE)
    logical_not = compare("logical_not", "whether x is 0", _bool, ONE)

    mul = elementwise(lambda g, z, x, y: [g * y, g * x], "multiply", "x * y", dtypes=ANY)
    maximum = elementwise(
        lambda g, z, x, y: _shared(g, x, y, x < y, y < x),
        "maximum",
        "the larger of x and y; NaN if either is",
        refusal=UNORDERED,
    )
    minimum = elementwise(
        lambda g, z, x, y: _shared(g, x, y, y < x, x < y),
        "minimum",
        "the smaller of x and y; NaN if either is",
        refusal=UNORDERED,
    )
    remainder = elementwise(
        lambda g, z, x, y: [g, -g * x.floor_divide(y).detach()],
        _remainder,
        "x - floor(x / y) * y: the sign is y's",
        _number,
        4,
    )
    fmod = elementwise(
        lambda g, z, x, y: [g, -g * (x / y).trunc().detach()],
        "fmod",
        "x - trunc(x / y) * y: the sign is x's",
        _number,
        4,
    )
    floor_divide = elementwise(_steps_grad_of_two, "floor_divide", "floor(x / y)", _number, 4)
    atan2 = elementwise(
        _atan2_grad,
        "atan2",
        "angle of the point (y, x), radians",
        float_dtype,
        8,
    )

    eq = compare("equal", "whether x = y")
    ne = compare("not_equal", "whether x and y differ")
    lt = order("less", "whether x < y")
    le = order("less_equal", "whether x <= y")
    gt = order("greater", "whether x > y")
    ge = order("greater_equal", "whether x >= y")
    logical_and = compare("logical_and", "whether both are not 0", _bool)
    logical_or = compare("logical_or", "whether either is not 0", _bool)
    logical_xor = compare("logical_xor", "whether just one is not 0", _bool)
    bitwise_and = bitwise("bitwise_and", "bits set in both")
    bitwise_or = bitwise("bitwise_or", "bits set in either")
    bitwise_xor = bitwise("bitwise_xor", "bits set in just one")
    bitwise_not = bitwise("bitwise_not", "bits flipped", names=ONE)
    bitwise_left_shift = bitwise(
        _shift("bitwise_left_shift", lambda xp, x: 0), "x * 2^y, bits shifted up", "iu"
    )
    bitwise_right_shift = bitwise(
        _shift("bitwise_right_shift", lambda xp, x: xp.astype(xp.where(x < 0, -1, 0), x.dtype)),
        "bits shifted down (sign kept)",
        "iu",
    )

    copysign = elementwise(_copysign_grad, "copysign", "|x| with the sign of y", float_dtype)
    signbit = compare("signbit", "whether the sign is minus (of -0.0 too)", float_dtype, ONE, "fiub")
    exponent = elementwise(
        None,
        lambda xp, x: xp.where(xp.isfinite(x), xp.frexp(x)[1], 0),
        "e of x = m * 2**e with m in [0.5, 1)",
        lambda d: dt.int32,
        operands=float_dtype,
        names=ONE,
    )
    nextafter = elementwise(
        lambda g, z, x, y: [(x == y).where(0.0, g), _nothing(g, y)],
        _next_float,
        "the next float32 (or of float64, that) from x towards y",
        lambda *d: dt.promote(*d).as_float,
        dtypes="fiub",
    )
    hypot = elementwise(
        lambda g, z, x, y: [g * x / z, g * y / z],
        "hypot",
        "sqrt(x * x + y * y), safe for large x",
        float_dtype,
        8,
    )
    gcd = elementwise(None, "gcd", "greatest common divisor", _number, 64, dtypes="iub")

    @kernel(
        "elementwise",
        xp=_reference("logaddexp"),
        dtype=float_dtype,
        operands=float_dtype,
        cost=8,
        dtypes="fiub",
        grad=lambda g, z, x, y: [g * (x - y).sigmoid(), g * (y - x).sigmoid()],
    )
    def logaddexp(self, other):
        """log(exp(x) + exp(y)). [...], [...] -> [...]"""
        if any(getattr(v, "dtype", dt.bool_).is_complex for v in (self, other)):
            return _complex_logaddexp(self, other)
        return (self, other), {}

    @kernel(
        "elementwise",
        xp=_reference("add"),
        dtype=dt.promote,
        operands=dt.promote,
        dtypes=ANY,
        grad=lambda g, z, x, y: [g, g],
    )
    def add(self, other, *, alpha=1):
        """self + alpha * other. [...], [...] -> [...]"""
        return (self, scaled(other, alpha)), {}

    @kernel(
        "elementwise",
        xp=_reference("subtract"),
        dtype=dt.promote,
        operands=dt.promote,
        dtypes="fiuc",
        refusal=SIGNED,
        grad=lambda g, z, x, y: [g, -g],
    )
    def sub(self, other, *, alpha=1):
        """self - alpha * other. [...], [...] -> [...]"""
        return (self, scaled(other, alpha)), {}

    @kernel(
        "elementwise",
        xp=_power,
        dtype=_number,
        operands=_number,
        cost=8,
        dtypes=ANY,
        grad=_power_grad,
    )
    def pow(self, exponent):
        """x to the power y; whole powers of floats below 64 are products. [...], [...] -> [...]"""
        whole = not getattr(self, "dtype", dt.float32).has_gradients
        if whole and isinstance(exponent, int) and exponent < 0:
            raise ValueError("integers have no negative powers: cast with .float()")
        return (self, exponent), {}

    @kernel(
        "elementwise",
        xp=_reference("divide"),
        dtype=float_dtype,
        operands=float_dtype,
        cost=2,
        dtypes=ANY,
        grad=lambda g, z, x, y: [g / y, -g * z / y],
    )
    def div(self, other, *, rounding_mode: str | None = None):
        """self / other in floats; rounding_mode "floor" (down) or "trunc" (to 0). [...], [...] -> [...]"""
        if rounding_mode not in (None, "floor", "trunc"):
            raise ValueError(f"rounding_mode={rounding_mode!r} is unknown: use None, 'floor' or 'trunc'")
        if rounding_mode is None:
            return (self, other), {}
        return _divide(self, other, rounding_mode)

    @kernel("elementwise", xp=_reference("round"), dtype=dt.promote, grad=_steps_grad, dtypes="fiub")
    def round(self, *, decimals: int = 0):
        """The nearest whole number (or multiple of 10**-decimals), halves to even. [...] -> [...]"""
        if not decimals:
            return (self,), {}
        scale = 10.0 ** abs(decimals)
        return (self * scale).round() / scale if decimals > 0 else (self / scale).round() * scale

    @kernel(
        "elementwise",
        xp=lambda xp, x, e: xp.ldexp(x, e),
        cost=4,
        dtypes="fiub",
        dtype=lambda x, e: float_dtype(x),
        operands=lambda x, e: (float_dtype(x), dt.int32),
        grad=lambda g, z, x, e: [g.ldexp(e), None],
    )
    def ldexp(self, other):
        """self * 2**other: exact for integers, and for floats as exp2 has it. [...], [...] -> [...]"""
        broken = isinstance(other, float) or getattr(other, "dtype", dt.int32).has_gradients
        if broken or self.dtype.is_complex:
            powers = other if hasattr(other, "node") else self.new_tensor(other, dtype=dt.float32)
            return self * powers.exp2()
        return (self, other), {}

    @kernel(
        "elementwise",
        xp=lambda xp, c, x, y: xp.where(c, x, y),
        dtype=lambda c, x, y: dt.promote(x, y),
        operands=lambda c, x, y: (dt.bool_, *(dt.promote(x, y),) * 2),
        dtypes=ANY,
        grad=lambda g, z, c, x, y: [None, c.where(g, 0.0), c.where(0.0, g)],
    )
    def where(self, input, other):
        """`input` where this (bool) tensor is true, else `other`. [...], [...], [...] -> [...]"""
        return (self, input, other), {}

    @kernel(
        "elementwise",
        xp=lambda xp, x, to: xp.astype(x, to.numpy),
        dtype=lambda d, to: to,
        dtypes=ANY,
        shape=lambda s, to: s,
        grad=lambda g, y, x, to: [g],  # backward casts it
        holomorphic=False,
    )
    def cast(self, to):
        """The same values in another dtype; floats become integers towards 0. [...] -> [...]

        TypeError for complex numbers as real ones, and for float64 on a GPU.
        """
        to = dt.as_dtype(to)
        if self.dtype.is_complex and not (to.is_complex or to is dt.bool_):
            raise TypeError(f"complex numbers are no {to.name}: take .real, .imag or .abs() first")
        if not to.on_gpu:
            check_held(to, self.device)
        return (self,), {"to": to}

    absolute, negative = abs, neg
    arccos, arcsin, arctan, arctan2 = acos, asin, atan, atan2
    arccosh, arcsinh, arctanh = acosh, asinh, atanh
    subtract, multiply, divide, true_divide, fix = sub, mul, div, div, trunc
    greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne

    __neg__, __abs__, __invert__ = neg, abs, bitwise_not
    __add__, __sub__, __mul__, __truediv__ = add, sub, mul, div
    __mod__, __floordiv__ = remainder, floor_divide
    __radd__, __rmul__ = add, mul
    __lt__, __le__, __gt__, __ge__ = lt, le, gt, ge
    __and__, __or__, __xor__ = bitwise_and, bitwise_or, bitwise_xor
    __rand__, __ror__, __rxor__ = bitwise_and, bitwise_or, bitwise_xor
    __lshift__, __rshift__ = bitwise_left_shift, bitwise_right_shift

    def __eq__(self, other: Any):
        return NotImplemented if other is None else _eq(self, other)

    def __ne__(self, other: Any):
        return NotImplemented if other is None else _ne(self, other)

    def __pow__(self, other):
        """x ** 2 is by far the most common power, and pow the slowest of functions."""
        squares = isinstance(other, int | float) and other == 2
        return self.square() if squares else self.pow(other)

    def __rsub__(self, other):
        return Elementwise.sub(other, self)

    def __rtruediv__(self, other):
        return Elementwise.div(other, self)

    __rdiv__ = __rtruediv__

    def __rpow__(self, other):
        return Elementwise.pow(other, self)

    def __rmod__(self, other):
        return Elementwise.remainder(other, self)

    def __rfloordiv__(self, other):
        return Elementwise.floor_divide(other, self)

    def __rlshift__(self, other):
        return Elementwise.bitwise_left_shift(other, self)

    def __rrshift__(self, other):
        return Elementwise.bitwise_right_shift(other, self)


_eq, _ne = Elementwise.eq, Elementwise.ne
# c.where(x, y) of what may be tensors of bools: of these the method takes the first for the condition
choose = Elementwise.where


def _complex_logaddexp(x, y):
    """Of the one with the larger real part, and what the other adds: both may be too large for exp."""
    re_x, re_y = x.detach().real, y.detach().real
    swapped, lost = re_x < re_y, (re_x == re_y) & re_x.isneginf()
    high, low = swapped.where(y, x), swapped.where(x, y)
    return high + lost.where(0.0, (lost.where(0.0, low - high)).exp().log1p())


def _divide(x, y, rounding_mode):
    """Integers divide as integers; the quotient of floats is rounded."""
    if rounding_mode == "floor":
        return Elementwise.floor_divide(x, y)
    if any(getattr(v, "dtype", dt.float32 if isinstance(v, float) else dt.int32).is_float for v in (x, y)):
        return covered(Elementwise.div(x, y).trunc().detach(), *(v for v in (x, y) if hasattr(v, "node")))
    return (x - Elementwise.fmod(x, y)).floor_divide(y)
