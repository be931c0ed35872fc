"""Rows of the elementwise family."""

from math import erf

import numpy as np
from references.base import gelu, shift_left, shift_right, sigmoid, softplus, whole

from flambeau.core.dtype import float32

from .row import In, Row, binary, unary

ELEMENTWISE: dict[str, Row] = {
    "exp": unary(np.exp, tol=3e-6),
    "exp2": unary(np.exp2, tol=3e-6),
    "expm1": unary(np.expm1, tol=3e-6),
    "log": unary(np.log, 0.1, 3, tol=3e-6),
    "log2": unary(np.log2, 0.1, 3, tol=3e-6),
    "log10": unary(np.log10, 0.1, 3, tol=3e-6),
    "log1p": unary(np.log1p, -0.9, 3, tol=3e-6),
    "sqrt": unary(np.sqrt, 0.1, 3),
    "rsqrt": unary(lambda x: 1 / np.sqrt(x), 0.1, 3),
    "reciprocal": unary(lambda x: 1 / x, 0.2, 3),
    "sin": unary(np.sin, -9, 9, kinds="i"),
    "cos": unary(np.cos, -9, 9, kinds="i"),
    "tan": unary(np.tan, -1.3, 1.3),
    "asin": unary(np.arcsin, -0.9, 0.9),
    "acos": unary(np.arccos, -0.9, 0.9),
    "atan": unary(np.arctan, -9, 9),
    "sinh": unary(np.sinh, -3, 3, tol=3e-6),
    "cosh": unary(np.cosh, -3, 3, tol=3e-6),
    "tanh": unary(np.tanh, -3, 3),
    "asinh": unary(np.arcsinh, -9, 9, tol=3e-6),
    "acosh": unary(np.arccosh, 1.1, 9, tol=4e-6),
    "atanh": unary(np.arctanh, -0.9, 0.9, tol=4e-6),
    "erf": unary(np.vectorize(erf, otypes=[float]), -3, 3),
    "sigmoid": unary(sigmoid, -5, 5, kinds="i"),
    "neg": unary(np.negative, kinds="iu"),
    "abs": unary(np.abs, kinds="iub"),
    "sign": unary(lambda x: ((x > 0) * 1 - (x < 0)).astype(x.dtype), kinds="iub", grads=1),
    "floor": unary(np.floor, -9, 9, kinds="i", grads=1),
    "ceil": unary(np.ceil, -9, 9, kinds="i", grads=1),
    "round": unary(np.round, -9, 9, kinds="i", grads=1),
    "trunc": unary(np.trunc, -9, 9, kinds="i", grads=1),
    "relu": unary(lambda x: np.where(x < 0, np.zeros_like(x), x), kinds="iu"),
    "square": unary(lambda x: x * x, kinds="iu"),
    "isnan": unary(np.isnan, grads=0, kinds="i"),
    "isinf": unary(np.isinf, grads=0),
    "isfinite": unary(np.isfinite, grads=0),
    "logical_not": unary(np.logical_not, grads=0, kinds="ib"),
    "add": binary(np.add, kinds="iub"),
    "sub": binary(np.subtract, kinds="iu"),
    "mul": binary(np.multiply, kinds="iub"),
    "div": binary(np.divide, 0.3, 2, kinds="iu"),
    "pow": binary(np.power, 0.2, 2, kinds="iu"),
    "maximum": binary(np.maximum, kinds="iub"),
    "minimum": binary(np.minimum, kinds="iub"),
    "remainder": binary(np.remainder, -9, 9, 0.5, 4, kinds="iu"),
    "fmod": binary(np.fmod, -9, 9, 0.5, 4, kinds="iu"),
    "floor_divide": binary(whole(np.floor_divide), -9, 9, 0.5, 4, grads=0, kinds="iu"),
    "atan2": binary(np.arctan2),
    "eq": binary(np.equal, grads=0, kinds="iub"),
    "ne": binary(np.not_equal, grads=0, kinds="iub"),
    "lt": binary(np.less, grads=0, kinds="iu"),
    "le": binary(np.less_equal, grads=0, kinds="iu"),
    "gt": binary(np.greater, grads=0, kinds="iu"),
    "ge": binary(np.greater_equal, grads=0, kinds="iu"),
    "logical_and": binary(np.logical_and, grads=0, kinds="ib"),
    "logical_or": binary(np.logical_or, grads=0, kinds="ib"),
    "logical_xor": binary(np.logical_xor, grads=0, kinds="ib"),
    "bitwise_and": Row(np.bitwise_and, (In((3, 5), -9, 9, "i"),) * 2, grads=0, kinds="ub"),
    "bitwise_or": Row(np.bitwise_or, (In((3, 5), -9, 9, "i"),) * 2, grads=0, kinds="ub"),
    "bitwise_xor": Row(np.bitwise_xor, (In((3, 5), -9, 9, "i"),) * 2, grads=0, kinds="ub"),
    "bitwise_not": Row(np.invert, (In((3, 5), -9, 9, "i"),), grads=0, kinds="ub"),
    "bitwise_left_shift": Row(
        shift_left, (In((3, 5), -9, 9, "i"), In((3, 5), -3, 40, "i")), grads=0, kinds="u"
    ),
    "bitwise_right_shift": Row(
        shift_right, (In((3, 5), -999, 999, "i"), In((3, 5), -3, 40, "i")), grads=0, kinds="u"
    ),
    "where": Row(np.where, (In((3, 5), kind="b"), In((3, 5)), In((3, 5)))),
    "cast": unary(lambda x, to: x.astype("f8"), attrs={"to": float32}, kinds="iub"),
    "masked_fill": Row(
        lambda x, m, value: np.where(m, value, x), (In((3, 5)), In((3, 5), kind="b")), {"value": 7.0}
    ),
    "silu": unary(lambda x: x * sigmoid(x), -5, 5, special=False),
    "gelu": unary(gelu, -3, 3, special=False),
    "softplus": unary(softplus, -5, 5),
    "logsigmoid": unary(lambda x: -softplus(-x), -5, 5),
    "leaky_relu": unary(
        lambda x, negative_slope: np.where(x > 0, x, x * negative_slope), attrs={"negative_slope": 0.2}
    ),
    "elu": unary(lambda x, alpha: np.where(x > 0, x, alpha * (np.exp(x) - 1)), attrs={"alpha": 0.7}),
    "hardtanh": unary(lambda x: np.clip(x, -1, 1), grads=1),
    "relu6": unary(lambda x: np.clip(x, 0, 6), -3, 9, grads=1),
    "hardsigmoid": unary(lambda x: np.clip(x / 6 + 0.5, 0, 1), -5, 5, grads=1),
    "hardswish": unary(lambda x: x * np.clip(x / 6 + 0.5, 0, 1), -5, 5, special=False),
    "mish": unary(lambda x: x * np.tanh(softplus(x)), -3, 3, special=False),
    "softsign": unary(lambda x: x / (1 + np.abs(x)), special=False),
}
