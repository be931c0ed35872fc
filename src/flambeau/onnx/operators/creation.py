"""Constants, and tensors computed from shapes."""

from math import ceil, floor, prod
from typing import Any

from ...core.dtype import DTYPES
from ...functions import arange, full
from ...tensor import Tensor
from ..convert import numpy_dtype
from ..graph import DTYPES as NAMES
from ..values import check_array, cpu, device_for, dtype_name, first_number, to_value
from .table import operator

KINDS = {  # attribute: dtype of the result
    "value_float": "float32",
    "value_floats": "float32",
    "value_int": "int64",
    "value_ints": "int64",
    "value_string": "string",
    "value_strings": "string",
}


@operator("Constant")
def constant(*, value: Any = None, sparse_value: Any = None, **typed: Any) -> Any:
    """Return a constant on the host, which is moved once to the device of an operator that uses it."""
    import numpy as np

    if value is None:
        value = sparse_value
    if value is None:
        name = next((n for n in typed if n in KINDS), None)
        if name is None:
            raise TypeError(f"needs one of the attributes value, sparse_value, {', '.join(sorted(KINDS))}")
        value = np.array(typed[name], numpy_dtype(KINDS[name]))
    return to_value(value, cpu())


@operator("ConstantOfShape", numbers="shape")
def constant_of_shape(shape: Any, *, value: Any = None, node: Any) -> Any:
    import numpy as np

    if any(n < 0 for n in shape):
        raise ValueError(f"shape={list(shape)}: sizes must be at least 0")
    fill = np.zeros(1, np.float32) if value is None else value.reshape(-1)[:1]
    if fill.dtype.name not in DTYPES:
        check_array(dtype_name(fill), shape, prod(shape) * fill.dtype.itemsize)
        return np.broadcast_to(fill, shape).copy()
    dtype = DTYPES[fill.dtype.name]
    device = cpu() if dtype.is_int else device_for(dtype, node.device)
    return full(tuple(shape), fill[0].item(), dtype=dtype, device=device)


@operator("Range", sized_by_values=True)
def range_of(start: Tensor, limit: Tensor, delta: Tensor, *, stash_type: int = 1) -> Tensor:
    first, last, step = (v.reshape(()).item() for v in (start, limit, delta))
    if step == 0:
        raise ValueError("delta=0: the step must not be 0")
    count = max(0, ceil((last - first) / step) if isinstance(step, float) else -floor((first - last) / step))
    y = arange(count, device=start.device)
    return y.to(start.dtype) * delta.reshape(()) + start.reshape(())


@operator("EyeLike")
def eye_like(x: Tensor, *, dtype: int | None = None, k: int = 0) -> Tensor:
    target_dtype = x.dtype if dtype is None else DTYPES[NAMES[dtype]]
    rows = arange(x.shape[0], device=x.device).reshape(-1, 1) + k
    return (
        (rows == arange(x.shape[1], device=x.device)).to(device_for(target_dtype, x.device)).to(target_dtype)
    )


@operator("Trilu", numbers="k")
def trilu(x: Tensor, k: Any = 0, *, upper: int = 1) -> Tensor:
    diagonal = first_number(k) or 0
    n = max(x.shape[-2:])
    # k may be any int64; beyond the matrix all values mean the same
    diagonal = min(max(diagonal, -n - 1), n + 1)
    return x.triu(diagonal) if upper else x.tril(diagonal)
