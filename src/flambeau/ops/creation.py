"""Tensors made of an index alone: ramps, grids, diagonals and triangles; nothing is uploaded for them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, TypeGuard

from ..core import dtype as dt
from ..core import op as _op
from ..core.alias import ComposedMove, link
from ..core.declare import composed
from ..core.op import OPS, Family, apply, check_held, constant
from ..core.shape import Shape, new_sizes, normal_dim, sizes_of
from ..device import get_device
from .elementwise import choose

if TYPE_CHECKING:
    from ..core.dtype import DType, DTypeLike
    from ..tensor import HostScalar, Tensor


@composed
def full(
    size: int | Sequence[int],
    fill_value: complex | HostScalar,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Every element the same number. (size, value) -> [*size]

    fill_value: what elements are
    Raises TypeError where the dtype is unknown; where one is no whole number; ValueError where a size
        is below 0.
    """
    node = constant(fill_value, dtype=None if dtype is None else dt.as_dtype(dtype))
    check_held(node.dtype, get_device(device))
    made = apply(OPS["expand"], (node,), {"shape": new_sizes((size,))}, device=get_device(device))
    return finished(_op.Tensor(made), None, requires_grad)


@composed
def zeros(
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number.
    """
    return full(sizes_of(size), 0, dtype or dt.default_float(), device, requires_grad)


@composed
def ones(
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number.
    """
    return full(sizes_of(size), 1, dtype or dt.default_float(), device, requires_grad)


@composed
def empty(
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor whose values are not to be relied on (zeros). (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number.
    """
    return full(sizes_of(size), 0, dtype or dt.default_float(), device, requires_grad)


def _like(name: str, value: int, doc: str):
    def like(
        input: Tensor, *, dtype: DTypeLike | None = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        device = input.device if device is None else device
        return full(
            input.shape, value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad
        )

    like.__name__, like.__qualname__, like.__doc__ = name, name, doc
    return composed(like)


zeros_like = _like("zeros_like", 0, "Zeros of the shape, dtype and device of x. [...] -> [...]")
ones_like = _like("ones_like", 1, "Ones of the shape, dtype and device of x. [...] -> [...]")
empty_like = _like("empty_like", 0, "Values not to be relied on, in the shape, dtype and device of x.")


@composed
def full_like(
    input: Tensor,
    fill_value: complex | HostScalar,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number in the shape, dtype and device of x. [...] -> [...]

    fill_value: what elements are
    """
    device = input.device if device is None else device
    return full(
        input.shape, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad
    )


def _computed_in(dtype: DTypeLike | None) -> DType:
    """What numbers of a dtype (of the default one without) are made in: not in 16 bits."""
    return (dt.default_float() if dtype is None else dt.as_dtype(dtype)).as_float


def _iota(n: int, device: Any) -> Tensor:
    return _op.Tensor(apply(OPS["iota"], (), {"n": n}, device=get_device(device)))


def _check_range(start: Any, end: Any, step: Any) -> None:
    if not (isfinite(start) and isfinite(end)):
        raise ValueError(f"start={start} or end={end} is not finite: give numbers that are")
    if not step or step != step:
        raise ValueError(f"step is {step}: give another")
    if (end > start and step < 0) or (end < start and step > 0):
        raise ValueError(
            f"step={step} leads away from end={end}: give one of the other sign, or exchange them"
        )


@composed
def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... short of end: int64 of three integers, else the default float. -> [n]

    ValueError where step is 0 or leads away from end, or a bound is not finite.
    """
    start, end = (0, start) if end is None else (start, end)
    _check_range(start, end, step)
    whole = all(isinstance(v, int) for v in (start, end, step))
    if dtype is not None and dt.as_dtype(dtype) is dt.int64 and not int(step):
        raise ValueError(f"step={step} of int64 is 0: give a whole one")
    if not whole and _is_whole(dtype):
        return finished(_whole_arange(start, end, step, dt.as_dtype(dtype), device), None, requires_grad)
    n = int(max(0, -((start - end) // step) if whole else ceil((end - start) / step)))
    out = _iota(n, device)
    if not whole:
        out = out.to(_computed_in(dtype))
    elif dtype is None or dt.as_dtype(dtype).is_pair:
        out = out.to(dtype or dt.default_integer())
    elif max(abs(start), abs(start + n * step)) > 2**31:
        out = out.long()
    out = out if step == 1 else out * step
    out = out if start == 0 else out + start
    return finished(out, dtype, requires_grad)


def _is_whole(dtype: DTypeLike | None) -> TypeGuard[DTypeLike]:
    """Whether a dtype is given and has integers."""
    return dtype is not None and dt.as_dtype(dtype).is_int


def _whole_arange(start: float, end: float, step: float, dtype: DType, device: Any) -> Tensor:
    """Of bounds and a step without their fractions, as in PyTorch; of int64 the count is so, too."""
    first, by = int(start), int(step)
    over = (int(end) - first) / by if dtype is dt.int64 else (end - start) / step
    return (_iota(max(0, ceil(over)), device).to(dtype) * by + first).to(dtype)


def _whole_line(start: Any, end: Any, steps: int, once: bool) -> list[float]:
    """Numbers from one to another, both without their fractions, of double precision. Each half counts from
    its own end; product and sum are rounded `once`, or each, as PyTorch has it."""
    start, end = int(start), int(end)
    step = (end - start) / max(steps - 1, 1)
    n, unit = step.as_integer_ratio()
    half = steps // 2 if steps > 1 else steps
    counts = [(start, i) for i in range(half)] + [(end, i - steps + 1) for i in range(half, steps)]
    return [(a * unit + n * i) / unit if once else a + step * i for a, i in counts]


def _cut(values: Sequence[float], dtype: DTypeLike, device: Any) -> Tensor:
    """Numbers of the host as integers, towards 0; what does not fit wraps, and is the least beyond int64."""
    whole = [int(v) if -(2.0**63) <= v < 2.0**63 else -(2**63) for v in values]
    made = full((), 0, dt.int64, device).new_tensor(whole, dtype=dt.int64)
    return made.reshape(len(whole)).to(dt.as_dtype(dtype))


def _power(base: float, exponent: float) -> float:
    try:
        return base**exponent
    except OverflowError:
        return float("inf")


@composed
def linspace(
    start: float | HostScalar,
    end: float,
    steps: int,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers from start to end, both included; each half counts from its own end. -> [steps]

    Raises ValueError where steps is no whole number from 0.
    """
    if getattr(start, "ndim", 0) or getattr(end, "ndim", 0):
        raise ValueError("start and end are numbers or tensors of no dims: add dims to a line of numbers")
    if steps < 0:
        raise ValueError(f"steps={steps} is not a whole number from 0: give how many numbers to make")
    if _is_whole(dtype):
        return finished(_cut(_whole_line(start, end, steps, True), dtype, device), None, requires_grad)
    step = (end - start) / max(steps - 1, 1)
    i, wide = _iota(steps, device), _computed_in(dtype)
    forward, back = i.to(wide) * step + start, (steps - 1 - i).to(wide) * -step + end
    return finished((i < (steps + 1) // 2).where(forward, back), dtype, requires_grad)


@composed
def logspace(
    start: float | HostScalar,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """base to the powers of linspace(start, end, steps). -> [steps]

    Raises ValueError where steps is no whole number from 0.
    """
    if _is_whole(dtype):
        powers = _whole_line(start, end, steps, False) if steps != 1 else [start * 1.0]
        return finished(_cut([_power(base, x) for x in powers], dtype, device), None, requires_grad)
    powers = linspace(start, end, steps, dtype=_computed_in(dtype), device=device)
    return finished(full((), float(base), powers.dtype, device).pow(powers), dtype, requires_grad)


@composed
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal. n -> [n, n] (or [n, m])

    Raises ValueError where a size is below 0.
    """
    if n < 0 or (m or 0) < 0:
        raise ValueError(f"n={n} and m={m} are sizes: give numbers from 0")
    rows, columns = _iota(n, device).unsqueeze(1), _iota(n if m is None else m, device)
    return finished((rows == columns).to(dtype or dt.default_float()), None, requires_grad)


@composed
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Each vector along a dim of its own of a grid; "xy" swaps the first two. [a], [b] -> 2 x [a, b]

    indexing: "ij" for rows first, "xy" for columns first
    Raises ValueError where indexing is unknown, or one has more than 1 dim.
    """
    vectors: Any = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    if indexing not in ("ij", "xy"):
        raise ValueError(f"indexing={indexing!r} is unknown: use 'ij' or 'xy'")
    if any(t.ndim > 1 for t in vectors):
        raise ValueError("takes vectors (or single numbers): flatten them")
    n = len(vectors)
    place = list(range(n))
    if indexing == "xy" and n > 1:
        place[:2] = [1, 0]
    sizes = [0] * n
    for t, d in zip(vectors, place, strict=True):
        sizes[d] = t.numel()
    return tuple(
        t.reshape(*(-1 if e == d else 1 for e in range(n))).expand(*sizes)
        for t, d in zip(vectors, place, strict=True)
    )


@composed
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every choice of one element of each vector, the last fastest; of one vector itself.
    [a], [b] -> [a * b, 2]

    Raises ValueError where one has not 1 dim.
    """
    if any(t.ndim != 1 for t in tensors):
        raise ValueError("takes vectors: flatten them")
    if len(tensors) == 1:
        return tensors[0]
    return _op.COMPOSED["stack"]([t.reshape(-1) for t in meshgrid(*tensors)], -1)


@composed
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of x in columns, falling unless increasing. [n] -> [n, N]"""
    columns = x.shape[-1] if N is None else N
    powers = _iota(columns, x.device)
    x = x.to(dt.counted(x.dtype))
    return x.unsqueeze(-1).pow(powers if increasing else columns - 1 - powers)


def _lower_places(row: int, col: int, offset: int, device: Any) -> tuple[Tensor, Tensor]:
    """Row and column of each place of a lower triangle, in reading order, int32.

    First come rows that grow by one, whose number solves a quadratic (in float, then corrected by one either
    way), then rows of all columns.
    """
    if row < 0 or col < 0:
        raise ValueError(f"a matrix has no {row} rows and {col} columns: give sizes from 0")
    first = min(max(0, -offset), row)
    length = min(max(first + offset + 1, 0), col)  # of the first row
    growing = min(max(0, col - length), row - first)
    ramp = growing * length + growing * (growing - 1) // 2
    i = _iota(ramp + (row - first - growing) * col, device)
    b = 2 * length - 1
    k = (((i.float() * 8 + float(b * b)).sqrt() - b) * 0.5).int()
    start = _before(k, length)
    k = k - (start > i).int()
    k = k + (_before(k + 1, length) <= i).int()
    full_rows = (i - ramp) // max(col, 1)
    late = i >= ramp
    rows = late.where(full_rows + (first + growing), k + first)
    return rows, late.where(i - ramp - full_rows * col, i - _before(k, length))


def _before(k: Tensor, length: int) -> Tensor:
    """How many places the first k rows hold, of which each is one longer than the one above."""
    return k * length + k * (k - 1) // 2


@composed
def tril_indices(
    row: Any, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Tensor:
    """Rows and columns of a matrix's lower triangle, in reading order, int64. -> [2, n]

    row: the number of rows
    col: the number of columns
    offset: which diagonal: above the main one where > 0, below where < 0
    Raises ValueError where row or col is below 0.
    """
    return finished(
        _op.COMPOSED["stack"](_lower_places(row, col, offset, device)), dtype or dt.default_integer()
    )


@composed
def triu_indices(
    row: Any, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Tensor:
    """Rows and columns of a matrix's upper triangle, in reading order, int64. -> [2, n]

    row: the number of rows
    col: the number of columns
    offset: which diagonal: above the main one where > 0, below where < 0
    Raises ValueError where row or col is below 0.
    """
    rows, columns = _lower_places(row, col, col - row - offset, device)  # turned half round
    turned = [row - 1 - rows.flip(0), col - 1 - columns.flip(0)]
    return finished(_op.COMPOSED["stack"](turned), dtype or dt.default_integer())


def _length(n: int, m: int, offset: int) -> int:
    """How many elements a diagonal has."""
    return max(0, min(n, m - offset) if offset >= 0 else min(n + offset, m))


def _diagonal_shape(shape: Shape, offset: int, dim1: int, dim2: int) -> Shape:
    rest = (n for d, n in enumerate(shape) if d not in (dim1, dim2))
    return (*rest, _length(shape[dim1], shape[dim2], offset))


DIAGONAL = ComposedMove("diagonal", _diagonal_shape)


@composed
def new_full(
    input: Tensor,
    size: int | Sequence[int],
    fill_value: complex | HostScalar,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number in a new shape, in this dtype and on this device. -> [*size]

    fill_value: what elements are
    """
    device = input.device if device is None else device
    return full(size, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


@composed
def new_zeros(
    input: Tensor,
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros in a new shape, in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number.
    """
    return input.new_full(sizes_of(size), 0, dtype=dtype, device=device, requires_grad=requires_grad)


@composed
def new_ones(
    input: Tensor,
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones in a new shape, in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number.
    """
    return input.new_full(sizes_of(size), 1, dtype=dtype, device=device, requires_grad=requires_grad)


@composed
def new_empty(
    input: Tensor,
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Values not to be relied on, in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError where a size is no whole number.
    """
    return input.new_full(sizes_of(size), 0, dtype=dtype, device=device, requires_grad=requires_grad)


@composed
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dims, at the end: a view of what is contiguous. [n, m, ...] -> [..., k]

    offset: which diagonal: above the main one where > 0, below where < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError where the input has fewer than 2 dims.
    """
    if input.ndim < 2:
        raise ValueError("takes at least 2 dims: reshape it")
    d1, d2 = _two_dims(dim1, dim2, input.ndim)
    rest = [d for d in range(input.ndim) if d not in (d1, d2)]
    n, m = input.shape[d1], input.shape[d2]
    x = input.permute(*rest, d1, d2).reshape(*(input.shape[d] for d in rest), n * m)
    k = _length(n, m, offset)
    start = offset if offset >= 0 else -offset * m
    shown = x[..., start : start + (k - 1) * (m + 1) + 1 : m + 1] if k else x[..., :0]
    made = _op.Tensor(shown.node)
    link(input, made, DIAGONAL, {"offset": offset, "dim1": d1, "dim2": d2})
    return made


@composed
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dim as a diagonal of zeros otherwise. [..., k] -> [..., k + |offset|, k + |offset|]

    offset: which diagonal: above the main one where > 0, below where < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError where both dims are the same.
    """
    n = input.shape[-1] + abs(offset)
    ends = (0, abs(offset))
    x = input.pad(ends).unsqueeze(-1) if offset >= 0 else input.pad(ends).unsqueeze(-2)
    rows, columns = _iota(n, input.device).unsqueeze(-1), _iota(n, input.device)
    y = choose(columns - rows == offset, x, False)
    d1, d2 = _two_dims(dim1, dim2, y.ndim)
    rest = iter(range(y.ndim - 2))
    order = [y.ndim - 2 if d == d1 else y.ndim - 1 if d == d2 else next(rest) for d in range(y.ndim)]
    return y.permute(*order)


@composed
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as a diagonal matrix, a matrix's diagonal as a vector. [n] -> [n, n], [n, m] -> [k]

    Raises ValueError where the input has not 1 or 2 dims.
    """
    if input.ndim not in (1, 2):
        raise ValueError("takes 1 or 2 dims: use diagonal or diag_embed")
    return input.diag_embed(diagonal) if input.ndim == 1 else input.diagonal(diagonal)


@composed
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements as the diagonal of a matrix. [...] -> [n, n]

    offset: which diagonal: above the main one where > 0, below where < 0
    """
    return input.reshape(-1).diag_embed(offset)


@composed
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal. [n, m] -> []

    Raises ValueError where the input has not 2 dims.
    """
    if input.ndim != 2:
        raise ValueError("takes 2 dims: use diagonal(...).sum(-1)")
    return input.diagonal().sum()


class Creation(Family):
    full, zeros = staticmethod(full), staticmethod(zeros)
    ones, arange = staticmethod(ones), staticmethod(arange)


def _two_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    d1, d2 = normal_dim(dim1, ndim), normal_dim(dim2, ndim)
    if d1 == d2:
        raise ValueError(f"dim1 and dim2 are both {d1}: give two dims")
    return d1, d2


def finished(x: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """In the dtype asked for, and as something to take gradients by where that is asked for."""
    x = x if dtype is None else x.to(dt.as_dtype(dtype))
    return x.requires_grad_() if requires_grad else x
