"""Flambeau: deep learning in Python on WebGPU; every operation is a WGSL shader.

Made by `python scripts/write_stubs.py`."""

from . import accelerator as accelerator
from . import amp as amp
from . import array_api as array_api
from . import autograd as autograd
from . import backends as backends
from . import config as config
from . import cuda as cuda
from . import data as data
from . import debug as debug
from . import distributions as distributions
from . import errors as errors
from . import export as export
from . import fft as fft
from . import func as func
from . import hub as hub
from . import inspector as inspector
from . import io as io
from . import learner as learner
from . import linalg as linalg
from . import masked as masked
from . import metrics as metrics
from . import models as models
from . import nn as nn
from . import onnx as onnx
from . import optim as optim
from . import porting as porting
from . import profiling as profiling
from . import sanitizer as sanitizer
from . import selftest as selftest
from . import signal as signal
from . import special as special
from . import testing as testing
from . import utils as utils
from .amp import GradScaler as GradScaler
from .autodiff.backward import Gradients
from .autodiff.budget import memory_budget as memory_budget
from .autodiff.checkpoint import checkpoint as checkpoint
from .capture.jit import jit as jit
from .core.autocast import autocast as autocast
from .core.autocast import get_autocast_dtype as get_autocast_dtype
from .core.autocast import is_autocast_enabled as is_autocast_enabled
from .core.dtype import DType
from .core.dtype import bfloat16 as bfloat16
from .core.dtype import bool_ as bool
from .core.dtype import bool_ as bool_
from .core.dtype import can_cast as can_cast
from .core.dtype import complex64 as cfloat
from .core.dtype import complex64 as complex64
from .core.dtype import complex128 as cdouble
from .core.dtype import complex128 as complex128
from .core.dtype import finfo as finfo
from .core.dtype import float16 as float16
from .core.dtype import float16 as half
from .core.dtype import float32 as float
from .core.dtype import float32 as float32
from .core.dtype import float64 as double
from .core.dtype import float64 as float64
from .core.dtype import get_default_dtype as get_default_dtype
from .core.dtype import get_default_integer as get_default_integer
from .core.dtype import iinfo as iinfo
from .core.dtype import int8 as int8
from .core.dtype import int16 as int16
from .core.dtype import int32 as int
from .core.dtype import int32 as int32
from .core.dtype import int64 as int64
from .core.dtype import promote_types as promote_types
from .core.dtype import set_default_integer as set_default_integer
from .core.dtype import uint8 as uint8
from .core.dtype import uint16 as uint16
from .core.dtype import uint32 as uint32
from .core.dtype import uint64 as uint64
from .core.modes import checkpointing as checkpointing
from .core.modes import enable_grad as enable_grad
from .core.modes import get_matmul_precision as get_matmul_precision
from .core.modes import inference_mode as inference_mode
from .core.modes import is_grad_enabled as is_grad_enabled
from .core.modes import no_grad as no_grad
from .core.modes import set_grad_enabled as set_grad_enabled
from .core.modes import set_matmul_precision as set_matmul_precision
from .core.op import Launch as Launch
from .core.printing import get_printoptions as get_printoptions
from .core.printing import printoptions as printoptions
from .core.printing import set_printoptions as set_printoptions
from .custom import custom_op as custom_op
from .device import device as device
from .device import get_default_device as get_default_device
from .device import open_device as open_device
from .device import set_default_device as set_default_device
from .device import set_default_dtype as set_default_dtype
from .errors import DeviceError as DeviceError
from .errors import FlambeauError as FlambeauError
from .errors import KernelError as KernelError
from .errors import OutOfMemory as OutOfMemory
from .export import SavedProgram as SavedProgram
from .export import load_program as load_program
from .export import save_program as save_program
from .func import grad as grad
from .func import hessian as hessian
from .func import hvp as hvp
from .func import jacfwd as jacfwd
from .func import jacobian as jacobian
from .func import jacrev as jacrev
from .func import jvp as jvp
from .func import value_and_grad as value_and_grad
from .func import vjp as vjp
from .func import vmap as vmap
from .functions import abs as abs
from .functions import absolute as absolute
from .functions import acos as acos
from .functions import acosh as acosh
from .functions import adaptive_avg_pool1d as adaptive_avg_pool1d
from .functions import adaptive_max_pool1d as adaptive_max_pool1d
from .functions import add as add
from .functions import addbmm as addbmm
from .functions import addcdiv as addcdiv
from .functions import addcmul as addcmul
from .functions import addmm as addmm
from .functions import addmv as addmv
from .functions import addr as addr
from .functions import adjoint as adjoint
from .functions import all as all
from .functions import allclose as allclose
from .functions import alpha_dropout as alpha_dropout
from .functions import amax as amax
from .functions import amin as amin
from .functions import aminmax as aminmax
from .functions import angle as angle
from .functions import any as any
from .functions import arange as arange
from .functions import arccos as arccos
from .functions import arccosh as arccosh
from .functions import arcsin as arcsin
from .functions import arcsinh as arcsinh
from .functions import arctan as arctan
from .functions import arctan2 as arctan2
from .functions import arctanh as arctanh
from .functions import argmax as argmax
from .functions import argmin as argmin
from .functions import argsort as argsort
from .functions import argwhere as argwhere
from .functions import as_strided as as_strided
from .functions import as_strided_scatter as as_strided_scatter
from .functions import as_tensor as as_tensor
from .functions import asin as asin
from .functions import asinh as asinh
from .functions import atan as atan
from .functions import atan2 as atan2
from .functions import atanh as atanh
from .functions import atleast_1d as atleast_1d
from .functions import atleast_2d as atleast_2d
from .functions import atleast_3d as atleast_3d
from .functions import avg_pool1d as avg_pool1d
from .functions import baddbmm as baddbmm
from .functions import bartlett_window as bartlett_window
from .functions import bernoulli as bernoulli
from .functions import bilinear as bilinear
from .functions import bincount as bincount
from .functions import binomial as binomial
from .functions import bitwise_and as bitwise_and
from .functions import bitwise_left_shift as bitwise_left_shift
from .functions import bitwise_not as bitwise_not
from .functions import bitwise_or as bitwise_or
from .functions import bitwise_right_shift as bitwise_right_shift
from .functions import bitwise_xor as bitwise_xor
from .functions import blackman_window as blackman_window
from .functions import block_diag as block_diag
from .functions import bmm as bmm
from .functions import broadcast_tensors as broadcast_tensors
from .functions import broadcast_to as broadcast_to
from .functions import bucketize as bucketize
from .functions import cartesian_prod as cartesian_prod
from .functions import cast as cast
from .functions import cat as cat
from .functions import cauchy as cauchy
from .functions import cdist as cdist
from .functions import ceil as ceil
from .functions import celu as celu
from .functions import chain_matmul as chain_matmul
from .functions import channel_shuffle as channel_shuffle
from .functions import cholesky as cholesky
from .functions import cholesky_inverse as cholesky_inverse
from .functions import cholesky_solve as cholesky_solve
from .functions import chunk as chunk
from .functions import clamp as clamp
from .functions import clamp_max as clamp_max
from .functions import clamp_min as clamp_min
from .functions import clip as clip
from .functions import clone as clone
from .functions import column_stack as column_stack
from .functions import combinations as combinations
from .functions import complex as complex
from .functions import concat as concat
from .functions import concatenate as concatenate
from .functions import conj as conj
from .functions import conj_physical as conj_physical
from .functions import conv1d as conv1d
from .functions import conv2d as conv2d
from .functions import conv3d as conv3d
from .functions import conv_transpose1d as conv_transpose1d
from .functions import conv_transpose2d as conv_transpose2d
from .functions import conv_transpose3d as conv_transpose3d
from .functions import copysign as copysign
from .functions import corrcoef as corrcoef
from .functions import cos as cos
from .functions import cosh as cosh
from .functions import cosine_similarity as cosine_similarity
from .functions import count_nonzero as count_nonzero
from .functions import cov as cov
from .functions import cross as cross
from .functions import cummax as cummax
from .functions import cummin as cummin
from .functions import cumprod as cumprod
from .functions import cumsum as cumsum
from .functions import cumulative_trapezoid as cumulative_trapezoid
from .functions import deform_conv2d as deform_conv2d
from .functions import deg2rad as deg2rad
from .functions import det as det
from .functions import detach as detach
from .functions import diag as diag
from .functions import diag_embed as diag_embed
from .functions import diagflat as diagflat
from .functions import diagonal as diagonal
from .functions import diagonal_scatter as diagonal_scatter
from .functions import diff as diff
from .functions import digamma as digamma
from .functions import dim_order as dim_order
from .functions import dist as dist
from .functions import div as div
from .functions import divide as divide
from .functions import dot as dot
from .functions import dropout as dropout
from .functions import dsplit as dsplit
from .functions import dstack as dstack
from .functions import einsum as einsum
from .functions import empty as empty
from .functions import empty_like as empty_like
from .functions import entr as entr
from .functions import eq as eq
from .functions import equal as equal
from .functions import erf as erf
from .functions import erfc as erfc
from .functions import erfcx as erfcx
from .functions import erfinv as erfinv
from .functions import exp as exp
from .functions import exp2 as exp2
from .functions import expand as expand
from .functions import expand_as as expand_as
from .functions import expm1 as expm1
from .functions import exponent as exponent
from .functions import exponential as exponential
from .functions import eye as eye
from .functions import feature_alpha_dropout as feature_alpha_dropout
from .functions import fix as fix
from .functions import flatten as flatten
from .functions import flip as flip
from .functions import fliplr as fliplr
from .functions import flipud as flipud
from .functions import float_power as float_power
from .functions import floor as floor
from .functions import floor_divide as floor_divide
from .functions import fmax as fmax
from .functions import fmin as fmin
from .functions import fmod as fmod
from .functions import frac as frac
from .functions import frexp as frexp
from .functions import from_dlpack as from_dlpack
from .functions import from_numpy as from_numpy
from .functions import full as full
from .functions import full_like as full_like
from .functions import gather as gather
from .functions import gather_nd as gather_nd
from .functions import gcd as gcd
from .functions import ge as ge
from .functions import geometric as geometric
from .functions import geqrf as geqrf
from .functions import ger as ger
from .functions import gradient as gradient
from .functions import greater as greater
from .functions import greater_equal as greater_equal
from .functions import group_norm as group_norm
from .functions import gt as gt
from .functions import gumbel as gumbel
from .functions import hamming_window as hamming_window
from .functions import hann_window as hann_window
from .functions import hardshrink as hardshrink
from .functions import heaviside as heaviside
from .functions import histc as histc
from .functions import histogram as histogram
from .functions import histogramdd as histogramdd
from .functions import hsplit as hsplit
from .functions import hstack as hstack
from .functions import hypot as hypot
from .functions import i0 as i0
from .functions import i0e as i0e
from .functions import i1 as i1
from .functions import i1e as i1e
from .functions import igamma as igamma
from .functions import igammac as igammac
from .functions import imag as imag
from .functions import index_add as index_add
from .functions import index_copy as index_copy
from .functions import index_fill as index_fill
from .functions import index_put as index_put
from .functions import index_reduce as index_reduce
from .functions import index_select as index_select
from .functions import inner as inner
from .functions import inverse as inverse
from .functions import is_complex as is_complex
from .functions import is_conj as is_conj
from .functions import is_floating_point as is_floating_point
from .functions import is_inference as is_inference
from .functions import is_neg as is_neg
from .functions import is_nonzero as is_nonzero
from .functions import is_same_size as is_same_size
from .functions import is_set_to as is_set_to
from .functions import is_signed as is_signed
from .functions import is_tensor as is_tensor
from .functions import isclose as isclose
from .functions import isfinite as isfinite
from .functions import isin as isin
from .functions import isinf as isinf
from .functions import isnan as isnan
from .functions import isneginf as isneginf
from .functions import isposinf as isposinf
from .functions import isreal as isreal
from .functions import istft as istft
from .functions import kaiser_window as kaiser_window
from .functions import kron as kron
from .functions import kthvalue as kthvalue
from .functions import laplace as laplace
from .functions import layer_norm as layer_norm
from .functions import lcm as lcm
from .functions import ldexp as ldexp
from .functions import le as le
from .functions import lerp as lerp
from .functions import less as less
from .functions import less_equal as less_equal
from .functions import lgamma as lgamma
from .functions import linspace as linspace
from .functions import lobpcg as lobpcg
from .functions import log as log
from .functions import log1p as log1p
from .functions import log2 as log2
from .functions import log10 as log10
from .functions import log_ndtr as log_ndtr
from .functions import log_normal as log_normal
from .functions import log_softmax as log_softmax
from .functions import logaddexp as logaddexp
from .functions import logaddexp2 as logaddexp2
from .functions import logcumsumexp as logcumsumexp
from .functions import logdet as logdet
from .functions import logical_and as logical_and
from .functions import logical_not as logical_not
from .functions import logical_or as logical_or
from .functions import logical_xor as logical_xor
from .functions import logit as logit
from .functions import logspace as logspace
from .functions import logsumexp as logsumexp
from .functions import lt as lt
from .functions import lu_solve as lu_solve
from .functions import lu_unpack as lu_unpack
from .functions import masked_fill as masked_fill
from .functions import masked_scatter as masked_scatter
from .functions import masked_select as masked_select
from .functions import matmul as matmul
from .functions import matrix_exp as matrix_exp
from .functions import matrix_power as matrix_power
from .functions import max as max
from .functions import max_pool1d as max_pool1d
from .functions import max_pool2d as max_pool2d
from .functions import max_pool3d as max_pool3d
from .functions import maximum as maximum
from .functions import mean as mean
from .functions import median as median
from .functions import memory as memory
from .functions import meshgrid as meshgrid
from .functions import min as min
from .functions import minimum as minimum
from .functions import mm as mm
from .functions import mode as mode
from .functions import moveaxis as moveaxis
from .functions import movedim as movedim
from .functions import msort as msort
from .functions import mul as mul
from .functions import multinomial as multinomial
from .functions import multiply as multiply
from .functions import mv as mv
from .functions import mvlgamma as mvlgamma
from .functions import nan_to_num as nan_to_num
from .functions import nanmean as nanmean
from .functions import nanmedian as nanmedian
from .functions import nanquantile as nanquantile
from .functions import nansum as nansum
from .functions import narrow as narrow
from .functions import narrow_copy as narrow_copy
from .functions import ndtr as ndtr
from .functions import ndtri as ndtri
from .functions import ne as ne
from .functions import neg as neg
from .functions import negative as negative
from .functions import new as new
from .functions import new_empty as new_empty
from .functions import new_empty_strided as new_empty_strided
from .functions import new_full as new_full
from .functions import new_ones as new_ones
from .functions import new_zeros as new_zeros
from .functions import nextafter as nextafter
from .functions import nonzero as nonzero
from .functions import nonzero_static as nonzero_static
from .functions import norm as norm
from .functions import normal as normal
from .functions import not_equal as not_equal
from .functions import numel as numel
from .functions import ones as ones
from .functions import ones_like as ones_like
from .functions import ormqr as ormqr
from .functions import outer as outer
from .functions import pad as pad
from .functions import pairwise_distance as pairwise_distance
from .functions import pdist as pdist
from .functions import permute as permute
from .functions import pinverse as pinverse
from .functions import pixel_shuffle as pixel_shuffle
from .functions import pixel_unshuffle as pixel_unshuffle
from .functions import poisson as poisson
from .functions import polar as polar
from .functions import polygamma as polygamma
from .functions import positive as positive
from .functions import pow as pow
from .functions import prelu as prelu
from .functions import prod as prod
from .functions import put as put
from .functions import qr as qr
from .functions import quantile as quantile
from .functions import quantize as quantize
from .functions import quantized_linear as quantized_linear
from .functions import rad2deg as rad2deg
from .functions import rand as rand
from .functions import rand_like as rand_like
from .functions import randint as randint
from .functions import randint_like as randint_like
from .functions import randn as randn
from .functions import randn_like as randn_like
from .functions import random_bits as random_bits
from .functions import randperm as randperm
from .functions import ravel as ravel
from .functions import read as read
from .functions import real as real
from .functions import realize as realize
from .functions import reciprocal as reciprocal
from .functions import relu as relu
from .functions import remainder as remainder
from .functions import renorm as renorm
from .functions import repeat as repeat
from .functions import repeat_interleave as repeat_interleave
from .functions import reshape as reshape
from .functions import reshape_as as reshape_as
from .functions import resolve_conj as resolve_conj
from .functions import resolve_neg as resolve_neg
from .functions import result_type as result_type
from .functions import rms_norm as rms_norm
from .functions import roll as roll
from .functions import rot90 as rot90
from .functions import round as round
from .functions import row_stack as row_stack
from .functions import rrelu as rrelu
from .functions import rsqrt as rsqrt
from .functions import rsub as rsub
from .functions import scatter as scatter
from .functions import scatter_add as scatter_add
from .functions import scatter_nd as scatter_nd
from .functions import scatter_reduce as scatter_reduce
from .functions import searchsorted as searchsorted
from .functions import select as select
from .functions import select_scatter as select_scatter
from .functions import selu as selu
from .functions import sgn as sgn
from .functions import sigmoid as sigmoid
from .functions import sign as sign
from .functions import signbit as signbit
from .functions import sin as sin
from .functions import sinc as sinc
from .functions import sinh as sinh
from .functions import slice_assign as slice_assign
from .functions import slice_scatter as slice_scatter
from .functions import slogdet as slogdet
from .functions import softmax as softmax
from .functions import sort as sort
from .functions import split as split
from .functions import split_with_sizes as split_with_sizes
from .functions import sqrt as sqrt
from .functions import square as square
from .functions import squeeze as squeeze
from .functions import stack as stack
from .functions import std as std
from .functions import std_mean as std_mean
from .functions import stft as stft
from .functions import storage_offset as storage_offset
from .functions import stride as stride
from .functions import sub as sub
from .functions import subtract as subtract
from .functions import sum as sum
from .functions import sum_to_size as sum_to_size
from .functions import svd as svd
from .functions import swapaxes as swapaxes
from .functions import swapdims as swapdims
from .functions import synchronize as synchronize
from .functions import t as t
from .functions import take as take
from .functions import take_along_dim as take_along_dim
from .functions import tan as tan
from .functions import tanh as tanh
from .functions import tensor_split as tensor_split
from .functions import tensor_unfold as tensor_unfold
from .functions import tensordot as tensordot
from .functions import threshold as threshold
from .functions import tile as tile
from .functions import topk as topk
from .functions import trace as trace
from .functions import transpose as transpose
from .functions import trapezoid as trapezoid
from .functions import trapz as trapz
from .functions import tril as tril
from .functions import tril_indices as tril_indices
from .functions import triu as triu
from .functions import triu_indices as triu_indices
from .functions import true_divide as true_divide
from .functions import trunc as trunc
from .functions import unbind as unbind
from .functions import unflatten as unflatten
from .functions import unfold as unfold
from .functions import uniform as uniform
from .functions import unique as unique
from .functions import unique_consecutive as unique_consecutive
from .functions import unravel_index as unravel_index
from .functions import unsafe_chunk as unsafe_chunk
from .functions import unsafe_split as unsafe_split
from .functions import unsafe_split_with_sizes as unsafe_split_with_sizes
from .functions import unsqueeze as unsqueeze
from .functions import vander as vander
from .functions import var as var
from .functions import var_mean as var_mean
from .functions import vdot as vdot
from .functions import view as view
from .functions import view_as as view_as
from .functions import view_as_complex as view_as_complex
from .functions import view_as_real as view_as_real
from .functions import vsplit as vsplit
from .functions import vstack as vstack
from .functions import where as where
from .functions import xlog1py as xlog1py
from .functions import xlogy as xlogy
from .functions import zeros as zeros
from .functions import zeros_like as zeros_like
from .functions import zeta as zeta
from .inspector import Inspection as Inspection
from .inspector import inspect as inspect
from .io.checkpoint import load as load
from .io.checkpoint import save as save
from .learner import Learner as Learner
from .ops.random import Generator
from .ops.random import get_rng_state as get_rng_state
from .ops.random import initial_seed as initial_seed
from .ops.random import manual_seed as manual_seed
from .ops.random import seed as seed
from .ops.random import set_rng_state as set_rng_state
from .profiling import Profile as Profile
from .profiling import profile as profile
from .sanitizer import check as check
from .sanitizer import sanitize as sanitize
from .sanitizer import watch as watch
from .tensor import HostScalar, Tensor
from .tensor import tensor as tensor
from .tune.autotune import autotune as autotune

