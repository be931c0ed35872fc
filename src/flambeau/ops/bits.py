"""Bit-level views: floats as unsigned integers and back, and views of a tensor in another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..core import dtype as dt
from ..core import op as _ops
from ..core.alias import ComposedMove, link
from ..core.declare import composed
from ..core.float8 import FORMS, NAN
from ..core.op import Op, check_held
from ..core.shape import Shape
from .join import stack

if TYPE_CHECKING:
    from ..core.dtype import DTypeLike
    from ..core.rules import Array, DTypeRule, Reference
    from ..device.array_namespace import Namespace
    from ..tensor import Tensor

UNSIGNED = {1: dt.uint8, 2: dt.uint16, 4: dt.uint32, 8: dt.uint64}  # unsigned dtypes by size in bytes
# float16: the difference of float32's exponent bias and its own, and its smallest positive number
HALF_BIAS, HALF_SMALLEST = 112, 2.0**-24


def _reinterpret(xp: Namespace, x: Array, name: str) -> Array:
    """Reinterpret bytes as another type, through the host, since array libraries differ in this."""
    import numpy as np

    values = np.ascontiguousarray(xp.to_host(x))
    bits = values.astype(name.replace("float", "uint"), copy=False) if name.startswith("float") else values
    return xp.from_host(bits.view(name).reshape(values.shape))


def _bits_of(xp: Namespace, x: Array) -> Array:
    wide = "64" if xp.name_of(x) == "float64" else "32"
    return _reinterpret(xp, xp.astype(x, "float" + wide), "uint" + wide)


def _of_bits(xp: Namespace, x: Array) -> Array:
    return _reinterpret(xp, x, "float64" if xp.name_of(x) == "uint64" else "float32")


def _op(name: str, xp: Reference, kinds: str, dtype: DTypeRule, operands: DTypeRule) -> Op:
    """An op without a gradient, which only views use: it is not in the table."""
    return Op(
        "elementwise", xp, dtype=dtype, operands=operands, dtypes=kinds, name=name, operand_names=("input",)
    )


# float32 <-> uint32 and float64 <-> uint64, after narrower operands are widened
BITS = _op(
    "float_bits",
    _bits_of,
    "f",
    dtype=lambda d: dt.uint64 if d is dt.float64 else dt.uint32,
    operands=lambda d: d.as_float,
)
FLOAT = _op(
    "float_of_bits",
    _of_bits,
    "u",
    dtype=lambda d: dt.float64 if d is dt.uint64 else dt.float32,
    operands=lambda d: max(d, dt.uint32, key=_size),
)


@composed
def view(input: Tensor, *shape: int | Sequence[int], dtype: DTypeLike | None = None) -> Tensor:
    """The same elements in another shape, or the same bytes as elements of another dtype, which changes the
    size of the last dim. [...] -> [*shape], or [..., n] -> [..., n * size / new size]

    dtype: a dtype instead of sizes; writes to the view reach the tensor. ValueError if the bytes of the last
    dim are not a multiple of the dtype's, TypeError for float64 and complex128 on a GPU.
    """
    if len(shape) == 1 and isinstance(shape[0], dt.DType):
        shape, dtype = (), shape[0]
    if dtype is None:
        return input.reshape(*shape)
    return input if input.dtype is (target := dt.as_dtype(dtype)) else view_as_dtype(input, target)


def view_as_dtype(x: Tensor, dtype: dt.DType) -> Tensor:
    """A view of the same bytes."""
    check_held(dtype, x.device)
    move = ComposedMove("view", partial(_viewed_shape, x.dtype, dtype))
    shape = move.shape(x.shape, dtype)
    result = _ops.Tensor(_cast_bits(x.detach(), dtype).reshape(*shape).node)
    link(x, result, move, {"dtype": dtype})
    return result


def _size(dtype: dt.DType) -> int:
    """Bytes of an element in PyTorch: 1 for a bool."""
    return 1 if dtype is dt.bool_ else dtype.itemsize


def _viewed_shape(was: dt.DType, now: dt.DType, shape: Shape, dtype: DTypeLike | None = None) -> Shape:
    if _size(was) == _size(now):
        return shape
    if not shape:
        rule = "reshape(1) it: a 0-d tensor can't be viewed as elements of another size"
        raise ValueError(f"elements of {now.name} have another size: {rule}")
    # elements of the new size in a row, and bytes left over
    n, rest = divmod(shape[-1] * _size(was), _size(now))
    if rest:
        step = _size(now) // _size(was)
        rule = f"the last dim of {shape[-1]} is not a multiple of {step}"
        raise ValueError(
            f"{rule}, the number of {was.name} elements in one {now.name} element: pad or crop it"
        )
    return (*shape[:-1], n)


def _cast_bits(x: Tensor, dtype: dt.DType) -> Tensor:
    """The same bytes as elements of a dtype, in order, in any shape."""
    if x.dtype.is_complex:
        return _cast_bits(x.view_as_real().reshape(-1), dtype)
    if dtype.is_complex:
        return _cast_bits(x.reshape(-1), dtype.real).reshape(-1, 2).view_as_complex()
    return _floats_of(_regroup(_unsigned_bits(x).reshape(-1), _size(dtype)), dtype)


def _regroup(u: Tensor, itemsize: int) -> Tensor:
    """Splits unsigned integers into, or joins them to, others of `itemsize` bytes, low bytes first.
    [n] -> [m]"""
    bits, target = 8 * u.dtype.itemsize, UNSIGNED[itemsize]
    if bits > 8 * itemsize:
        mask = (1 << 8 * itemsize) - 1
        return stack(
            [((u >> shift) & mask).to(target) for shift in range(0, bits, 8 * itemsize)], -1
        ).reshape(-1)
    if bits == 8 * itemsize:
        return u
    # Neighbours in a row: the first has the low bytes.
    parts = u.reshape(-1, 8 * itemsize // bits).to(max(target, dt.uint32, key=lambda d: d.itemsize))
    joined = parts[:, 0]
    for i in range(1, parts.shape[1]):
        joined = joined | (parts[:, i] << (i * bits))
    return joined.to(target)


def _unsigned_bits(x: Tensor) -> Tensor:
    """The bits of each element as an unsigned integer of its size."""
    if x.dtype is dt.float16:
        return _bits_of_half(x)
    if x.dtype is dt.bfloat16:
        return (BITS(x) >> 16).to(dt.uint16)
    if x.dtype.is_storage:
        return _codes(x)
    return BITS(x) if x.dtype.is_float else x.to(UNSIGNED[_size(x.dtype)])


def _floats_of(u: Tensor, dtype: dt.DType) -> Tensor:
    """The elements of a dtype with the bits of these unsigned integers."""
    if dtype is dt.float16:
        return _half_of_bits(u.to(dt.uint32))
    if dtype is dt.bfloat16:
        return FLOAT(u.to(dt.uint32) << 16).to(dtype)
    if dtype.is_storage:
        return _of_codes(u.to(dt.uint32), dtype)
    return FLOAT(u) if dtype.is_float else u.to(dtype)


def _bits_of_half(x: Tensor) -> Tensor:
    b = BITS(x)
    e = (b >> 23) & 255
    # Below 2^-14 a half is a multiple of its smallest number; the exact count is its bits.
    small = (x.float().abs() * (1 / HALF_SMALLEST)).to(dt.uint32)
    # The exponent and the upper 10 bits of the mantissa, with the smaller exponent bias.
    normal = ((b & 0x7FFFFFFF) >> 13) - (HALF_BIAS << 10)
    finite = (e <= HALF_BIAS).where(small, normal)
    # sign; infinity, or NaN with its payload
    return (((b >> 16) & 0x8000) | (e == 255).where(0x7C00 | ((b >> 13) & 0x3FF), finite)).to(dt.uint16)


def _half_of_bits(u: Tensor) -> Tensor:
    e, m = (u >> 10) & 31, u & 0x3FF
    small = BITS(m.float() * HALF_SMALLEST)
    # exponent 0: subnormal, a multiple of the smallest number
    finite = (e == 0).where(small, ((u & 0x7FFF) << 13) + (HALF_BIAS << 23))
    bits = ((u & 0x8000) << 16) | (e == 31).where(0x7F800000 | (m << 13), finite)
    return FLOAT(bits).to(dt.float16)


def _codes(x: Tensor) -> Tensor:
    """The codes of 8-bit floats: all NaN have one (core/float8.py)."""
    form, x = FORMS[x.dtype], x.float()
    bits = BITS(x)
    size = bits & 0x7FFFFFFF
    small = (x.abs() * (1 / form.least)).to(dt.uint32)
    normal = (size >> 23 - form.mantissa) - (127 - form.bias << form.mantissa)
    finite = (size < 128 - form.bias << 23).where(small, normal)
    number = (size == 0x7F800000).where(form.top, finite)
    return (((bits >> 24) & 0x80) | (size > 0x7F800000).where(NAN, number)).to(dt.uint8)


def _of_codes(u: Tensor, dtype: dt.DType) -> Tensor:
    form, rest = FORMS[dtype], u & NAN
    shifted = rest << 23 - form.mantissa
    small = BITS(rest.float() * form.least)
    finite = (rest < 1 << form.mantissa).where(small, shifted + (127 - form.bias << 23))
    bits = (rest >= form.special).where(0x7F800000 | shifted, finite)
    return FLOAT(bits | ((u & 0x80) << 24)).to(dtype)
