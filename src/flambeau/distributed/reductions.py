"""Reductions of arrays of several ranks, in one fixed tree, so that the result depends only on the inputs."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from ..errors import TypeError

Array = np.ndarray[Any, Any]


class ReduceOp(Enum):
    """How a collective joins the elements of all ranks: PyTorch's names."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


def multiply(a: Array, b: Array, out: Array | None = None) -> Array:
    """The product. Complex ones by parts: NumPy's loops round the last elements of an array differently."""
    if a.dtype.kind != "c":
        return np.multiply(a, b, out=out)
    real, imaginary = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    result = np.empty_like(a) if out is None else out
    result.real, result.imag = real, imaginary
    return result


UFUNCS: dict[ReduceOp, Callable[..., Array]] = {
    ReduceOp.SUM: np.add,
    ReduceOp.AVG: np.add,
    ReduceOp.PRODUCT: multiply,
    ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
    ReduceOp.BAND: np.bitwise_and,
    ReduceOp.BOR: np.bitwise_or,
    ReduceOp.BXOR: np.bitwise_xor,
}
# The kinds of dtypes (NumPy's letters) that an op takes; sums and products of bool are "or" and "and".
KINDS = {
    ReduceOp.AVG: "fc",
    **dict.fromkeys((ReduceOp.MIN, ReduceOp.MAX), "biuf"),
    **dict.fromkeys((ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR), "biu"),
}
BFLOAT16 = "bfloat16"  # named beside a uint16 array, which holds the upper halves of float32


def check_op(call: str, op: ReduceOp, dtype: str) -> None:
    """Raises TypeError if `op` has no meaning for the dtype."""
    kind = "f" if dtype == BFLOAT16 else np.dtype(dtype).kind
    if kind not in KINDS.get(op, "biufc"):
        raise TypeError(f"{call}(op={op.name}, dtype={dtype}): this dtype has no {op.name}")


def tree_reduce(parts: Sequence[Array], op: ReduceOp, out: Array, dtype: str | None = None) -> None:
    """Reduce arrays of equal shape into `out`: neighbours first, ((0+1)+(2+3))+((4+5)+6).

    A power-of-two number of parts gives the bits that reducing equal halves first and their results later
    gives. float16 and bfloat16 accumulate in float32 and are rounded once.

    parts: in the order of the ranks
    op: AVG divides by the number of parts
    out: may be one of the parts if it is the first
    dtype: "bfloat16" if the arrays are uint16 and hold bfloat16
    """
    if dtype == BFLOAT16:
        wide = np.empty(out.shape, np.float32)
        _join([widen_bfloat16(part) for part in parts], op, wide)
        out[...] = narrow_bfloat16(wide)
    elif out.dtype == np.float16:
        wide = np.empty(out.shape, np.float32)
        _join([part.astype(np.float32) for part in parts], op, wide)
        with np.errstate(over="ignore"):
            out[...] = wide
    else:
        _join(parts, op, out)


def _join(parts: Sequence[Array], op: ReduceOp, out: Array) -> None:
    with np.errstate(all="ignore"):
        _reduce_into(parts, UFUNCS[op], out)
        if op is ReduceOp.AVG:
            for part in (out.real, out.imag) if out.dtype.kind == "c" else (out,):
                np.divide(part, part.dtype.type(len(parts)), out=part)


def _reduce_into(parts: Sequence[Array], ufunc: Callable[..., Any], out: Array) -> None:
    if len(parts) == 1:
        if parts[0] is not out:
            np.copyto(out, parts[0])
        return
    if len(parts) == 2:
        ufunc(parts[0], parts[1], out=out)
        return
    half = 1 << ((len(parts) - 1).bit_length() - 1)  # the largest power of two below the number of parts
    _reduce_into(parts[:half], ufunc, out)
    right = parts[half]
    if len(parts) > half + 1:
        right = np.empty_like(out)
        _reduce_into(parts[half:], ufunc, right)
    ufunc(out, right, out=out)


def widen_bfloat16(bits: Array) -> Array:
    """The float32 values of bfloat16 bits (uint16)."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrow_bfloat16(values: Array) -> Array:
    """The bfloat16 bits (uint16) of float32 values, rounded to nearest even; NaN stays NaN."""
    words = values.view(np.uint32)
    # Half of the dropped range less one, plus the last kept bit: ties go to even. An overflow carries into
    # the exponent and gives infinity, as it should.
    rounded = (words + 0x7FFF + ((words >> 16) & 1)) >> 16
    # A NaN whose payload is only in the lower half would become infinity, so the quiet bit is set.
    return np.where(np.isnan(values), (words >> 16) | 0x40, rounded).astype(np.uint16)
