"""The array API standard's functions (data-apis.org, 2024.12) for tensors."""

from math import e, inf, nan, pi  # noqa: F401 - of the standard

from ..core import dtype as _dt
from . import elementwise as _elementwise
from . import fft, linalg  # noqa: F401 - the standard's extensions
from .creation import (  # noqa: F401
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .dtypes import (  # noqa: F401
    __array_namespace_info__,
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from .manipulation import (  # noqa: F401
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    take,
    take_along_axis,
    tile,
    unstack,
)
from .searching import (  # noqa: F401
    argsort,
    nonzero,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from .statistical import (  # noqa: F401
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)

matmul, matrix_transpose, tensordot, vecdot = (
    linalg.matmul,
    linalg.matrix_transpose,
    linalg.tensordot,
    linalg.vecdot,
)

__array_api_version__ = "2024.12"
newaxis = None

int8, int16, int32, int64 = _dt.int8, _dt.int16, _dt.int32, _dt.int64
uint8, uint16, uint32, uint64 = _dt.uint8, _dt.uint16, _dt.uint32, _dt.uint64
float32, float64, complex64, complex128 = _dt.float32, _dt.float64, _dt.complex64, _dt.complex128
bool = _dt.bool_

globals().update({name: f for name, f in vars(_elementwise).items() if name in _elementwise.NAMES})
