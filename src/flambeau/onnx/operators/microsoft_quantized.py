"""com.microsoft's quantised operators: MatMulNBits, QLinearAdd and similar ones, dynamic products."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.dtype import uint8
from ...core.modes import is_grad_enabled
from ...functions import cat, where
from ...nn import functional as F
from ...ops.quantized import BITS, Quantized, quantized_linear
from ...tensor import Tensor, tensor
from ..values import as_words, cast
from .index import gather
from .pool import average_pool
from .quantized import dynamic_quantize_linear, matmul_integer, round_to_integer
from .table import operator

MS = "com.microsoft"


class BitsInputs(NamedTuple):
    """The inputs of MatMulNBits."""

    x: Tensor
    words: Tensor  # [n, blocks, bytes of a block] uint8
    scales: Tensor  # [n, blocks], or flat
    zeros: Tensor | None = None  # [n, bytes of the blocks' zero points] uint8, or like scales
    order: Tensor | None = None  # the block of each column, [k]
    bias: Tensor | None = None  # [n]


def _split(words: Tensor, bits: int, count: int) -> Tensor:
    """Unpack small integers, the first in the low bits. [..., bytes] uint8 -> [..., count] float32"""
    each = 8 // bits
    shifts = Tensor.arange(each, device=words.device).int() * bits
    numbers = (words.int().unsqueeze(-1) >> shifts) & (2**bits - 1)
    return numbers.flatten(-2)[..., :count].float()


class BitsAttributes(NamedTuple):
    """The attributes of MatMulNBits, under its names."""

    K: int
    N: int
    block_size: int
    bits: int = 4
    accuracy_level: int = 0
    weight_prepacked: int = 0

    @property
    def blocks(self) -> int:
        """The number of blocks in a row; the last block may be partly unused."""
        return -(-self.K // self.block_size)


@operator("MatMulNBits", domain=MS)
def matmul_nbits(*inputs: Any, K: int, N: int, block_size: int, node: Any, **more: int) -> Tensor:
    """x times a matrix of 2, 4 or 8 bits with a scale for each block of a row. [..., k] -> [..., n]"""
    i, a = BitsInputs(*inputs), BitsAttributes(K, N, block_size, **more)
    if a.weight_prepacked:
        raise ValueError("weight_prepacked: weights in a device-specific order are not supported")
    if a.bits not in (2, 4, 8) or not 0 <= a.accuracy_level <= 4:
        raise ValueError(f"bits={a.bits}, accuracy_level={a.accuracy_level}: takes 2, 4 or 8, and 0 to 4")
    # Kernels of packed weights have no gradient of scales and zero points: then unpack to floats.
    of_weights = is_grad_enabled() and any(t is not None and t.requires_grad for t in i[2:4])
    fits = a.bits in BITS and a.block_size % 32 == 0 and i.order is None
    if fits and i.x.device.kind == "gpu" and not of_weights:
        return _by_packed(i, a, node)
    # once: for constant weights the float matrix is computed at the first call and kept.
    w = node.once(_unpack, *i[1:5], a, of=(1, 2, 3, 4))
    y = i.x.float() @ w.mT
    return (y if i.bias is None else y + i.bias.float()).to(i.x.dtype)


def _by_packed(i: BitsInputs, a: BitsAttributes, node: Any) -> Tensor:
    """Return the product by kernels that unpack weights in registers, with zero points in the middle of the
    range. Other zero points add a product of their differences with the sums of x's blocks."""
    words, scales, shift = node.once(_pack, *i[1:4], a, of=(1, 2, 3))
    x = i.x.pad([0, a.blocks * a.block_size - a.K]) if a.K % a.block_size else i.x
    bias = None if shift is not None or i.bias is None else i.bias.to(x.dtype)
    y = quantized_linear(x, Quantized(words, scales, a.bits, a.block_size), bias)
    if shift is None:
        return y
    # x (w - point) s = x (w - middle) s + sum(x of the block) (middle - point) s
    sums = x.float().reshape(*x.shape[:-1], a.blocks, a.block_size).sum(-1)
    y = y.float() + sums @ shift.mT
    return (y if i.bias is None else y + i.bias.float()).to(x.dtype)


