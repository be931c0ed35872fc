"""The array API's creation functions."""

from typing import Any

from .. import functions
from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..device import DeviceLike, get_device
from ..errors import ValueError
from ..tensor import Tensor, tensor


def asarray(
    obj: Any, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, copy: bool | None = None
) -> Tensor:
    """Convert numbers, nested lists or an array to a tensor. An array keeps its dtype, but float64
    becomes float32 on a GPU. ValueError if copy=False and a copy is needed."""
    target_dtype = None if dtype is None else dt.as_dtype(dtype)
    if isinstance(obj, Tensor):
        # `to` returns obj itself if nothing changes, which copy=False requires
        t = obj.to(device, target_dtype or obj.dtype)
        if copy is False and t is not obj:
            raise ValueError("asarray(..., copy=False): a change of dtype or device needs a copy: allow it")
        return obj.clone() if copy and t is obj else t
    if copy is False:
        raise ValueError("asarray(..., copy=False): data other than a tensor is always copied: allow it")
    # The standard keeps an array's dtype; tensor() alone makes float32 of float64, which GPUs lack.
    if target_dtype is None and hasattr(obj, "dtype") and get_device(device).kind == "cpu":
        target_dtype = dt.DTYPES.get(str(obj.dtype))
    return tensor(_numbers(obj), target_dtype, device)


def _numbers(obj: Any) -> Any:
    """Convert tensors in nested lists to numbers."""
    if isinstance(obj, Tensor):
        return obj.tolist()
    # exactly these types: other sequences, such as arrays, are converted as a whole
    return type(obj)(map(_numbers, obj)) if type(obj) in (list, tuple) else obj


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return start, start + step, ... below stop (above it for a negative step). -> [n]"""
    start, stop = (0, start) if stop is None else (start, stop)  # a single argument is the stop
    if (stop - start) * step < 0:  # the standard: empty if the step leads away from stop
        stop = start
    return functions.arange(start, stop, step, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """Return a tensor without defined values: zeros here."""
    return functions.zeros(_sizes(shape), dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """Return zeros of a shape."""
    return functions.zeros(_sizes(shape), dtype=dtype, device=device)


def ones(shape: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """Return ones of a shape."""
    return functions.ones(_sizes(shape), dtype=dtype, device=device)


def full(
    shape: Any, fill_value: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Return a tensor filled with one number."""
    return _fill(_sizes(shape), fill_value, dtype, device)


def _fill(shape: tuple[int, ...], value: Any, dtype: Any, device: Any) -> Tensor:
    """Expand a number, or a 0-d array, to a shape."""
    if isinstance(value, Tensor):
        return value.to(device, value.dtype if dtype is None else dt.as_dtype(dtype)).expand(shape).clone()
    return functions.full(shape, value, dtype=dtype, device=device)


def _sizes(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if hasattr(shape, "__index__") else tuple(map(int, shape))


def empty_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """Return a tensor without defined values in the shape of x: zeros here."""
    return functions.zeros_like(x, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """Return zeros in the shape of x."""
    return functions.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """Return ones in the shape of x."""
    return functions.ones_like(x, dtype=dtype, device=device)


def full_like(
    x: Tensor, /, fill_value: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Return a tensor in the shape of x, filled with one number."""
    return _fill(x.shape, fill_value, dtype or x.dtype, device or x.device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return ones on diagonal k and zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    # [n_rows, 1] and [n_cols] broadcast; diagonal k is where column - row == k
    rows = functions.arange(n_rows, device=device).unsqueeze(1)
    columns = functions.arange(n_cols, device=device)
    return (columns - rows == k).to(dt.default_float() if dtype is None else dt.as_dtype(dtype))


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Return num evenly spaced numbers from start to stop, including stop if `endpoint`."""
    if endpoint:
        return functions.linspace(start, stop, num, dtype=dtype, device=device)
    # one more number, of which the last is stop
    return functions.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Return the coordinate arrays of a grid from the coordinates along each axis."""
    return list(functions.meshgrid(*arrays, indexing=indexing))


def from_dlpack(x: Any, /, *, device: DeviceLike | None = None, copy: bool | None = None) -> Tensor:
    """Convert another library's array to a tensor. The NumPy device shares its memory. ValueError if
    copy=False and a copy is needed."""
    to = get_device(device)
    # The host's memory can only be shared on the host.
    if copy is False and to.kind != "cpu" and not (isinstance(x, Tensor) and x.device is to):
        raise ValueError("from_dlpack(..., copy=False): GPU memory can't be shared: allow a copy")
    t: Tensor = functions.from_dlpack(x, device)
    return t.clone() if copy else t


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the lower triangle, with zeros above diagonal k."""
    return x.tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the upper triangle, with zeros below diagonal k."""
    return x.triu(k)
