"""The op test table: what each entry of the op table should compute, as plain NumPy, and on which inputs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import erf, prod
from typing import Any

import numpy as np
from references import (
    avg_pool,
    bce,
    conv,
    conv_views,
    cross_entropy,
    fold,
    gelu,
    layer_norm,
    log_softmax,
    logsumexp,
    max_pool,
    philox,
    picked,
    scatter_add,
    shift_left,
    shift_right,
    sigmoid,
    sized,
    softmax,
    softplus,
    unbiased,
    whole,
    windows,
)

from flambeau.dtype import float32
from flambeau.op import COMPOSED, OPS
from flambeau.shape import Window


@dataclass(frozen=True)
class In:
    """One input: its shape, its range of values, and its kind (f float, i int, u unsigned, b bool)."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    kind: str = "f"

    def make(self, rng, shape=None, kind=None) -> np.ndarray:
        shape, kind = self.shape if shape is None else shape, kind or self.kind
        if kind == "f":
            return rng.uniform(self.low, self.high, shape).astype("float32")
        if kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        low = max(self.low, 0) if kind == "u" else self.low
        return rng.integers(int(np.ceil(low)), int(np.floor(self.high)) + 1, shape).astype(kind + "4")


@dataclass(frozen=True)
class Row:
    """One op on one set of inputs; `ref` takes them in float64 (or as ints, bools), and the attributes."""

    ref: Callable
    inputs: tuple[In, ...] = (In((3, 5)),)
    attrs: dict[str, Any] = field(default_factory=dict)
    grads: int = 2  # how often it can be differentiated, and is
    tol: float = 2e-6
    kinds: str = ""  # the other kinds that all inputs may have
    call: Callable | None = None  # instead of the op itself
    special: bool = True  # NaN, infinities, denormals and the like agree with NumPy

    def compute(self, name: str, *tensors):
        f = self.call or OPS.get(name) or COMPOSED[name]
        return f(*tensors, **self.attrs)

    def expected(self, *arrays):
        with np.errstate(all="ignore"):
            return self.ref(*arrays, **self.attrs)


def unary(ref, low=-2.0, high=2.0, **kw) -> Row:
    return Row(ref, (In((3, 5), low, high),), **kw)


def binary(ref, low=-2.0, high=2.0, low2=None, high2=None, **kw) -> Row:
    second = In((3, 5), low if low2 is None else low2, high if high2 is None else high2)
    return Row(ref, (In((3, 5), low, high), second), **kw)


def joined(f):
    """An op that takes a sequence of tensors, called with them one by one."""
    return lambda *tensors, **attrs: COMPOSED[f](tensors, **attrs)


def pieces(f):
    """An op that gives several tensors, of which row tests see the flattened join."""

    def call(*tensors, **attrs):
        return COMPOSED["cat"]([t.reshape(-1) for t in COMPOSED[f](*tensors, **attrs)])

    return call


def first(f):
    """An op that gives (values, indices): the values."""
    return lambda *tensors, **attrs: COMPOSED[f](*tensors, **attrs)[0]


W = (Window(3, 2, 1, 1, 1),)
W2 = (Window(2, 2, 1, 0, 0), Window(3, 1, 2, 1, 1))
X = In((2, 3, 4))
IDX = In((2, 5, 4), -3, 2, "i")

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
    "sign": unary(lambda x: np.subtract(x > 0, x < 0, dtype=x.dtype), kinds="iu", grads=1),
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
    "floor_divide": binary(whole(lambda x, y: np.floor(x / y)), -9, 9, 0.5, 4, grads=0, kinds="iu"),
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
        shift_left, (In((3, 5), -9, 9, "i"), In((3, 5), 0, 20, "i")), grads=0, kinds="u"
    ),
    "bitwise_right_shift": Row(
        shift_right, (In((3, 5), -999, 999, "i"), In((3, 5), 0, 9, "i")), grads=0, kinds="u"
    ),
    "where": Row(np.where, (In((3, 5), kind="b"), In((3, 5)), In((3, 5)))),
    "cast": unary(lambda x, to: x.astype("f8"), attrs={"to": float32}, kinds="iub"),
    "addcmul": Row(lambda x, a, b, value: x + value * a * b, (In((3, 5)),) * 3, {"value": 0.5}),
    "clamp": unary(np.clip, attrs={"min": -1.0, "max": 0.5}, grads=1),
    "lerp": Row(lambda x, end, w: x + w * (end - x), (In((3, 5)),) * 3),
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

