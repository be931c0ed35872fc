"""PyTorch's functions that are methods, settings or other functions here; imported on first use."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import functions, linalg
from .capture.jit import jit
from .core.dtype import DTypeLike, as_dtype, float32, get_default_dtype
from .core.modes import (
    get_matmul_precision,
    is_grad_enabled,
    set_detect_anomaly,
    set_matmul_precision,
)
from .core.modes import is_anomaly_enabled as is_anomaly_enabled
from .core.op import COMPOSED
from .core.out import into
from .core.shape import broadcast
from .core.sizes import integers
from .core.spelling import without_effect
from .core.tree import is_sequence
from .device import DeviceLike
from .errors import ValueError, suggest
from .ops.random import generator
from .tensor import Tensor, tensor

default_generator = generator
e, inf, nan, pi = math.e, math.inf, math.nan, math.pi
newaxis, Size = None, tuple

# functions that call a method of their tensor, in-place ones included
METHODS = [
    "abs_",
    "acos_",
    "acosh_",
    "addmv_",
    "arccos_",
    "arccosh_",
    "arcsin_",
    "arcsinh_",
    "arctan_",
    "arctanh_",
    "asin_",
    "asinh_",
    "atan_",
    "atanh_",
    "ceil_",
    "clamp_",
    "clamp_max_",
    "clamp_min_",
    "clip_",
    "conj_physical_",
    "cos_",
    "cosh_",
    "deg2rad_",
    "detach_",
    "erf_",
    "erfc_",
    "exp_",
    "exp2_",
    "expm1_",
    "fill_",
    "fix_",
    "floor_",
    "frac_",
    "gcd_",
    "i0_",
    "index_put_",
    "lcm_",
    "ldexp_",
    "log_",
    "log10_",
    "log1p_",
    "log2_",
    "logit_",
    "nan_to_num_",
    "neg_",
    "negative_",
    "rad2deg_",
    "reciprocal_",
    "relu_",
    "resize_as_",
    "round_",
    "rsqrt_",
    "sigmoid_",
    "sin_",
    "sinc_",
    "sinh_",
    "sqrt_",
    "square_",
    "tan_",
    "tanh_",
    "trunc_",
    "xlogy_",
    "zero_",
]
# functions that copy a view: the function that makes the view
COPIES = {
    f"{name}_copy": name
    for name in [
        "alias",
        "detach",
        "diagonal",
        "expand",
        "permute",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unbind",
        "unfold",
        "unsqueeze",
        "view",
    ]
}
VIEWS = {"slice": "narrow", "unfold": "tensor_unfold"}  # views whose method has another name here
for _name in METHODS:
    globals()[_name] = getattr(Tensor, _name)


def _copy_of(name: str) -> Callable[..., Any]:
    def clone_view(input: Tensor, *args: Any, **kw: Any) -> Any:
        view = input if name == "alias" else getattr(input, VIEWS.get(name, name))(*args, **kw)
        return tuple(t.clone() for t in view) if is_sequence(view) else view.clone()

    def copy(input: Tensor, *args: Any, out: Any = None, **kw: Any) -> Any:
        return (
            clone_view(input, *args, **kw)
            if out is None
            else into(clone_view, (input, *args), {**kw, "out": out})
        )

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"{name}, as new tensors or as the values of out."
    return copy


for _name, _view in COPIES.items():
    if _name != "slice_copy":
        globals()[_name] = _copy_of(_view)


def _clone_slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
):
    keys = [slice(None)] * input.ndim
    keys[dim] = slice(start, end, step)
    return input[tuple(keys)].clone()


def slice_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kw: Any) -> Tensor:
    """A copy of each step-th element of a dim from start to end, or out with these values:
    slice_copy(input, dim=0, start=None, end=None, step=1)."""
    return (
        _clone_slice(input, *args, **kw)
        if out is None
        else into(_clone_slice, (input, *args), {**kw, "out": out})
    )


# --- tensors from data ---


def asarray(
    obj: Any,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of data; a tensor that matches is returned itself. copy: True always copies; False: ValueError
    if a copy is needed."""
    if copy is False and not isinstance(obj, Tensor):
        raise ValueError("asarray(copy=False): host data is always copied: pass copy=None")
    t = functions.as_tensor(obj, dtype, device)
    t = t.clone() if copy and t is obj else t
    return t.requires_grad_() if requires_grad else t


def frombuffer(
    buffer: Any, *, dtype: DTypeLike, count: int = -1, offset: int = 0, requires_grad: bool = False
):
    """A tensor of `count` numbers (all) of a buffer's bytes from `offset` on, copied. -> [count]"""
    import numpy as np  # NumPy is optional, so only the functions that need it import it

    kind = as_dtype(dtype)
    return tensor(np.frombuffer(buffer, kind.numpy, count, offset), kind, requires_grad=requires_grad)


def from_file(filename: Any, shared: bool | None = None, size: int = 0, *, dtype: DTypeLike = float32):
    """A tensor of the first `size` numbers of a file, copied. shared: only None or False. -> [size]"""
    if shared:
        raise ValueError(
            "from_file(shared=True): a tensor does not share memory with a file: write"
            " Tensor.numpy() to the file"
        )
    return frombuffer(Path(filename).read_bytes(), dtype=dtype, count=size)


