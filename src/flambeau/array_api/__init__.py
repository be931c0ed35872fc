"""The array API standard's functions (data-apis.org, 2024.12) for tensors."""

# `name as name` marks a re-export: the standard's namespace consists of these.
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from ..core import dtype as _dt
from . import elementwise as _elementwise
from . import fft as fft
from . import linalg as linalg
from .creation import (
    arange as arange,
)
from .creation import (
    asarray as asarray,
)
from .creation import (
    empty as empty,
)
from .creation import (
    empty_like as empty_like,
)
from .creation import (
    eye as eye,
)
from .creation import (
    from_dlpack as from_dlpack,
)
from .creation import (
    full as full,
)
from .creation import (
    full_like as full_like,
)
from .creation import (
    linspace as linspace,
)
from .creation import (
    meshgrid as meshgrid,
)
from .creation import (
    ones as ones,
)
from .creation import (
    ones_like as ones_like,
)
from .creation import (
    tril as tril,
)
from .creation import (
    triu as triu,
)
from .creation import (
    zeros as zeros,
)
from .creation import (
    zeros_like as zeros_like,
)
from .dtypes import (
    __array_namespace_info__ as __array_namespace_info__,
)
from .dtypes import (
    astype as astype,
)
from .dtypes import (
    can_cast as can_cast,
)
from .dtypes import (
    finfo as finfo,
)
from .dtypes import (
    iinfo as iinfo,
)
from .dtypes import (
    isdtype as isdtype,
)
from .dtypes import (
    result_type as result_type,
)
from .manipulation import (
    broadcast_arrays as broadcast_arrays,
)
from .manipulation import (
    broadcast_to as broadcast_to,
)
from .manipulation import (
    concat as concat,
)
from .manipulation import (
    expand_dims as expand_dims,
)
from .manipulation import (
    flip as flip,
)
from .manipulation import (
    moveaxis as moveaxis,
)
from .manipulation import (
    permute_dims as permute_dims,
)
from .manipulation import (
    repeat as repeat,
)
from .manipulation import (
    reshape as reshape,
)
from .manipulation import (
    roll as roll,
)
from .manipulation import (
    squeeze as squeeze,
)
from .manipulation import (
    stack as stack,
)
from .manipulation import (
    take as take,
)
from .manipulation import (
    take_along_axis as take_along_axis,
)
from .manipulation import (
    tile as tile,
)
from .manipulation import (
    unstack as unstack,
)
from .searching import (
    argsort as argsort,
)
from .searching import (
    nonzero as nonzero,
)
from .searching import (
    searchsorted as searchsorted,
)
from .searching import (
    sort as sort,
)
from .searching import (
    unique_all as unique_all,
)
from .searching import (
    unique_counts as unique_counts,
)
from .searching import (
    unique_inverse as unique_inverse,
)
from .searching import (
    unique_values as unique_values,
)
from .statistical import (
    all as all,
)
from .statistical import (
    any as any,
)
from .statistical import (
    argmax as argmax,
)
from .statistical import (
    argmin as argmin,
)
from .statistical import (
    count_nonzero as count_nonzero,
)
from .statistical import (
    cumulative_prod as cumulative_prod,
)
from .statistical import (
    cumulative_sum as cumulative_sum,
)
from .statistical import (
    diff as diff,
)
from .statistical import (
    max as max,
)
from .statistical import (
    mean as mean,
)
from .statistical import (
    min as min,
)
from .statistical import (
    prod as prod,
)
from .statistical import (
    std as std,
)
from .statistical import (
    sum as sum,
)
from .statistical import (
    var as var,
)

matmul, matrix_transpose, tensordot, vecdot = (
    linalg.matmul,
    linalg.matrix_transpose,
    linalg.tensordot,
    linalg.vecdot,
)

__array_api_version__ = "2024.12"
newaxis = None  # the index that adds an axis

int8, int16, int32, int64 = _dt.int8, _dt.int16, _dt.int32, _dt.int64
uint8, uint16, uint32, uint64 = _dt.uint8, _dt.uint16, _dt.uint32, _dt.uint64
float32, float64, complex64, complex128 = _dt.float32, _dt.float64, _dt.complex64, _dt.complex128
bool = _dt.bool_

# the elementwise functions are made by a loop, so they can't be imported by name
globals().update({name: f for name, f in vars(_elementwise).items() if name in _elementwise.NAMES})