MOVEMENT: dict[str, Row] = {
    "reshape": Row(lambda x: x.reshape(4, 6), (X,), call=lambda x: x.reshape(4, -1)),
    "permute": Row(lambda x: x.transpose(2, 0, 1), (X,), call=lambda x: x.permute(2, 0, 1)),
    "expand": Row(lambda x: np.broadcast_to(x, (2, 3, 5)), (In((3, 1)),), call=lambda x: x.expand(2, -1, 5)),
    "_slice": Row(
        lambda x, **_: x[::-1, 1:3, ::2], (X,), {"starts": (1, 1, 0), "steps": (-1, 1, 2), "shape": (2, 2, 2)}
    ),
    "_pad": Row(
        lambda x, **_: np.pad(x[:, 1:], ((1, 2), (0, 0), (0, 3))),
        (X,),
        {"before": (1, -1, 0), "after": (2, 0, 3)},
    ),
    "_windows": Row(windows, (In((2, 3, 7)),), {"spec": W}),
    "detach": Row(lambda x: x, (X,), grads=0),
    "flip": Row(lambda x, dims: np.flip(x, dims), (X,), {"dims": (0, 2)}),
    "narrow": Row(lambda x, **_: x[:, :, 1:3], (X,), {"dim": -1, "start": 1, "length": 2}),
    "transpose": Row(lambda x, dim0, dim1: x.swapaxes(dim0, dim1), (X,), {"dim0": 0, "dim1": -1}),
    "movedim": Row(np.moveaxis, (X,), {"source": 0, "destination": 2}),
    "flatten": Row(lambda x, start_dim: x.reshape(2, 12), (X,), {"start_dim": 1}),
    "unflatten": Row(lambda x, **_: x.reshape(2, 3, 2, 2), (X,), {"dim": 2, "sizes": (2, 2)}),
    "unsqueeze": Row(lambda x, dim: np.expand_dims(x, dim), (X,), {"dim": -2}),
    "squeeze": Row(lambda x, dim: x.reshape(3, 1, 4), (In((1, 3, 1, 4)),), {"dim": 0}),
    "pad": Row(
        lambda x, **_: np.pad(x, ((0, 0), (1, 0), (2, 1)), constant_values=3.5),
        (X,),
        {"padding": (2, 1, 1, 0), "value": 3.5},
    ),
    "tril": Row(np.tril, (In((2, 4, 5)),), call=lambda x: x.tril()),
    "triu": Row(lambda x, diagonal: np.triu(x, diagonal), (In((2, 4, 5)),), {"diagonal": 1}),
}

