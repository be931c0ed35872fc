"""Grids of elementwise ops: shapes that broadcast, and arguments; in the ranges of tests/rows."""

from rows import ROWS

from .grid import Table, call

GRIDS = Table()


def drawn(d, name, shape=None):
    """An array for each input of the op's row, of shapes that broadcast to one."""
    shape, row = d.shape() if shape is None else shape, ROWS[name]
    found = [i.make(d.rng, d.broadcast(shape)) for i in row.inputs]
    i = d.int(0, len(found) - 1)
    found[i] = row.inputs[i].make(d.rng, shape)
    return found


PLAIN = """
abs acos acosh asin asinh atan atan2 atanh copysign cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1
fmax fmin hypot i0 lgamma log log10 log1p log2 logaddexp logaddexp2 maximum minimum mul neg positive rad2deg
reciprocal relu rsqrt sigmoid sin sinc sinh sqrt square tan tanh xlogy
"""


@GRIDS(*PLAIN.split(), fixed=1)
def plain(d, name):
    return call(*drawn(d, name))


# a cusp or a jump inside the function, or results that are integers or bools
JUMPING = "ceil floor frac isfinite isinf isnan isneginf isposinf isreal logical_not sign signbit trunc"


@GRIDS(*JUMPING.split(), fixed=1)
def jumping(d):
    return call(d.steps(d.shape()))


COMPARED = "eq ge gt heaviside le logical_and logical_or logical_xor lt ne"


@GRIDS(*COMPARED.split(), fixed=1, slopes=False)
def compared(d):
    shape = d.shape()
    return call(d.steps(shape, -4, 4), d.steps(d.broadcast(shape), -4, 4))


@GRIDS("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", fixed=1)
def integers(d, name):
    shape, dtype = d.shape(), d.one("i4", "i4", "u1", "i1")
    low, most = (0 if dtype == "u1" else -11), (11 if name == "lcm" else 100)
    return call(d.ints(shape, low, most, dtype), d.ints(d.broadcast(shape), low, most, dtype))


@GRIDS("ldexp", theirs=lambda torch, x, n: x * 2.0**n)  # torch's own gradient is 0 where n < 0
def scaled(d):
    return call(*drawn(d, "ldexp"))


@GRIDS("bitwise_left_shift", "bitwise_right_shift", fixed=1)
def shifted(d):
    shape = d.shape()
    return call(d.ints(shape, -1000, 1000), d.ints(d.broadcast(shape), 0, 9))


@GRIDS("bitwise_not")
def inverted(d):
    return call(d.one(d.bools, lambda s: d.ints(s, 0, 99, "u1"), d.ints)(d.shape()))


@GRIDS("add", "sub")
def added(d):
    shape = d.shape()
    other = d.array(d.broadcast(shape)) if d.maybe(0.8) else d.float(-3, 3)
    return call(d.array(shape), other, **({"alpha": d.float(-2, 2)} if d.maybe() else {}))


@GRIDS("rsub")
def subtracted_from(d):
    return call(d.array(d.shape()), d.float(-2, 2), alpha=d.float(-2, 2))


@GRIDS("div", fixed=4)
def divided(d):
    """By multiples of a power of two, so that a quotient that is rounded does not hang on its last digit."""
    shape, mode = d.shape(), d.one(None, "floor", "trunc")
    if mode is None:
        return call(d.array(shape), d.array(d.broadcast(shape), 0.5, 2.0))
    below = d.steps(d.broadcast(shape), 1, 6, 0.5) * d.one(1, -1)
    return call(d.steps(shape, -100, 100, 0.25), below.astype("f4"), rounding_mode=mode)


@GRIDS("floor_divide", slopes=False)
@GRIDS("fmod", "remainder")
def divided_in_whole(d):
    shape = d.shape()
    if d.maybe(0.3):
        return call(d.ints(shape, -50, 50), d.ints(d.broadcast(shape), 1, 7) * d.one(1, -1))
    return call(d.steps(shape, -100, 100, 0.25), d.steps(d.broadcast(shape), 1, 6, 0.5) * d.one(1, -1))


@GRIDS("addcdiv", "addcmul")
def with_product(d, name):
    shape = d.shape()
    low = 0.5 if name == "addcdiv" else -2
    arrays = d.array(shape), d.array(d.broadcast(shape)), d.array(d.broadcast(shape), low)
    return call(*arrays, value=d.float(-2, 2))


@GRIDS("clamp")
def clamped(d):
    shape = d.shape()
    if d.maybe(0.3):
        return call(d.array(shape), d.array(d.broadcast(shape), -2, 0), d.array(d.broadcast(shape), 0, 2))
    low, high = d.one(None, d.int(-8, 0) / 8), d.int(0, 8) / 8  # the same in every dtype
    return call(d.array(shape), min=low, max=None if low is not None and d.maybe(0.3) else high)


@GRIDS("clamp_max", "clamp_min")
def clamped_once(d):
    shape = d.shape()
    return call(d.array(shape), d.int(-8, 8) / 8 if d.maybe() else d.array(d.broadcast(shape)))


@GRIDS("pow", "float_power", fixed=3)
def powers(d, name):
    shape = d.shape()
    if d.maybe():
        exponent = d.one(2, 3, -1, 0.5, 1.5, 0, 1, -2)
        return call(d.array(shape, 0.2, 2), exponent)
    return call(d.array(shape, 0.2, 2), d.array(d.broadcast(shape)))


