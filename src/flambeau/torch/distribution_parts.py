"""torch.distributions.utils: helpers that other packages' distributions use."""

from collections.abc import Callable
from numbers import Number
from typing import Any

from .. import functions
from ..core.dtype import finfo, get_default_dtype
from ..core.modes import enable_grad
from ..ops.distribution import randn
from ..tensor import Tensor, tensor


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Tensors and numbers as tensors of one shape."""
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = get_default_dtype() if first is None else first.dtype
    device = None if first is None else first.device
    parts = [v if isinstance(v, Tensor) else tensor(v, dtype=dtype, device=device) for v in values]
    return tuple(functions.broadcast_tensors(*parts))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Normal numbers with mean 0 and variance 1."""
    return randn(*shape, dtype=dtype, device=device)


def _sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last dims."""
    return value if dim == 0 else value.reshape(*value.shape[:-dim], -1).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities that are neither 0 nor 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logarithms of probabilities; of two classes, the logarithm of the odds."""
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of probs_to_logits."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The elements of a lower triangular matrix, row by row, as the matrix. [..., m] -> [..., n, n]"""
    n = round(
        (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    )
    rows, columns = functions.tril_indices(n, n, diag, device=vec.device)
    out = vec.new_zeros(*vec.shape[:-1], n * n)
    out[..., rows * n + columns] = vec
    return out.reshape(*vec.shape[:-1], n, n)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of a lower triangular matrix, row by row. [..., n, n] -> [..., m]"""
    n = mat.shape[-1]
    rows, columns = functions.tril_indices(n, n, diag, device=mat.device)
    return mat.flatten(-2)[..., rows * n + columns]


class lazy_property:
    """A property that is computed once, and is an attribute then.

    wrapped: the method that computes it
    """

    def __init__(self, wrapped: Callable[[Any], Any]):
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


_Number = Number


# torch's names that begin with _, which module_tree.py looks up
__all__ = [
    "_standard_normal",
    "_sum_rightmost",
]
