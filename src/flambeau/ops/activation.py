"""Activations: each a line or a few of other ops."""

from math import pi, sqrt

from ..op import composed

NN = (
    "elu",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "relu6",
    "silu",
    "softplus",
    "softsign",
)


@composed
def silu(input):
    """x * sigmoid(x)"""
    return input * input.sigmoid()


@composed
def gelu(input, approximate: str = "none"):
    """x times the normal distribution's mass below x; approximate="tanh" is the older formula."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate={approximate!r} is unknown: use 'none' or 'tanh'")
    if approximate == "tanh":
        return input * 0.5 * ((input + input * input * input * 0.044715) * sqrt(2 / pi)).tanh() + input * 0.5
    return input * 0.5 * ((input * sqrt(0.5)).erf() + 1)


@composed
def softplus(input, beta: float = 1.0, threshold: float = 20.0):
    """log(1 + exp(beta * x)) / beta; x itself above the threshold, where they agree."""
    scaled = input * beta
    return (scaled > threshold).where(input, scaled.clamp(max=threshold).exp().log1p() * (1 / beta))


@composed
def logsigmoid(input):
    """log(sigmoid(x)), safe for large negative x."""
    return input.minimum(0) - (-input.abs()).exp().log1p()


@composed
def leaky_relu(input, negative_slope: float = 0.01):
    """x, or x * negative_slope where x < 0."""
    return (input > 0).where(input, input * negative_slope)


@composed
def elu(input, alpha: float = 1.0):
    """x, or alpha * (exp(x) - 1) where x < 0."""
    return (input > 0).where(input, input.minimum(0).expm1() * alpha)


@composed
def hardtanh(input, min_val: float = -1.0, max_val: float = 1.0):
    """x held inside [min_val, max_val]; unlike clamp's, its slope is 0 at both ends."""
    above = (input <= min_val).where(min_val, input)
    return (above >= max_val).where(max_val, above)


@composed
def relu6(input):
    """x held inside [0, 6]."""
    return hardtanh(input, 0, 6)


@composed
def hardsigmoid(input):
    """(x + 3) / 6 held inside [0, 1]."""
    return hardtanh(input + 3, 0, 6) * (1 / 6)


@composed
def hardswish(input):
    """x * hardsigmoid(x)"""
    return input * hardsigmoid(input)


@composed
def mish(input):
    """x * tanh(softplus(x))"""
    return input * softplus(input).tanh()


@composed
def softsign(input):
    """x / (1 + |x|)"""
    return input / (input.abs() + 1)
