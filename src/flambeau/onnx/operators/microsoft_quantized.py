"""com.microsoft's quantised operators: MatMulNBits, QLinearAdd and its kin, dynamic products."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...functions import cat, where
from ...nn import functional as F
from ...tensor import Tensor
from ..values import cast
from .pool import average_pool
from .quantized import dynamic_quantize_linear, matmul_integer, rounded
from .table import operator

MS = "com.microsoft"


class BitsInputs(NamedTuple):
    """The inputs of MatMulNBits."""

    x: Tensor
    words: Tensor  # [n, blocks, bytes of a block] uint8
    scales: Tensor  # [n, blocks], or flat
    zeros: Tensor | None = None  # [n, bytes of the blocks' points] uint8, or as scales
    order: Tensor | None = None  # the block of each column, [k]
    bias: Tensor | None = None  # [n]


def _split(words: Tensor, bits: int, count: int) -> Tensor:
    """Numbers of few bits, the first in the low ones. [..., bytes] uint8 -> [..., count] float32"""
    each = 8 // bits
    shifts = Tensor.arange(each, device=words.device).int() * bits
    numbers = (words.int().unsqueeze(-1) >> shifts) & (2**bits - 1)
    return numbers.flatten(-2)[..., :count].float()


@operator("MatMulNBits", domain=MS)
def matmul_nbits(
    *inputs: Any, K: int, N: int, block_size: int, bits: int = 4, accuracy_level: int = 0, **more: int
) -> Tensor:
    """x times a matrix of 2, 4 or 8 bits, a scale a block of its rows. [..., k] -> [..., n]"""
    if more.pop("weight_prepacked", 0) or more:
        raise ValueError(f"weights in the order of one device, or {list(more)}: this is not offered")
    if bits not in (2, 4, 8) or not 0 <= accuracy_level <= 4:
        raise ValueError(f"bits={bits}, accuracy_level={accuracy_level}: takes 2, 4 or 8, and 0 to 4")
    i, blocks = BitsInputs(*inputs), -(-K // block_size)
    w = _split(i.words.reshape(N, blocks, -1), bits, block_size)
    scales = i.scales.reshape(N, blocks).float()
    if i.zeros is None:
        zeros: Any = float(2 ** (bits - 1))
    elif i.zeros.dtype.is_float:
        zeros = i.zeros.reshape(N, blocks).float()
    else:
        zeros = _split(i.zeros.reshape(N, -1), bits, blocks)
    w = _by_block(w, scales, zeros, i.order, K)
    y = i.x.float() @ w.mT
    return (y if i.bias is None else y + i.bias.float()).to(i.x.dtype)


def _by_block(w: Tensor, scales: Tensor, zeros: Any, order: Tensor | None, k: int) -> Tensor:
    """(w - zero) * scale, of a column's own block, or of that which is said. [n, blocks, size] -> [n, k]"""
    if order is None:
        zeros = zeros.unsqueeze(-1) if isinstance(zeros, Tensor) else zeros
        return ((w - zeros) * scales.unsqueeze(-1)).flatten(1)[:, :k]
    at = order.long()
    zeros = zeros[:, at] if isinstance(zeros, Tensor) else zeros
    return (w.flatten(1)[:, :k] - zeros) * scales[:, at]


def _filled(inputs: tuple, count: int) -> tuple[Any, ...]:
    """Inputs, None for those that are left out at the end."""
    return (*inputs, *[None] * (count - len(inputs)))


# --- dynamically quantised ---


