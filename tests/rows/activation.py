"""Rows of the activations that have no kernel line of their own."""

import numpy as np
from references.base import sigmoid, softmax

from .row import COMPOSED, In, Row, unary

X = In((3, 5), -3, 3)
PAIRS = In((3, 6))
A, S = 1.6732632423543772, 1.0507009873554805


def halves(x, dim):
    return np.split(x, 2, dim)


def elu(x, alpha):
    return np.where(x > 0, x, alpha * (np.exp(np.minimum(x, 0)) - 1))


def gated(x, dim):
    a, b = halves(x, dim)
    return a * sigmoid(b)


def swiglu(x, dim):
    a, b = halves(x, dim)
    return a * sigmoid(a) * b


def soft_draw(x, tau):
    from .random import open_uniform

    return softmax((x - np.log(-np.log1p(-open_uniform(x.size))).reshape(x.shape)) / tau, -1)


def seeded_softmax(x, tau):
    from flambeau import Generator

    return COMPOSED["gumbel_softmax"](x, tau, generator=Generator(7))


def sloped(x):
    from .random import uniform

    return np.where(x >= 0, x, x * (0.1 + 0.2 * uniform(x.size).reshape(x.shape)))


def seeded_rrelu(x):
    from flambeau import manual_seed

    manual_seed(7)
    return COMPOSED["rrelu"](x, 0.1, 0.3, training=True)


ACTIVATION: dict[str, Row] = {
    "_elu": unary(lambda x, alpha, slope: np.where(x > 0, x, alpha * np.expm1(x * slope)),
                  attrs={"alpha": 1.2, "slope": 0.7}),
    "celu": unary(lambda x, alpha: alpha * elu(x / alpha, 1), attrs={"alpha": 0.7}),
    "selu": unary(lambda x: S * elu(x, A)),
    "tanhshrink": unary(lambda x: x - np.tanh(x)),
    "hardshrink": unary(lambda x, lambd: np.where(np.abs(x) <= lambd, 0, x), attrs={"lambd": 0.7}),
    "softshrink": unary(lambda x, lambd: np.sign(x) * np.maximum(np.abs(x) - lambd, 0), attrs={"lambd": 0.7}),
    "shrink": unary(lambda x, lambd, bias: np.where(np.abs(x) <= lambd, 0, x - np.sign(x) * bias),
                    attrs={"lambd": 0.7, "bias": 0.2}),
    "threshold": unary(lambda x, threshold, value: np.where(x <= threshold, value, x),
                       attrs={"threshold": 0.3, "value": -1.0}),
    "thresholded_relu": unary(lambda x, alpha: np.where(x <= alpha, 0, x), attrs={"alpha": 0.3}),
}  # fmt: skip

SHAPED: dict[str, Row] = {
    "prelu": Row(lambda x, w: np.where(x > 0, x, x * w[:, None]), (In((2, 3, 4)), In((3,)))),
    "rrelu": Row(sloped, (X,), call=seeded_rrelu),
    "softmin": Row(lambda x, dim: softmax(-x, dim), (X,), {"dim": 0}),
    "quiet_softmax": Row(
        lambda x, dim: np.exp(x) / (1 + np.exp(x).sum(dim, keepdims=True)), (X,), {"dim": 1}
    ),
    "glu": Row(gated, (PAIRS,), {"dim": -1}),
    "swiglu": Row(swiglu, (PAIRS,), {"dim": 1}),
    "gumbel_softmax": Row(soft_draw, (X,), {"tau": 0.7}, tol=1e-5, call=seeded_softmax),
}
