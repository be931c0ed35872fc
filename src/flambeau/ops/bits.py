"""The bits of elements: floats as unsigned numbers and back, and a tensor seen as of another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core import op as _ops
from ..core.alias import ComposedMove, link
from ..core.declare import composed
from ..core.op import Op, check_held
from ..core.shape import Shape
from .join import stack

if TYPE_CHECKING:
    from ..core.dtype import DTypeLike
    from ..core.rules import Array, DTypeRule, Reference
    from ..device.array_namespace import Namespace
    from ..tensor import Tensor

UNSIGNED = {1: dt.uint8, 2: dt.uint16, 4: dt.uint32, 8: dt.uint64}  # by bytes
HALF_BIAS, HALF_SMALLEST = 112, 2.0**-24  # of exponents, beside float32's; the smallest number that is not 0


def _seen(xp: Namespace, x: Array, name: str) -> Array:
    """The same bytes as elements of another type, through the host: libraries differ in how they say it."""
    import numpy as np

    given = np.ascontiguousarray(xp.to_host(x))
    held = given.astype(name.replace("float", "uint"), copy=False) if name.startswith("float") else given
    return xp.from_host(held.view(name).reshape(given.shape))


def _bits_of(xp: Namespace, x: Array) -> Array:
    wide = "64" if xp.name_of(x) == "float64" else "32"
    return _seen(xp, xp.astype(x, "float" + wide), "uint" + wide)


def _of_bits(xp: Namespace, x: Array) -> Array:
    return _seen(xp, x, "float64" if xp.name_of(x) == "uint64" else "float32")


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
    """The same elements in another shape, or the same bytes as elements of another dtype, of which the
    last dim has more or fewer. [...] -> [*shape], or [..., n] -> [..., n * size / new size]

    dtype: a dtype, in place of sizes; written through as other views. ValueError where the last dim is no
    whole number of such elements, TypeError for float64 and complex128 on a GPU.
    """
    if len(shape) == 1 and isinstance(shape[0], dt.DType):
        shape, dtype = (), shape[0]
    if dtype is None:
        return input.reshape(*shape)
    return input if input.dtype is (wanted := dt.as_dtype(dtype)) else seen_as(input, wanted)


def seen_as(x: Any, dtype: dt.DType) -> Any:
    """A view of the same bytes."""
    check_held(dtype, x.device)
    move = ComposedMove("view", partial(_seen_shape, x.dtype, dtype))
    shape = move.shape(x.shape, dtype)
    made = _ops.Tensor(_made_of(x.detach(), dtype).reshape(*shape).node)
    link(x, made, move, {"dtype": dtype})
    return made


def _size(dtype: dt.DType) -> int:
    """Bytes of an element as PyTorch has it: a bool is one."""
    return 1 if dtype is dt.bool_ else dtype.itemsize


def _seen_shape(was: dt.DType, now: dt.DType, shape: Shape, dtype: Any = None) -> Shape:
    if _size(was) == _size(now):
        return shape
    if not shape:
        rule = "reshape(1) it: a single one of another size can't be seen"
        raise ValueError(f"elements of {now.name} are of another size: {rule}")
    n, rest = divmod(shape[-1] * _size(was), _size(now))
    if rest:
        step = _size(now) // _size(was)
        rule = f"a last dim of {shape[-1]} is no multiple of {step}"
        raise ValueError(f"{rule}, which many elements of {was.name} are one of {now.name}: pad or cut it")
    return (*shape[:-1], n)


def _made_of(x: Any, dtype: dt.DType) -> Any:
    """The elements in their order, in any shape."""
    if x.dtype.is_complex:
        return _made_of(x.view_as_real().reshape(-1), dtype)
    if dtype.is_complex:
        return _made_of(x.reshape(-1), dtype.real).reshape(-1, 2).view_as_complex()
    return _floats_of(_regrouped(_unsigned(x).reshape(-1), _size(dtype)), dtype)


def _regrouped(u: Any, itemsize: int) -> Any:
    """Unsigned numbers cut, or put together, to others of that many bytes, the low ones first. [n] -> [m]"""
    bits, wanted = 8 * u.dtype.itemsize, UNSIGNED[itemsize]
    if bits > 8 * itemsize:
        mask = (1 << 8 * itemsize) - 1
        return stack([((u >> at) & mask).to(wanted) for at in range(0, bits, 8 * itemsize)], -1).reshape(-1)
    if bits == 8 * itemsize:
        return u
    parts = u.reshape(-1, 8 * itemsize // bits).to(max(wanted, dt.uint32, key=lambda d: d.itemsize))
    found = parts[:, 0]
    for i in range(1, parts.shape[1]):
        found = found | (parts[:, i] << (i * bits))
    return found.to(wanted)


def _unsigned(x: Any) -> Any:
    """The bits of each element as an unsigned number of its size."""
    if x.dtype is dt.float16:
        return _bits_of_half(x)
    if x.dtype is dt.bfloat16:
        return (BITS(x) >> 16).to(dt.uint16)
    return BITS(x) if x.dtype.is_float else x.to(UNSIGNED[_size(x.dtype)])


def _floats_of(u: Any, dtype: dt.DType) -> Any:
    """What unsigned numbers of a dtype's size are the bits of."""
    if dtype is dt.float16:
        return _half_of_bits(u.to(dt.uint32))
    if dtype is dt.bfloat16:
        return FLOAT(u.to(dt.uint32) << 16).to(dtype)
    return FLOAT(u) if dtype.is_float else u.to(dtype)


def _bits_of_half(x: Any) -> Any:
    b = BITS(x)
    e = (b >> 23) & 255
    small = (x.float().abs() * (1 / HALF_SMALLEST)).to(dt.uint32)
    normal = ((b & 0x7FFFFFFF) >> 13) - (HALF_BIAS << 10)
    finite = (e <= HALF_BIAS).where(small, normal)
    return (((b >> 16) & 0x8000) | (e == 255).where(0x7C00 | ((b >> 13) & 0x3FF), finite)).to(dt.uint16)


def _half_of_bits(u: Any) -> Any:
    e, m = (u >> 10) & 31, u & 0x3FF
    small = BITS(m.float() * HALF_SMALLEST)
    finite = (e == 0).where(small, ((u & 0x7FFF) << 13) + (HALF_BIAS << 23))
    whole = ((u & 0x8000) << 16) | (e == 31).where(0x7F800000 | (m << 13), finite)
    return FLOAT(whole).to(dt.float16)