@operator("DynamicQuantizeMatMul", domain=MS)
def dynamic_quantize_matmul(
    a: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """a @ b, a quantised by its own range. [..., k], [k, n] of 8 bits -> [..., n]"""
    whole, scale, zero = dynamic_quantize_linear(a)
    y = matmul_integer(whole, b, zero, b_zero).float() * (b_scale * scale)
    return y if bias is None else y + bias


@operator("MatMulIntegerToFloat", domain=MS)
def matmul_integer_to_float(*inputs: Any) -> Tensor:
    """The product of quantised matrices in floats. [..., m, k], [..., k, n] -> [..., m, n]"""
    a, b, a_scale, b_scale, a_zero, b_zero, bias = _filled(inputs, 7)
    y = matmul_integer(a, b, a_zero, b_zero).float() * (a_scale * b_scale)
    return y if bias is None else y + bias


# --- between quantised numbers ---


def _floats(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    whole = x.int() if zero is None else x.int() - zero.int()
    return whole.float() * scale


def _back(y: Tensor, scale: Tensor, zero: Tensor | None, like: Tensor) -> Tensor:
    name = like.dtype.name
    return cast(rounded(y / scale, zero, name), name)


def _two(name: str, compute: Callable[[Tensor, Tensor], Tensor]) -> None:
    @operator(name, domain=MS)
    def both(*inputs: Any) -> Tensor:
        a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = _filled(inputs, 8)
        return _back(compute(_floats(a, a_scale, a_zero), _floats(b, b_scale, b_zero)), scale, zero, a)


def _one(name: str, compute: Callable[..., Tensor]) -> None:
    @operator(name, domain=MS)
    def one(
        x: Tensor, x_scale: Tensor, x_zero: Any, scale: Tensor, zero: Tensor | None = None, **attributes: Any
    ) -> Tensor:
        return _back(compute(_floats(x, x_scale, x_zero), **attributes), scale, zero, x)


def _leaky(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return F.leaky_relu(x, alpha)


def _softmax(x: Tensor, *, axis: int = -1, opset: int) -> Tensor:
    if opset >= 13:
        return F.softmax(x, axis)
    axis = axis % x.ndim
    return F.softmax(x.flatten(axis), axis).reshape(*x.shape)


def _mean(x: Tensor, *, axes: tuple[int, ...] | None = None, keepdims: int = 1) -> Tensor:
    return x.mean(tuple(axes or range(x.ndim)), keepdim=bool(keepdims))


def _channels_first(compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A pool that also takes channels in the last dim."""

    def pool(x: Tensor, *, channels_last: int = 0, **attributes: Any) -> Tensor:
        y = compute(x.movedim(-1, 1) if channels_last else x, **attributes)
        return y.movedim(1, -1) if channels_last else y

    return pool


def _global_mean(x: Tensor) -> Tensor:
    return x.mean(tuple(range(2, x.ndim)), keepdim=True)


_two("QLinearAdd", lambda a, b: a + b)
_two("QLinearMul", lambda a, b: a * b)
_one("QLinearSigmoid", lambda x: x.sigmoid())
_one("QLinearLeakyRelu", _leaky)
_one("QLinearSoftmax", _softmax)
_one("QLinearReduceMean", _mean)
_one("QLinearAveragePool", _channels_first(average_pool))
_one("QLinearGlobalAveragePool", _channels_first(_global_mean))


@operator("QLinearConcat", domain=MS)
def qlinear_concat(scale: Tensor, zero: Tensor, *inputs: Tensor, axis: int) -> Tensor:
    """Quantised tensors, each with its scale and zero point, behind each other."""
    each = [_floats(*inputs[k : k + 3]) for k in range(0, len(inputs), 3)]
    return _back(cat(each, axis), scale, zero, inputs[0])


@operator("QLinearWhere", domain=MS)
def qlinear_where(*inputs: Tensor) -> Tensor:
    """One quantised tensor where a condition holds, another where it does not."""
    condition, x, x_scale, x_zero, y, y_scale, y_zero, scale, zero = inputs
    return _back(where(condition, _floats(x, x_scale, x_zero), _floats(y, y_scale, y_zero)), scale, zero, x)


@operator("QGemm", domain=MS)
def qgemm(*inputs: Any, alpha: float = 1.0, transA: int = 0, transB: int = 0) -> Tensor:
    """alpha * a @ b + c of quantised matrices; in floats where no scale is said. [m, k], [k, n] -> [m, n]"""
    a, a_scale, a_zero, b, b_scale, b_zero, c, scale, zero = _filled(inputs, 9)
    a, b = a.mT if transA else a, b.mT if transB else b
    total = matmul_integer(a, b, a_zero, b_zero)
    y = (total if c is None else total + c).float() * (a_scale * b_scale * alpha)
    return y if scale is None else _back(y, scale, zero, a)