REDUCE: dict[str, Row] = {
    "_sum": Row(lambda x, dims: x.sum(dims, keepdims=True), (X,), {"dims": (0, 2)}, kinds="iub"),
    "_prod": Row(lambda x, dims: x.prod(dims, keepdims=True), (X,), {"dims": (0, 2)}, kinds="iu"),
    "_max": Row(lambda x, dims: x.max(dims, keepdims=True), (X,), {"dims": (1,)}, kinds="iu"),
    "_min": Row(lambda x, dims: x.min(dims, keepdims=True), (X,), {"dims": (1,)}, kinds="iu"),
    "sum": Row(sized(np.sum), (X,), {"dim": 1}, kinds="iub"),
    "prod": Row(sized(np.prod), (X,), {"dim": -1, "keepdim": True}, kinds="iu"),
    "mean": Row(sized(np.mean), (X,), {"dim": (0, 1)}, kinds="i"),
    "amax": Row(sized(np.max), (X,), {"dim": (0, 2)}, kinds="iub"),
    "amin": Row(sized(np.min), (X,), {"dim": 2, "keepdim": True}, kinds="iub"),
    "argmax": Row(sized(np.argmax), (X,), {"dim": 1}, grads=0, kinds="iub"),
    "argmin": Row(sized(np.argmin), (X,), {"dim": -1, "keepdim": True}, grads=0, kinds="iub"),
    "max": Row(lambda x, dim: x.max(dim), (X,), {"dim": 1}, call=first("max"), kinds="i"),
    "min": Row(lambda x, dim: x.min(dim), (X,), {"dim": 1}, call=first("min"), kinds="i"),
    "var": Row(unbiased(np.var), (X,), {"dim": (0, 2)}),
    "std": Row(unbiased(np.std), (X,), {"dim": 2, "correction": 0}),
    "all": Row(sized(np.all), (X,), {"dim": 1}, grads=0, kinds="ib"),
    "any": Row(sized(np.any), (X,), {"dim": 1}, grads=0, kinds="ib"),
    "logsumexp": Row(logsumexp, (X,), {"dim": 1}),
    "norm": Row(lambda x, dim: np.sqrt((x**2).sum(dim)), (X,), {"dim": 1}),
    "softmax": Row(softmax, (X,), {"dim": 1}),
    "log_softmax": Row(log_softmax, (X,), {"dim": -1}),
    "_softmax": Row(softmax, (X,), {"dim": 2}),
    "_log_softmax": Row(log_softmax, (X,), {"dim": 0}),
    "layer_norm": Row(
        lambda x, w, b: layer_norm(x, w, b, (3, 4)), (X, In((3, 4)), In((3, 4))), tol=5e-6,
        call=lambda x, w, b: COMPOSED["layer_norm"](x, (3, 4), w, b),
    ),
    "mse_loss": Row(lambda x, t: ((x - t) ** 2).mean(), (X, X)),
    "l1_loss": Row(lambda x, t: np.abs(x - t).mean(), (X, X)),
    "binary_cross_entropy_with_logits": Row(bce, (X, In((2, 3, 4), 0, 1))),
    "nll_loss": Row(lambda x, t: -picked(x, t).mean(), (In((5, 4)), In((5,), 0, 3, "i"))),
    "cross_entropy": Row(cross_entropy, (In((5, 4)), In((5,), 0, 3, "i")), {"label_smoothing": 0.1}),
}  # fmt: skip
PAIR = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}
CONTRACT: dict[str, Row] = {
    "_contract": Row(
        lambda a, b, **_: (a * b).sum(-1),
        (In((4, 1, 6)), In((1, 5, 6))),
        {"nk": 1, "label": "contract"},
        kinds="iu",
    ),
    "matmul": Row(np.matmul, (In((2, 3, 5)), In((5, 4))), kinds="iu"),
    "dot": Row(np.dot, (In((7,)), In((7,))), kinds="i"),
    "outer": Row(np.outer, (In((3,)), In((5,)))),
    "linear": Row(lambda x, w, b: x @ w.T + b, (In((2, 3, 5)), In((4, 5)), In((4,)))),
    "conv": Row(conv, (In((2, 4, 5, 6)), In((6, 2, 3, 2))), PAIR),
    "conv1d": Row(conv, (In((2, 4, 9)), In((6, 2, 3)), In((6,))), {"stride": 2, "padding": 1, "groups": 2}),
    "conv2d": Row(conv, (In((2, 3, 5, 5)), In((4, 3, 3, 3)), In((4,))), {"padding": 1}),
    "conv3d": Row(conv, (In((1, 2, 4, 4, 4)), In((3, 2, 2, 2, 2))), {"dilation": 2, "padding": 1}),
    "_fold": Row(fold, (In((2, 4, 3)),), {"spec": W, "size": (7,)}),
    "max_pool": Row(lambda x, spec: max_pool(x, *conv_views(spec)), (In((2, 3, 6, 7)),), {"spec": W2}),
    "max_pool1d": Row(max_pool, (In((2, 3, 9)),), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "max_pool2d": Row(max_pool, (In((2, 3, 6, 6)),), {"kernel_size": 2}),
    "avg_pool1d": Row(avg_pool, (In((2, 3, 9)),), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "avg_pool2d": Row(
        avg_pool,
        (In((2, 3, 6, 6)),),
        {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    ),
    "adaptive_avg_pool2d": Row(
        lambda x, output_size: x.reshape(2, 3, 2, 3, 3, 2).mean((3, 5)),
        (In((2, 3, 6, 6)),),
        {"output_size": (2, 3)},
    ),
}

INDEX: dict[str, Row] = {
    "gather": Row(
        lambda x, i, dim: np.take_along_axis(x, i, dim), (X, IDX), {"dim": 1},
        call=lambda x, i, dim: x.gather(dim, i),
    ),
    "scatter_add": Row(scatter_add, (X, IDX, In((2, 5, 4))), {"dim": 1},
                       call=lambda x, i, src, dim: x.scatter_add(dim, i, src)),
    "index_select": Row(lambda x, i, dim: np.take(x, i, dim), (X, In((5,), -3, 2, "i")), {"dim": 1},
                        call=lambda x, i, dim: x.index_select(dim, i)),
    "__getitem__": Row(lambda x: x[1, ..., None, ::-2], (X,), call=lambda x: x[1, ..., None, ::-2]),
    "one_hot": Row(lambda i, num_classes: np.eye(num_classes, dtype="i4")[i], (In((2, 3), 0, 3, "i"),),
                   {"num_classes": 4}, grads=0),
    "embedding": Row(lambda i, w: w[i], (In((2, 3), 0, 3, "i"), In((4, 5)))),
    "cat": Row(lambda *x, dim: np.concatenate(x, dim), (In((2, 3)), In((2, 1)), In((2, 4))), {"dim": 1},
               call=joined("cat"), kinds="ib"),
    "stack": Row(lambda *x, dim: np.stack(x, dim), (In((2, 3)),) * 3, {"dim": 1},
                 call=joined("stack"), kinds="i"),
    "split": Row(lambda x, split_size, dim: np.concatenate([x[:, :, :3].ravel(), x[:, :, 3:].ravel()]), (X,),
                 {"split_size": 3, "dim": 2}, call=pieces("split")),
    "chunk": Row(lambda x, chunks, dim: np.concatenate([x[:, :2].ravel(), x[:, 2:].ravel()]), (X,),
                 {"chunks": 2, "dim": 1}, call=pieces("chunk")),
}  # fmt: skip

SOURCE: dict[str, Row] = {
    "buffer": Row(lambda x: x, (X,), call=lambda x: x, grads=1, kinds="iub"),
    "constant": Row(lambda x: x + 2.5, (X,), call=lambda x: x + 2.5),
    "iota": Row(lambda x: np.arange(5, dtype="i4"), (In((5,)),), grads=0,
                call=lambda x: type(x).arange(5, device=x.device)),
    "random_bits": Row(lambda x: philox(7, prod(x.shape)), (In((11,)),), grads=0,
                       call=lambda x: _random_bits(x.shape, x.device)),
    "dropout": Row(lambda x: np.where(uniform(7, x.size).reshape(x.shape) < 0.25, 0, x / 0.75), (X,), grads=1,
                   call=lambda x: _seeded(lambda: COMPOSED["dropout"](x, 0.25))),
}  # fmt: skip


def uniform(seed: int, n: int) -> np.ndarray:
    return (philox(seed, n) >> 8) * 2.0**-24


def _seeded(f):
    from flambeau import manual_seed

    manual_seed(7)
    return f()


def _random_bits(shape, device):
    from flambeau.ops.random import _bits

    return _seeded(lambda: _bits(shape, device))


ROWS: dict[str, Row] = {**ELEMENTWISE, **MOVEMENT, **REDUCE, **CONTRACT, **INDEX, **SOURCE}