def _pack(words: Tensor, scales: Tensor, zeros: Tensor | None, a: BitsAttributes) -> tuple[Any, ...]:
    """Return [n, words] uint32, [n, blocks] scales, and with zero points (middle - point) * scale."""
    # a block's bytes follow each other, so a row is one sequence of words
    scales = scales.reshape(a.N, a.blocks)
    packed = as_words(words.reshape(a.N, -1))
    points = _points(zeros, a)
    return packed, scales, None if zeros is None else (2 ** (a.bits - 1) - points) * scales.float()


def _points(zeros: Tensor | None, a: BitsAttributes) -> Any:
    """Return the zero point of each block: one number, or [n, blocks] float32."""
    if zeros is None:
        return float(2 ** (a.bits - 1))
    if zeros.dtype.is_float:
        return zeros.reshape(a.N, a.blocks).float()
    return _split(zeros.reshape(a.N, -1), a.bits, a.blocks)


def _unpack(
    words: Tensor, scales: Tensor, zeros: Tensor | None, order: Tensor | None, a: BitsAttributes
) -> Tensor:
    """Return the matrix in floats. -> [n, k]"""
    w = _split(words.reshape(a.N, a.blocks, -1), a.bits, a.block_size)
    return _by_block(w, scales.reshape(a.N, a.blocks).float(), _points(zeros, a), order, a.K)


def _by_block(w: Tensor, scales: Tensor, zeros: Any, order: Tensor | None, k: int) -> Tensor:
    """(w - zero) * scale, for the column's own block, or that of g_idx. [n, blocks, size] -> [n, k]"""
    if order is None:
        zeros = zeros.unsqueeze(-1) if isinstance(zeros, Tensor) else zeros
        return ((w - zeros) * scales.unsqueeze(-1)).flatten(1)[:, :k]
    # g_idx (GPTQ's act-order): column k belongs to block order[k], not to block k // block_size.
    positions = order.long()
    zeros = zeros[:, positions] if isinstance(zeros, Tensor) else zeros
    return (w.flatten(1)[:, :k] - zeros) * scales[:, positions]


class TableAttributes(NamedTuple):
    """The attributes of GatherBlockQuantized, under its names."""

    bits: int = 4
    block_size: int = 128
    gather_axis: int = 0
    quantize_axis: int = 1