def as_strided_copy(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of the elements that as_strided selects, or out with these values. -> [*size]"""
    args = (input, size, stride, storage_offset)
    return Tensor.as_strided(*args) if out is None else into(Tensor.as_strided, args, {"out": out})


@without_effect
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """empty; the tensor is always contiguous. -> [*size]"""
    return functions.empty(size, dtype=dtype, device=device, requires_grad=requires_grad)


@without_effect
def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """empty; the tensor is always contiguous. -> [*size]

    physical_layout: each dim once, without effect. ValueError for other dims.
    """
    size = integers(size, "size")
    if sorted(physical_layout) != [d for d, _ in enumerate(size)]:
        call = f"empty_permuted({list(size)}, {list(physical_layout)})"
        raise ValueError(f"{call}: physical_layout does not name each dim once: permute all dims of size")
    return functions.empty(size, dtype=dtype, device=device, requires_grad=requires_grad)


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of a tensor's memory, for another library."""
    return tensor.__dlpack__()


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """conv1d with the channels in the last dim. [steps, n, in], [kernel, in, out] -> [steps, n, out]"""
    y = COMPOSED["conv1d"](input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return y.permute(2, 0, 1)


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """Call one of two functions with the operands; pred is read, and the other function is not called."""
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Call body_fn repeatedly while cond_fn, which is read each time, is true; returns the last values."""
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        values = body_fn(*carried)  # cond_fn reads a value each time, so jit can't record the loop
        carried = tuple(values) if is_sequence(values) else (values,)
    return carried


@without_effect
def scalar_tensor(
    s: complex,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A number as a 0-d tensor, in the default float dtype unless dtype is given. -> []"""
    return tensor(s, dtype or get_default_dtype(), device, requires_grad)


@without_effect
def range(
    start: float = 0,
    end: float = 0,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from start to end, inclusive. -> [n]"""
    # inclusive, unlike arange; an end between two numbers is left out
    n = math.floor((end - start) / step) + 1
    numbers = functions.arange(n, device=device) * step + start
    numbers = numbers.to(as_dtype(dtype or get_default_dtype()))
    return numbers.requires_grad_() if requires_grad else numbers


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor filled with one value, in the shape of the input. [...] -> [...]"""
    return input.clone().fill_(value)


def typename(obj: Any) -> str:
    """The name of an object's type, with its module."""
    kind = obj.__class__
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that tensors of these shapes broadcast to."""
    return broadcast(*((s,) if isinstance(s, int) else tuple(s) for s in shapes))


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """nn.functional.pad with a constant."""
    return COMPOSED["pad"](input, pad, value=value)


# --- linear algebra under its old names ---


def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over dims, or over all."""
    return linalg.vector_norm(input, 2, dim, keepdim)


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of singular values. [..., n, m] -> [...]"""
    return linalg.matrix_norm(input, "nuc", dim, keepdim)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dims but one, which keep size 1; over all dims for dim=-1."""
    if dim == -1:
        return linalg.vector_norm(v, pow)
    # [d for d in arange]: `range` is PyTorch's function in this module
    return linalg.vector_norm(v, pow, [d for d in functions.arange(v.ndim).tolist() if d != dim], True)


def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """linalg.householder_product."""
    return linalg.householder_product(input, tau)


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, ...]:
    """The q largest singular values of A (minus M) with their vectors. niter: accepted and ignored: the
    result is exact."""
    # exact, so niter and PyTorch's random projection have no counterpart
    u, s, vh = linalg.svd(A if M is None else A - M, full_matrices=False)
    return u[..., :q], s[..., :q], vh.mH[..., :q]


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, ...]:
    """svd_lowrank of centred rows: the columns of the last result are the principal directions."""
    n = min(6, *A.shape[-2:]) if q is None else q  # PyTorch's default, at most 6 components
    return svd_lowrank(A - A.mean(-2, True) if center else A, n, niter)


# --- settings ---

set_float32_matmul_precision, get_float32_matmul_precision = set_matmul_precision, get_matmul_precision
set_anomaly_enabled = set_detect_anomaly


def get_deterministic_debug_mode() -> int:
    """Return 2 (error): all algorithms are deterministic."""
    return 2


def is_anomaly_check_nan_enabled() -> bool:
    """The same as is_anomaly_enabled, which checks for NaN."""
    return is_anomaly_enabled()


def compile(model: Any = None, **_: Any) -> Any:
    """fb.jit under PyTorch's name: its options (backend, mode, dynamic, ...) have no counterpart here."""
    return jit if model is None else jit(model)


def is_inference_mode_enabled() -> bool:
    """Whether gradients are disabled, which is the only effect of inference_mode here."""
    return not is_grad_enabled()


def are_deterministic_algorithms_enabled() -> bool:
    """True: the same operations on the same device give the same bits."""
    return True


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return False: all algorithms are deterministic."""
    return False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Do nothing: all algorithms are deterministic. ValueError for False, which is not possible. warn_only:
    accepted and ignored."""
    if not mode:
        raise ValueError(
            "use_deterministic_algorithms(False): all algorithms are deterministic: leave it out"
        )


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau.forms has no {name!r}{suggest(name, NAMES)}")


NAMES = sorted(
    {n for n, v in globals().items() if n[0] != "_" and getattr(v, "__module__", "") == __name__}
    | {
        *METHODS,
        *COPIES,
        "default_generator",
        "e",
        "get_float32_matmul_precision",
        "inf",
        "is_anomaly_enabled",
    }
    | {"nan", "newaxis", "pi", "set_anomaly_enabled", "set_float32_matmul_precision", "Size"}
)
