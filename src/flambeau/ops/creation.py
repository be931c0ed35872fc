"""Tensors computed from an index alone: ramps, grids, diagonals and triangles. Nothing is uploaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    from ..device import DeviceLike
    from ..tensor import HostScalar, Tensor


@composed
def full(
    size: int | Sequence[int],
    fill_value: complex | HostScalar | Tensor,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Every element the same number. (size, value) -> [*size]

    fill_value: the value of every element, which may be a tensor []
    Raises ValueError if a size is below 0; TypeError if one is not an integer; if the dtype is unknown.
    """
    # A constant, expanded to the shape: no buffer until an op needs one.
    if isinstance(fill_value, _op.Tensor):
        value: Any = fill_value
        value = value.reshape(()).to(get_device(device))
        node: Any = (value if dtype is None else value.to(dt.as_dtype(dtype))).detach().node
    else:
        node = constant(fill_value, dtype=None if dtype is None else dt.as_dtype(dtype))
    check_held(node.dtype, get_device(device))
    node = apply(OPS["expand"], (node,), {"shape": new_sizes((size,))}, device=get_device(device))
    return finish(_op.Tensor(node), None, requires_grad)


@composed
def zeros(
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros. (2, 3) -> [2, 3]

    Raises TypeError if a size is not an integer.
    """
    return full(sizes_of(size), 0, dtype or dt.default_float(), device, requires_grad)


@composed
def ones(
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones. (2, 3) -> [2, 3]

    Raises TypeError if a size is not an integer.
    """
    return full(sizes_of(size), 1, dtype or dt.default_float(), device, requires_grad)


@composed
def empty(
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of unspecified values (zeros). (2, 3) -> [2, 3]

    Raises TypeError if a size is not an integer.
    """
    return full(sizes_of(size), 0, dtype or dt.default_float(), device, requires_grad)


def _like(name: str, value: int, doc: str) -> Callable[..., Tensor]:
    def like(
        input: Tensor,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        device = input.device if device is None else device
        return full(
            input.shape, value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad
        )

    like.__name__, like.__qualname__, like.__doc__ = name, name, doc
    return composed(like)


zeros_like = _like("zeros_like", 0, "Zeros of the shape, dtype and device of x. [...] -> [...]")
ones_like = _like("ones_like", 1, "Ones of the shape, dtype and device of x. [...] -> [...]")
empty_like = _like(
    "empty_like", 0, "Unspecified values (zeros), in the shape, dtype and device of x. [...] -> [...]"
)


@composed
def full_like(
    input: Tensor,
    fill_value: complex | HostScalar,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number in the shape, dtype and device of x. [...] -> [...]

    fill_value: the value of every element
    """
    device = input.device if device is None else device
    return full(
        input.shape, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad
    )


def _compute_dtype(dtype: DTypeLike | None) -> DType:
    """The float dtype to compute elements of `dtype` (None: the default) in: never 16 bits."""
    return (dt.default_float() if dtype is None else dt.as_dtype(dtype)).as_float


def _iota(n: int, device: Any) -> Tensor:
    return _op.Tensor(apply(OPS["iota"], (), {"n": n}, device=get_device(device)))


def _check_range(start: Any, end: Any, step: Any) -> None:
    if not (isfinite(start) and isfinite(end)):
        raise ValueError(f"start={start} or end={end} is not finite: pass finite numbers")
    if not step or step != step:
        raise ValueError(f"step is {step}: pass another number")
    if (end > start and step < 0) or (end < start and step > 0):
        raise ValueError(
            f"step={step} leads away from end={end}: pass a step of the other sign, or exchange start and end"
        )


@composed
def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... below end: int64 if all three are integers, else the default float. -> [n]

    ValueError if step is 0 or leads away from end, or a bound is not finite.
    """
    start, end = (0, start) if end is None else (start, end)
    _check_range(start, end, step)
    are_integers = all(isinstance(v, int) for v in (start, end, step))
    # PyTorch truncates the step of an int64 range before it counts.
    if dtype is not None and dt.as_dtype(dtype) is dt.int64 and not int(step):
        raise ValueError(f"step={step} as int64 is 0: pass an integer other than 0")
    if not are_integers and _is_integer(dtype):
        return finish(_integer_arange(start, end, step, dt.as_dtype(dtype), device), None, requires_grad)
    # -(-a // b) rounds up: integers are counted exactly, floats in float64.
    n = int(max(0, -((start - end) // step) if are_integers else ceil((end - start) / step)))
    out = _iota(n, device)
    # A float range is computed in float32 or wider: 16-bit floats hold no large indices exactly.
    if not are_integers:
        out = out.to(_compute_dtype(dtype))
    elif dtype is None or dt.as_dtype(dtype).is_pair:
        out = out.to(dtype or dt.default_integer())
    # int32 would wrap around before the cast to the wanted dtype.
    elif max(abs(start), abs(start + n * step)) > 2**31:
        out = out.long()
    out = out if step == 1 else out * step
    out = out if start == 0 else out + start
    return finish(out, dtype, requires_grad)


def _is_integer(dtype: DTypeLike | None) -> TypeGuard[DTypeLike]:
    """Whether a dtype is given and has integers."""
    return dtype is not None and dt.as_dtype(dtype).is_int


def _integer_arange(start: float, end: float, step: float, dtype: DType, device: Any) -> Tensor:
    """arange of integers from float bounds and a float step, all truncated, as in PyTorch. The count is
    computed before the truncation, except for int64."""
    first, by = int(start), int(step)
    over = (int(end) - first) / by if dtype is dt.int64 else (end - start) / step
    return (_iota(max(0, ceil(over)), device).to(dtype) * by + first).to(dtype)


def _integer_line(start: Any, end: Any, steps: int, once: bool) -> list[float]:
    """linspace in float64 between truncated bounds. Each half counts from its own end. `once`: product and
    sum are rounded together, else each, as in PyTorch's linspace and logspace."""
    start, end = int(start), int(end)
    step = (end - start) / max(steps - 1, 1)  # max: a single element has no step
    # Python integers are exact: a + i * n / unit is rounded once.
    n, unit = step.as_integer_ratio()
    half = steps // 2 if steps > 1 else steps
    counts = [(start, i) for i in range(half)] + [(end, i - steps + 1) for i in range(half, steps)]
    return [(a * unit + n * i) / unit if once else a + step * i for a, i in counts]


def _to_integers(values: Sequence[float], dtype: DTypeLike, device: Any) -> Tensor:
    """Numbers of the host as integers, truncated. They wrap in narrower dtypes; beyond int64 they become its
    smallest number."""
    truncated = [int(v) if -(2.0**63) <= v < 2.0**63 else -(2**63) for v in values]
    on_device = full((), 0, dt.int64, device).new_tensor(truncated, dtype=dt.int64)
    return on_device.reshape(len(truncated)).to(dt.as_dtype(dtype))


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
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers from start to end, both included; each half counts from its own end. -> [steps]

    Raises ValueError if steps is below 0.
    """
    if getattr(start, "ndim", 0) or getattr(end, "ndim", 0):
        raise ValueError("start and end must be numbers or 0-d tensors: add dims to the result")
    if steps < 0:
        raise ValueError(f"steps={steps} is below 0: pass the number of elements")
    if _is_integer(dtype):
        return finish(
            _to_integers(_integer_line(start, end, steps, True), dtype, device), None, requires_grad
        )
    step = (end - start) / max(steps - 1, 1)
    i, wide = _iota(steps, device), _compute_dtype(dtype)
    # The second half counts back from the end, so that the last element is exactly `end`.
    forward, back = i.to(wide) * step + start, (steps - 1 - i).to(wide) * -step + end
    return finish((i < (steps + 1) // 2).where(forward, back), dtype, requires_grad)


@composed
def logspace(
    start: float | HostScalar,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """base to the powers of linspace(start, end, steps). -> [steps]

    Raises ValueError if steps is below 0.
    """
    if _is_integer(dtype):
        # Of one element PyTorch truncates the power, not the start.
        powers = _integer_line(start, end, steps, False) if steps != 1 else [start * 1.0]
        return finish(_to_integers([_power(base, x) for x in powers], dtype, device), None, requires_grad)
    powers = linspace(start, end, steps, dtype=_compute_dtype(dtype), device=device)
    return finish(full((), float(base), powers.dtype, device).pow(powers), dtype, requires_grad)


@composed
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal. n -> [n, n] (or [n, m])

    Raises ValueError if a size is below 0.
    """
    if n < 0 or (m or 0) < 0:
        raise ValueError(f"n={n} and m={m} are sizes: pass 0 or more")
    rows, columns = _iota(n, device).unsqueeze(1), _iota(n if m is None else m, device)
    return finish((rows == columns).to(dtype or dt.default_float()), None, requires_grad)


@composed
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinates of a grid, one dim per vector; "xy" swaps the first two. [a], [b] -> 2 x [a, b]

    indexing: "ij" for rows first, "xy" for columns first
    Raises ValueError if indexing is unknown, or a tensor has more than 1 dim.
    """
    vectors: Any = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    if indexing not in ("ij", "xy"):
        raise ValueError(f"indexing={indexing!r} is unknown: use 'ij' or 'xy'")
    if any(t.ndim > 1 for t in vectors):
        raise ValueError("takes vectors (or 0-d tensors): flatten them")
    n = len(vectors)
    place = list(range(n))
    # "xy": the first vector runs along columns, which are the second dim.
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
    """All combinations of one element per vector, the last fastest; a single vector is returned unchanged.
    [a], [b] -> [a * b, 2]

    Raises ValueError if a tensor does not have 1 dim.
    """
    if any(t.ndim != 1 for t in tensors):
        raise ValueError("takes vectors: flatten them")
    if len(tensors) == 1:
        return tensors[0]
    return _op.COMPOSED["stack"]([t.reshape(-1) for t in meshgrid(*tensors)], -1)


@composed
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of x in columns, decreasing unless `increasing`. [n] -> [n, N]"""
    columns = x.shape[-1] if N is None else N
    powers = _iota(columns, x.device)
    x = x.to(dt.accumulation_dtype(x.dtype))
    return x.unsqueeze(-1).pow(powers if increasing else columns - 1 - powers)


def _lower_places(row: int, col: int, offset: int, device: Any) -> tuple[Tensor, Tensor]:
    """Row and column of each element of a lower triangle, row by row, int32.

    The first rows grow by one, so an element's row solves a quadratic (in floats, then corrected by at most
    one). The rows after them have all columns.
    """
    if row < 0 or col < 0:
        raise ValueError(f"row={row} and col={col} are sizes: pass 0 or more")
    # The first rows are empty, the next ones grow to `col` elements, the rest are full.
    first = min(max(0, -offset), row)
    length = min(max(first + offset + 1, 0), col)  # of the first row
    growing = min(max(0, col - length), row - first)
    ramp = growing * length + growing * (growing - 1) // 2
    i = _iota(ramp + (row - first - growing) * col, device)
    # Row k begins at element k length + k (k - 1) / 2 = i, so k is the root of k^2 + b k - 2 i = 0, rounded
    # down. float32 rounds large i, so k may be off by one.
    b = 2 * length - 1
    k = (((i.float() * 8 + float(b * b)).sqrt() - b) * 0.5).int()
    start = _elements_before(k, length)
    k = k - (start > i).int()
    k = k + (_elements_before(k + 1, length) <= i).int()
    full_rows = (i - ramp) // max(col, 1)
    late = i >= ramp
    rows = late.where(full_rows + (first + growing), k + first)
    return rows, late.where(i - ramp - full_rows * col, i - _elements_before(k, length))


def _elements_before(k: Tensor, length: int) -> Tensor:
    """The number of elements of the first k rows, each one longer than the row above."""
    return k * length + k * (k - 1) // 2


@composed
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Rows and columns of a matrix's lower triangle, row by row, int64. -> [2, n]

    row: the number of rows
    col: the number of columns
    offset: which diagonal: above the main one if > 0, below if < 0
    Raises ValueError if row or col is below 0.
    """
    return finish(
        _op.COMPOSED["stack"](_lower_places(row, col, offset, device)), dtype or dt.default_integer()
    )


@composed
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Rows and columns of a matrix's upper triangle, row by row, int64. -> [2, n]

    row: the number of rows
    col: the number of columns
    offset: which diagonal: above the main one if > 0, below if < 0
    Raises ValueError if row or col is below 0.
    """
    # A half turn makes an upper triangle a lower one.
    rows, columns = _lower_places(row, col, col - row - offset, device)
    rotated = [row - 1 - rows.flip(0), col - 1 - columns.flip(0)]  # by 180 degrees
    return finish(_op.COMPOSED["stack"](rotated), dtype or dt.default_integer())


def _length(n: int, m: int, offset: int) -> int:
    """The number of elements of a diagonal."""
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
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number in a new shape, in this dtype and on this device. -> [*size]

    fill_value: the value of every element
    """
    device = input.device if device is None else device
    return full(size, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


@composed
def new_zeros(
    input: Tensor,
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros in a new shape, in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError if a size is not an integer.
    """
    return input.new_full(sizes_of(size), 0, dtype=dtype, device=device, requires_grad=requires_grad)


@composed
def new_ones(
    input: Tensor,
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones in a new shape, in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError if a size is not an integer.
    """
    return input.new_full(sizes_of(size), 1, dtype=dtype, device=device, requires_grad=requires_grad)


@composed
def new_empty(
    input: Tensor,
    *size: int | Sequence[int],
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Unspecified values (zeros), in this dtype and on this device. (2, 3) -> [2, 3]

    Raises TypeError if a size is not an integer.
    """
    return input.new_full(sizes_of(size), 0, dtype=dtype, device=device, requires_grad=requires_grad)


@composed
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dims, as the last dim: a view if the input is contiguous. [n, m, ...] -> [..., k]

    offset: which diagonal: above the main one if > 0, below if < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError if the input has fewer than 2 dims.
    """
    if input.ndim < 2:
        raise ValueError("takes at least 2 dims: reshape it")
    d1, d2 = _two_dims(dim1, dim2, input.ndim)
    rest = [d for d in range(input.ndim) if d not in (d1, d2)]
    n, m = input.shape[d1], input.shape[d2]
    # In rows of m elements one after another, neighbours on a diagonal are m + 1 apart: a slice.
    x = input.permute(*rest, d1, d2).reshape(*(input.shape[d] for d in rest), n * m)
    k = _length(n, m, offset)
    start = offset if offset >= 0 else -offset * m
    elements = x[..., start : start + (k - 1) * (m + 1) + 1 : m + 1] if k else x[..., :0]
    view = _op.Tensor(elements.node)
    # A write to the diagonal reaches the input and vice versa, as for PyTorch's views.
    link(input, view, DIAGONAL, {"offset": offset, "dim1": d1, "dim2": d2})
    return view


@composed
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A matrix with the last dim as a diagonal, zeros elsewhere. [..., k] -> [..., k + |offset|, k +
    |offset|]

    offset: which diagonal: above the main one if > 0, below if < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError if both dims are the same.
    """
    n = input.shape[-1] + abs(offset)
    pads = (0, abs(offset))
    # The padded vector is a column or a row that broadcasts; comparing indices keeps the diagonal.
    x = input.pad(pads).unsqueeze(-1) if offset >= 0 else input.pad(pads).unsqueeze(-2)
    rows, columns = _iota(n, input.device).unsqueeze(-1), _iota(n, input.device)
    y = choose(columns - rows == offset, x, False)
    d1, d2 = _two_dims(dim1, dim2, y.ndim)
    rest = iter(range(y.ndim - 2))
    # y has both matrix dims last: each dim of the result, in order, is one of them or the next other dim.
    order = [y.ndim - 2 if d == d1 else y.ndim - 1 if d == d2 else next(rest) for d in range(y.ndim)]
    return y.permute(*order)


@composed
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as a diagonal matrix, a matrix's diagonal as a vector. [n] -> [n, n], [n, m] -> [k]

    Raises ValueError if the input does not have 1 or 2 dims.
    """
    if input.ndim not in (1, 2):
        raise ValueError("takes 1 or 2 dims: use diagonal or diag_embed")
    return input.diag_embed(diagonal) if input.ndim == 1 else input.diagonal(diagonal)


@composed
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements as a diagonal. [...] -> [n, n]

    offset: which diagonal: above the main one if > 0, below if < 0
    """
    return input.reshape(-1).diag_embed(offset)


@composed
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal. [n, m] -> []

    Raises ValueError if the input does not have 2 dims.
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
        raise ValueError(f"dim1 and dim2 are both {d1}: pass two dims")
    return d1, d2


def finish(x: Tensor, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Casts to `dtype`, if given, and marks the result as requiring gradients."""
    x = x if dtype is None else x.to(dt.as_dtype(dtype))
    return x.requires_grad_() if requires_grad else x