@operator("GatherBlockQuantized", domain=MS, arrays=True)
def gather_block_quantized(
    table: Any, index: Tensor, scales: Tensor, zeros: Any = None, *, node: Any, **attributes: int
) -> Tensor:
    """Gather rows of a quantised table as floats; only these are unpacked.

    A scale, and a zero point, for each block along quantize_axis. Bytes hold 8 // bits neighbours of the last
    axis, the first in the low bits; their default zero point is the middle of the range."""
    # Only packed uint8 shares a byte; int4 and uint4 tables are one element each.
    bits, size, gather_axis, quantize_axis = TableAttributes(**attributes)
    shared = isinstance(table, Tensor) and table.dtype is uint8 and bits < 8
    rank, middle = table.ndim, 2 ** (bits - 1) if isinstance(table, Tensor) and table.dtype is uint8 else 0
    axis, along = gather_axis % rank, quantize_axis % rank
    if shared and (axis == rank - 1 or along != rank - 1):
        rule = "packed bytes hold neighbours along the last axis: quantize along it, and gather another axis"
        raise ValueError(f"gather_axis={gather_axis}, quantize_axis={quantize_axis}, bits={bits}: {rule}")
    table = node.once(_as_bytes, table, index.device, of=(0,))
    zeros = _as_bytes(zeros, index.device)
    taken, scales = gather(table, index, axis=axis), gather(scales, index, axis=axis)
    points: Any = float(middle) if zeros is None else gather(zeros, index, axis=axis)
    # Gathering replaces one axis by index.ndim axes: axes behind it move.
    along += index.ndim - 1 if along > axis else 0
    if shared:
        taken = _split(taken, bits, taken.shape[-1] * 8 // bits)
        points = points if zeros is None else _split(points, bits, scales.shape[-1])
    if isinstance(points, Tensor):
        points = _spread(points.float(), size, along, taken.shape[along])
    wide = _spread(scales.float(), size, along, taken.shape[along])
    return ((taken.float() - points) * wide).to(scales.dtype)


def _as_bytes(values: Any, device: Any) -> Any:
    """Convert 4-bit integers, which no device has, to a tensor of bytes."""
    if values is None or isinstance(values, Tensor):
        return values
    return tensor(values.astype("int8"), device=device)


def _spread(t: Tensor, size: int, axis: int, length: int) -> Tensor:
    """Repeat a value for each block to one for each element."""
    return t.repeat_interleave(size, axis).narrow(axis, 0, length)


def _pad_inputs(inputs: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Pad the inputs with None for trailing omitted ones."""
    return (*inputs, *[None] * (count - len(inputs)))


# --- dynamically quantised ---


@operator("DynamicQuantizeMatMul", domain=MS)
def dynamic_quantize_matmul(
    a: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """a @ b, where a is quantised by its own range. [..., k], [k, n] of 8 bits -> [..., n]"""
    # One scale for all of a, computed at each call, as in onnxruntime.
    quantized, scale, zero = dynamic_quantize_linear(a)
    y = matmul_integer(quantized, b, zero, b_zero).float() * (b_scale * scale)
    return y if bias is None else y + bias


@operator("MatMulIntegerToFloat", domain=MS)
def matmul_integer_to_float(*inputs: Any) -> Tensor:
    """Return the product of quantised matrices in floats. [..., m, k], [..., k, n] -> [..., m, n]"""
    a, b, a_scale, b_scale, a_zero, b_zero, bias = _pad_inputs(inputs, 7)
    y = matmul_integer(a, b, a_zero, b_zero).float() * (a_scale * b_scale)
    return y if bias is None else y + bias


# --- between quantised numbers ---


def _floats(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    integers = x.int() if zero is None else x.int() - zero.int()
    return integers.float() * scale


def _back(y: Tensor, scale: Tensor, zero: Tensor | None, like: Tensor) -> Tensor:
    name = like.dtype.name
    return cast(round_to_integer(y / scale, zero, name), name)


def _two(name: str, compute: Callable[[Tensor, Tensor], Tensor]) -> None:
    @operator(name, domain=MS)
    def both(*inputs: Any) -> Tensor:
        a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = _pad_inputs(inputs, 8)
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
    """Return a pool that also takes channels in the last dim."""

    def pool(x: Tensor, *, channels_last: int = 0, **attributes: Any) -> Tensor:
        y = compute(x.movedim(-1, 1) if channels_last else x, **attributes)
        return y.movedim(1, -1) if channels_last else y

    return pool


def _global_mean(x: Tensor) -> Tensor:
    return x.mean(tuple(range(2, x.ndim)), keepdim=True)


_two("QLinearAdd", lambda a, b: a + b)
_two("QLinearMul", lambda a, b: a * b)
_one("QLinearSigmoid", Tensor.sigmoid)
_one("QLinearLeakyRelu", _leaky)
_one("QLinearSoftmax", _softmax)
_one("QLinearReduceMean", _mean)
_one("QLinearAveragePool", _channels_first(average_pool))
_one("QLinearGlobalAveragePool", _channels_first(_global_mean))


@operator("QLinearConcat", domain=MS)
def qlinear_concat(scale: Tensor, zero: Tensor, *inputs: Tensor, axis: int) -> Tensor:
    """Concatenate quantised tensors, each with its scale and zero point."""
    each = [_floats(*inputs[k : k + 3]) for k in range(0, len(inputs), 3)]
    return _back(cat(each, axis), scale, zero, inputs[0])


@operator("QLinearWhere", domain=MS)
def qlinear_where(*inputs: Tensor) -> Tensor:
    """One quantised tensor where a condition holds, another where it does not."""
    condition, x, x_scale, x_zero, y, y_scale, y_zero, scale, zero = inputs
    return _back(where(condition, _floats(x, x_scale, x_zero), _floats(y, y_scale, y_zero)), scale, zero, x)


@operator("QGemm", domain=MS)
def qgemm(*inputs: Any, alpha: float = 1.0, transA: int = 0, transB: int = 0) -> Tensor:
    """alpha * a @ b + c of quantised matrices; in floats without an output scale. [m, k], [k, n] -> [m,
    n]"""
    a, a_scale, a_zero, b, b_scale, b_zero, c, scale, zero = _pad_inputs(inputs, 9)
    a, b = a.mT if transA else a, b.mT if transB else b
    total = matmul_integer(a, b, a_zero, b_zero)
    y = (total if c is None else total + c).float() * (a_scale * b_scale * alpha)
    return y if scale is None else _back(y, scale, zero, a)
