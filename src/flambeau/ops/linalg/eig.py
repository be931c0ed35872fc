"""Eigenvalues and eigenvectors of general matrices: complex numbers, computed on the host.

The iteration (LAPACK's geev) is sequential and unsuited to a GPU: the matrix is moved to the NumPy device,
and the results are moved back.
"""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.declare import composed, kernel
from ..elementwise import as_float

if TYPE_CHECKING:
    from ...core.rules import Gradients, Prepared
    from ...tensor import Tensor


class Eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


def _inverse(xp: Any, v: Any) -> Any:
    """Inverses of matrices; NaN for singular ones."""
    try:
        return xp.linalg.inv(v)
    except xp.linalg.LinAlgError:
        if v.ndim > 2:
            return xp.stack([_inverse(xp, m) for m in v])
        return xp.full_like(v, float("nan"))


def _reference(xp: Any, x: Any) -> Any:
    """Eigenvalues, eigenvectors as columns, and the left eigenvectors (rows of the inverse, conjugated) as
    columns."""
    values, vectors = xp.linalg.eig(xp.astype(x, "complex128"))
    lead = vectors.shape[:-2]
    if 0 in vectors.shape:
        return xp.zeros((*lead, 2 * x.shape[-1] + 1, x.shape[-1]), dtype="complex128")
    left = xp.conj(xp.swapaxes(_inverse(xp, vectors), -1, -2))
    return xp.concatenate([values[..., None, :], vectors, left], axis=-2)


def _grad(g: Tensor, y: Tensor, x: Tensor) -> Gradients:
    """As in PyTorch, for vectors of norm 1 with arbitrary phases (Boeddeker et al., 2017)."""
    n = x.shape[-1]
    values, v, left = y[..., 0, :], y[..., 1 : n + 1, :], y[..., n + 1 :, :]
    projected = v.mH @ g[..., 1 : n + 1, :]
    along = projected.diagonal(0, -2, -1).real
    gaps = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj()
    places = type(x).arange(n, device=x.device)
    on_diagonal = places.unsqueeze(-1) == places
    inner = (projected - (v.mH @ v) * along.unsqueeze(-2)) / on_diagonal.where(1.0, gaps)
    inner = on_diagonal.where(g[..., 0, :].unsqueeze(-2), inner)
    return [left @ inner @ v.mH]


class Eigen:
    """The op. It is not a method of tensors: linalg.eig moves its matrix to the host first."""

    @kernel(
        "opaque",
        shape=lambda s: (*s[:-2], 2 * s[-2] + 1, s[-1]),
        dtype=lambda d: d.complex,
        dtypes="fc",
        xp=_reference,
        grad=_grad,
        holomorphic=False,
    )
    def _eig(self) -> Prepared:
        """Eigenvalues, right and left eigenvectors as rows of one matrix. [..., n, n] -> [..., 2 n + 1, n]"""
        return (self,), {}


@composed
def linalg_eig(A: Tensor) -> Eig:
    """Eigenvalues and eigenvectors (columns of norm 1) of square matrices: complex, in no particular order.

    Computed on the host: it reads a matrix of a GPU, so it can't be recorded. ValueError if it is not square.
    [..., n, n] -> [..., n], [..., n, n]

    A: a square matrix or a batch of square matrices
    """
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"shape {list(A.shape)} is not a batch of square matrices: needs [..., n, n]")
    n = A.shape[-1]
    packed = Eigen._eig(as_float(A).to("cpu")).to(A.device)
    return Eig(packed[..., 0, :], packed[..., 1 : n + 1, :])


@composed
def linalg_eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices: complex, in no particular order, computed on the host. [..., n, n] ->
    [..., n]

    A: a square matrix or a batch of square matrices
    Raises ValueError if A is not a batch of square matrices.
    """
    return linalg_eig(A).eigenvalues
