"""Rows of the numeric ops: bits, bounds, signs, divisors, and what is made of them."""

import numpy as np

from .row import COMPOSED, In, Row, binary, unary

X = In((3, 5))
INTS = In((3, 5), -99, 99, "i")


def clean(x, nan, posinf, neginf):
    return np.where(np.isnan(x), nan, np.where(np.isinf(x), np.where(x > 0, posinf, neginf), x))


def lcm(x, y):
    return np.lcm(x, y).astype(x.dtype)


def gcd(x, y):
    return np.gcd(x, y).astype(x.dtype)


def close(x, y, rtol, atol=1e-8):
    return np.isclose(x, y, rtol, atol)


def step(x, v):
    """PyTorch's: NaN is not above 0, where NumPy's heaviside is NaN."""
    return np.where(x == 0, v, (x > 0).astype(x.dtype))


def next_float(x, y):
    return np.nextafter(x.astype("f4"), y.astype("f4")).astype("f8")


def exponent(x):
    return np.where(np.isfinite(x), np.frexp(x)[1], 0).astype("i4")


def between(x, end, w):
    """PyTorch's, from the nearer end."""
    return np.where(np.abs(w) < 0.5, x + w * (end - x), end - (end - x) * (1 - w))


NUMERIC: dict[str, Row] = {
    "copysign": binary(lambda x, y: np.copysign(x, np.where(y == 0, y, y))),
    "signbit": unary(np.signbit, grads=0),
    "nextafter": binary(next_float, grads=0, tol=0, special=False),
    "exponent": unary(exponent, -99, 99, grads=0),
    "frexp": unary(lambda x: np.stack(np.frexp(x)), -99, 99, grads=0, special=False,
                   call=lambda x: COMPOSED["stack"](COMPOSED["frexp"](x))),
    "ldexp": Row(lambda x, e: x * 2.0**e, (X, In((3, 5), -9, 9, "i")), special=False),
    "hypot": binary(np.hypot, tol=4e-7),
    "gcd": Row(gcd, (INTS, INTS), grads=0, kinds="u"),
    "lcm": Row(lcm, (INTS, INTS), grads=0),
    "logaddexp": binary(np.logaddexp, -5, 5),
    "logaddexp2": binary(np.logaddexp2, -5, 5),
    "addcmul": Row(lambda x, a, b, value: x + value * a * b, (X,) * 3, {"value": 0.5}),
    "addcdiv": Row(lambda x, a, b, value: x + value * a / b, (X, X, In((3, 5), 0.5, 2)), {"value": 0.5}),
    "clamp": unary(np.clip, attrs={"min": -1.0, "max": 0.5}, grads=1),
    "clamp_min": Row(np.maximum, (X, X), grads=1, kinds="i"),
    "clamp_max": Row(np.minimum, (X, X), grads=1, kinds="i"),
    "lerp": Row(between, (X,) * 3),
    "deg2rad": unary(np.deg2rad, -360, 360, kinds="i"),
    "rad2deg": unary(np.rad2deg),
    "positive": unary(np.positive, kinds="iu"),
    "frac": unary(lambda x: x - np.trunc(x), -9, 9),
    "float_power": Row(lambda x, y: np.power(x, y, dtype="f8"), (In((3, 5), 0.2, 3), X), kinds="u", tol=4e-6),
    "fmax": binary(np.fmax, kinds="iu"),
    "fmin": binary(np.fmin, kinds="iu"),
    "heaviside": binary(step, grads=1, kinds="iu"),
    "nan_to_num": unary(clean, attrs={"nan": 0.5, "posinf": 9.0, "neginf": -9.0}),
    "isposinf": unary(np.isposinf, grads=0),
    "isneginf": unary(np.isneginf, grads=0),
    "isreal": unary(np.isreal, grads=0, kinds="iub"),
    "isclose": Row(close, (X, X), {"rtol": 0.3}, grads=0, kinds="iu"),
    "_with_zero_gradient": binary(lambda value, x: value, grads=0),  # its gradient is 0
    "_dependent": binary(lambda value, x: value, grads=0),  # its gradient by the second is 0
    "rsub": binary(lambda x, y: y - x, kinds="i"),
}  # fmt: skip