__version__: str
__all__ = [
    "DType",
    "DeviceError",
    "FlambeauError",
    "Generator",
    "GradScaler",
    "Gradients",
    "HostScalar",
    "Inspection",
    "KernelError",
    "Launch",
    "Learner",
    "OutOfMemory",
    "Profile",
    "SavedProgram",
    "Tensor",
    "abs",
    "absolute",
    "accelerator",
    "acos",
    "acosh",
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "adjoint",
    "all",
    "allclose",
    "alpha_dropout",
    "amax",
    "amin",
    "aminmax",
    "amp",
    "angle",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "array_api",
    "as_strided",
    "as_strided_scatter",
    "as_tensor",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autocast",
    "autograd",
    "autotune",
    "avg_pool1d",
    "backends",
    "baddbmm",
    "bartlett_window",
    "bernoulli",
    "bfloat16",
    "bilinear",
    "bincount",
    "binomial",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "block_diag",
    "bmm",
    "bool",
    "bool_",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "cast",
    "cat",
    "cauchy",
    "cdist",
    "cdouble",
    "ceil",
    "celu",
    "cfloat",
    "chain_matmul",
    "channel_shuffle",
    "check",
    "checkpoint",
    "checkpointing",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "column_stack",
    "combinations",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "concatenate",
    "config",
    "conj",
    "conj_physical",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copysign",
    "corrcoef",
    "cos",
    "cosh",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cross",
    "cuda",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "custom_op",
    "data",
    "debug",
    "deform_conv2d",
    "deg2rad",
    "det",
    "detach",
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dim_order",
    "dist",
    "distributions",
    "div",
    "divide",
    "dot",
    "double",
    "dropout",
    "dsplit",
    "dstack",
    "einsum",
    "empty",
    "empty_like",
    "enable_grad",
    "entr",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "errors",
    "exp",
    "exp2",
    "expand",
    "expand_as",
    "expm1",
    "exponent",
    "exponential",
    "export",
    "eye",
    "feature_alpha_dropout",
    "fft",
    "finfo",
    "fix",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frexp",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "func",
    "gather",
    "gather_nd",
    "gcd",
    "ge",
    "geometric",
    "geqrf",
    "ger",
    "get_autocast_dtype",
    "get_default_device",
    "get_default_dtype",
    "get_default_integer",
    "get_matmul_precision",
    "get_printoptions",
    "get_rng_state",
    "grad",
    "gradient",
    "greater",
    "greater_equal",
    "group_norm",
    "gt",
    "gumbel",
    "half",
    "hamming_window",
    "hann_window",
    "hardshrink",
    "heaviside",
    "hessian",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "hub",
    "hvp",
    "hypot",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "igamma",
    "igammac",
    "iinfo",
    "imag",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "inference_mode",
    "initial_seed",
    "inner",
    "inspect",
    "inspector",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "inverse",
    "io",
    "is_autocast_enabled",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_set_to",
    "is_signed",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "kaiser_window",
    "kron",
    "kthvalue",
    "laplace",
    "layer_norm",
    "lcm",
    "ldexp",
    "le",
    "learner",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "linalg",
    "linspace",
    "load",
    "load_program",
    "lobpcg",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_ndtr",
    "log_normal",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logspace",
    "logsumexp",
    "lt",
    "lu_solve",
    "lu_unpack",
    "manual_seed",
    "masked",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "mean",
    "median",
    "memory",
    "memory_budget",
    "meshgrid",
    "metrics",
    "min",
    "minimum",
    "mm",
    "mode",
    "models",
    "moveaxis",
    "movedim",
    "msort",
    "mul",
    "multinomial",
    "multiply",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "narrow_copy",
    "ndtr",
    "ndtri",
    "ne",
    "neg",
    "negative",
    "new",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_zeros",
    "nextafter",
    "nn",
    "no_grad",
    "nonzero",
    "nonzero_static",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "onnx",
    "open_device",
    "optim",
    "ormqr",
    "outer",
    "pad",
    "pairwise_distance",
    "pdist",
    "permute",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson",
    "polar",
    "polygamma",
    "porting",
    "positive",
    "pow",
    "prelu",
    "printoptions",
    "prod",
    "profile",
    "profiling",
    "promote_types",
    "put",
    "qr",
    "quantile",
    "quantize",
    "quantized_linear",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random_bits",
    "randperm",
    "ravel",
    "read",
    "real",
    "realize",
    "reciprocal",
    "relu",
    "remainder",
    "renorm",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_as",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "rms_norm",
    "roll",
    "rot90",
    "round",
    "row_stack",
    "rrelu",
    "rsqrt",
    "rsub",
    "sanitize",
    "sanitizer",
    "save",
    "save_program",
    "scatter",
    "scatter_add",
    "scatter_nd",
    "scatter_reduce",
    "searchsorted",
    "seed",
    "select",
    "select_scatter",
    "selftest",
    "selu",
    "set_default_device",
    "set_default_dtype",
    "set_default_integer",
    "set_grad_enabled",
    "set_matmul_precision",
    "set_printoptions",
    "set_rng_state",
    "sgn",
    "sigmoid",
    "sign",
    "signal",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "slice_assign",
    "slice_scatter",
    "slogdet",
    "softmax",
    "sort",
    "special",
    "split",
    "split_with_sizes",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "stft",
    "storage_offset",
    "stride",
    "sub",
    "subtract",
    "sum",
    "sum_to_size",
    "svd",
    "swapaxes",
    "swapdims",
    "synchronize",
    "t",
    "take",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor",
    "tensor_split",
    "tensor_unfold",
    "tensordot",
    "testing",
    "threshold",
    "tile",
    "topk",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unbind",
    "unflatten",
    "unfold",
    "uniform",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "utils",
    "value_and_grad",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "vjp",
    "vmap",
    "vsplit",
    "vstack",
    "watch",
    "where",
    "xlog1py",
    "xlogy",
    "zeros",
    "zeros_like",
    "zeta",
]
