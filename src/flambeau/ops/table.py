"""The op table: an operation is a function of its family's module, and a method of `Table`."""

# The modules are imported for their entries of the op table, whether or not a name of theirs is used here.
# pyright: reportUnusedImport=false

from . import (
    activation,
    autocast,
    bessel,
    bits,
    blocks,
    complex,
    contract,
    creation,
    ctc,
    distribution,
    einsum,
    elementwise,
    forms,
    inplace,
    join,
    loss,
    masks,
    movement,
    norm,
    numeric,
    polynomials,
    quantized,
    random,
    rearrange,
    reduce,
    rejection,
    softmax,
    special,
    statistics,
)
from .attention import attention, kv_cache
from .attention.attention import Attention
from .attention.kv_cache import Cache
from .blocks import BlockDecoding
from .contract import Contract
from .conv import adaptive, conv, grid_sample, pool, resize
from .conv.pool import Pooling
from .creation import Creation
from .ctc import Ctc
from .elementwise import Elementwise
from .fft import fft, signal
from .forms import Forms
from .index import embedding, index, indices, scatter, scatter_rows, select
from .index.index import Indexing
from .index.indices import Places
from .index.scatter import Scatter
from .index.scatter_rows import ScatterRows
from .inplace import InPlace
from .join import Join
from .linalg import eig, ldl, lobpcg, lu, products
from .movement import Movement
from .quantized import Quantization
from .reduce import Reduce
from .sort import histogram, quantile, scan, sort
from .sort.histogram import Histogram
from .sort.scan import Scan
from .sort.sort import Sort


class Table(
    Attention,
    BlockDecoding,
    Cache,
    Contract,
    Pooling,
    Creation,
    Ctc,
    Elementwise,
    Forms,
    Indexing,
    Places,
    Scatter,
    ScatterRows,
    Join,
    Movement,
    Quantization,
    Reduce,
    Histogram,
    Scan,
    Sort,
    InPlace,
):
    """The methods of tensors that are operations."""

    # fmt: off
    # isort: off
    from .activation import hardshrink, prelu
    from .bits import view
    from .complex import (
        adjoint, angle, conj, conj_physical, is_conj, is_neg, isreal, resolve_conj, resolve_neg, sgn,
        view_as_complex, view_as_real,
    )
    from .contract import addbmm, addmm, addmv, addr, baddbmm, bmm, dot, ger, matmul, mm, mv, outer, vdot
    from .creation import (
        diag, diag_embed, diagflat, diagonal, new_empty, new_full, new_ones, new_zeros, trace,
    )
    from .distribution import bernoulli, multinomial
    from .einsum import cross, inner
    from .elementwise import (
        abs, absolute, acos, acosh, add, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin,
        asinh, atan, atan2, atanh, bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or,
        bitwise_right_shift, bitwise_xor, cast, ceil, copysign, cos, cosh, div, divide, eq, erf, exp, exp2,
        expm1, exponent, fix, floor, floor_divide, fmod, gcd, ge, greater, greater_equal, gt, hypot, isfinite,
        isinf, isnan, ldexp, le, less, less_equal, log, log10, log1p, log2, logaddexp, logical_and,
        logical_not, logical_or, logical_xor, lt, maximum, minimum, mul, multiply, ne, neg, negative,
        nextafter, not_equal, pow, reciprocal, relu, remainder, round, rsqrt, sigmoid, sign, signbit, sin,
        sinh, sqrt, square, sub, subtract, tan, tanh, true_divide, trunc, where,
    )
    from .fft.signal import istft, stft
    from .forms import (
        apply_, as_strided, as_strided_scatter, dim_order, is_inference, is_set_to, map2_, map_, narrow_copy,
        new, new_empty_strided, resize_, resize_as_, set_, split_with_sizes, storage_offset, stride,
        unsafe_split_with_sizes,
    )
    from .index.index import (
        gather, gather_nd, index_select, masked_scatter, masked_select, take, take_along_dim,
    )
    from .index.scatter import (
        diagonal_scatter, index_add, index_copy, index_fill, index_put, index_reduce, put, scatter,
        scatter_add, scatter_nd, scatter_reduce, select_scatter, slice_assign, slice_scatter,
    )
    from .index.select import argwhere, count_nonzero, nonzero, nonzero_static, unique, unique_consecutive
    from .inplace import (
        bernoulli_, cauchy_, copy_, exponential_, fill_, fill_diagonal_, geometric_, log_normal_, normal_,
        random_, uniform_, zero_,
    )
    from .join import (
        chunk, dsplit, hsplit, kron, split, tensor_split, unbind, unsafe_chunk, unsafe_split, vsplit,
    )
    from .linalg.decompose import cholesky, cholesky_inverse, cholesky_solve, geqrf, ormqr, svd
    from .linalg.lu import (
        linalg_det as det, linalg_inv as inverse, linalg_slogdet as slogdet, logdet, lu_solve,
    )
    from .linalg.norms import pinverse
    from .linalg.products import dist, matrix_exp, matrix_power, norm, qr, renorm
    from .masks import masked_fill, tril, triu
    from .movement import (
        detach, expand, flatten, flip, narrow, permute, reshape, squeeze, swapaxes, t, transpose, unflatten,
        unsqueeze,
    )
    from .numeric import (
        addcdiv, addcmul, allclose, clamp, clamp_max, clamp_min, clip, deg2rad, equal, float_power, fmax,
        fmin, frac, frexp, heaviside, isclose, isneginf, isposinf, lcm, lerp, logaddexp2, nan_to_num,
        positive, rad2deg,
    )
    from .random import random_bits
    from .rearrange import (
        broadcast_to, clone, expand_as, fliplr, flipud, moveaxis, movedim, pad, ravel, repeat,
        repeat_interleave, reshape_as, roll, rot90, select, sum_to_size, swapdims, tensor_unfold, tile,
        unfold, view_as,
    )
    from .reduce import (
        all, amax, amin, aminmax, any, argmax, argmin, logsumexp, max, mean, min, nanmean, nansum, prod, std,
        std_mean, sum, var, var_mean,
    )
    from .softmax import log_softmax, softmax
    from .sort.histogram import bincount, histc, histogram
    from .sort.quantile import median, mode, nanmedian, nanquantile, quantile
    from .sort.scan import cummax, cummin, cumprod, cumsum, diff, logcumsumexp
    from .sort.sort import argsort, kthvalue, msort, sort, topk
    from .special import (
        digamma, entr, erfc, erfcx, erfinv, i0, i0e, i1, i1e, igamma, igammac, lgamma, log_ndtr, logit,
        mvlgamma, ndtr, ndtri, polygamma, sinc, xlog1py, xlogy, zeta,
    )
    from .statistics import corrcoef, cov
    # isort: on
    # fmt: on


__all__ = ["Table"]