@GRIDS("lerp")
def mixed(d):
    shape = d.shape()
    weight = d.float(-1, 2) if d.maybe() else d.array(d.broadcast(shape), -1, 2)
    return call(d.array(shape), d.array(d.broadcast(shape)), weight)


@GRIDS("isclose")
def near(d):
    shape = d.shape()
    x = d.steps(shape)
    y = x + d.one(0.0, 1e-3, 1.0) * d.bools(shape)
    return call(x, y.astype("f4"), rtol=d.one(1e-5, 0.0, 1e-2), atol=d.one(1e-8, 0.1, 1.25))


@GRIDS("masked_fill")
def filled(d):
    shape = d.shape()
    return call(d.array(shape), d.bools(d.broadcast(shape)), d.float(-3, 3))


@GRIDS("where")
def chosen(d):
    shape = d.shape()
    return call(d.bools(d.broadcast(shape)), d.array(shape), d.array(d.broadcast(shape)))


@GRIDS("nan_to_num", slopes=False, half=False)
def without_nan(d):
    x = d.array(d.shape())
    x[d.rng.random(x.shape) < 0.2] = d.one(float("nan"), float("inf"), -float("inf"))
    return call(x, nan=d.float(-3, 3), posinf=d.float(5, 6), neginf=d.float(-6, -5))


@GRIDS(
    "nextafter", slopes=False, half=False, theirs=lambda torch, x, y: torch.nextafter(x.float(), y.float())
)
def neighbour(d):
    shape = d.shape()
    return call(d.array(shape), d.steps(d.broadcast(shape), -2, 2))


@GRIDS("round", fixed=3)
def rounded(d):
    """To decimals only of what is not near the middle of two."""
    decimals = d.one(0, 0, 1, 2, -1)
    x = d.steps(d.shape(), -400, 400)
    return call(x) if not decimals else call((x * 1.28).astype("f4"), decimals=decimals)


@GRIDS("frexp", slopes=False, half=False)
def parts(d):
    return call(d.array(d.shape(), -1000, 1000))


@GRIDS("cast", half=False, slopes=False, theirs=lambda torch, x, to: x.to(getattr(torch, to)))
def cast(d):
    return call(d.kind(d.shape(), 0, 90), d.one("float32", "float16", "bfloat16", "int32", "int8", "bool"))


WITHOUT = {"exponent": "a part of frexp, which is compared", "shrink": "ONNX's: not in torch",
           "thresholded_relu": "ONNX's: threshold is compared"}  # fmt: skip


# --- activations ---


def away(d, shape, *jumps):
    """Values that are not at a cusp, where each library has its own slope."""
    x = d.array(shape, -7, 7)
    for at in jumps:
        x = x + ((abs(x - at) < 1e-2) * 0.05).astype("f4")
    return x


ACTIVATIONS = {  # op: (cusps, arguments)
    "celu": ((0,), lambda d: {"alpha": d.float(0.5, 2)}),
    "elu": ((0,), lambda d: {"alpha": d.float(0.5, 2)}),
    "gelu": ((), lambda d: {"approximate": d.one("none", "tanh")}),
    "hardshrink": ((), lambda d: {"lambd": d.float(0.1, 2)}),
    "hardsigmoid": ((-3, 3), lambda d: {}),
    "hardswish": ((-3, 3), lambda d: {}),
    "hardtanh": ((), lambda d: {"min_val": d.float(-2, 0), "max_val": d.float(0, 2)}),
    "leaky_relu": ((0,), lambda d: {"negative_slope": d.float(0, 0.5)}),
    "logsigmoid": ((), lambda d: {}),
    "mish": ((), lambda d: {}),
    "relu6": ((0, 6), lambda d: {}),
    "selu": ((0,), lambda d: {}),
    "silu": ((), lambda d: {}),
    "softplus": ((), lambda d: {"beta": d.float(0.5, 3), "threshold": d.float(1, 25)}),
    "softshrink": ((), lambda d: {"lambd": d.float(0.1, 2)}),
    "softsign": ((), lambda d: {}),
    "tanhshrink": ((), lambda d: {}),
    "threshold": ((), lambda d: {"threshold": d.float(-1, 1), "value": d.float(-3, 3)}),
}


@GRIDS(*ACTIVATIONS, half=False, fixed=1)  # in half precision a value may come to lie at a cusp
def activation(d, name):
    cusps, arguments = ACTIVATIONS[name]
    return call(away(d, d.shape(), *cusps), **arguments(d))


@GRIDS("glu")
def gated(d):
    shape = list(d.shape(1))
    dim = d.dim(tuple(shape))
    shape[dim] *= 2
    return call(d.array(shape), dim=dim)


@GRIDS("prelu", fixed=3)
def learned_slope(d):
    shape = d.shape(2)
    n = shape[1] if d.maybe() else 1
    return call(away(d, shape, 0), d.array((n,), 0.1, 0.9))


@GRIDS("rrelu", half=False)
def mean_slope(d):
    return call(away(d, d.shape(), 0), lower=d.float(0.1, 0.2), upper=d.float(0.3, 0.4), training=False)


WITHOUT |= {"swiglu": "not in torch: silu and mul are compared"}
