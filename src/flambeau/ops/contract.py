"""Contractions: products of two views, summed over their last dims; matrix products are contractions."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core import modes
from ..core import op as _op
from ..core.declare import composed, kernel
from ..core.op import Family, make_view, tensor_beside
from ..core.shape import broadcast
from .elementwise import scale_by

if TYPE_CHECKING:
    from ..core.dtype import DType
    from ..core.rules import Array, Prepared
    from ..core.shape import Shape
    from ..device.array_namespace import Namespace
    from ..tensor import HostScalar, Tensor


def _shape(a: Shape, b: Shape, nk: int, **_: Any) -> Shape:
    shape = broadcast(a, b)
    return shape[: len(shape) - nk]


def _common(a: DType, b: DType) -> DType:
    common = dt.promote(a, b)
    return common if common.kind != "b" else dt.int32


def _dtype(a: DType, b: DType, **_: Any) -> DType:
    """The dtype of the sum: 4 bytes wide, also for operands that are read packed."""
    return _common(a, b).wide


def _grad(g: Tensor, y: Tensor, a: Tensor, b: Tensor, nk: int, label: str, **_: Any) -> list[Tensor | None]:
    g = g.reshape(*g.shape, *(1,) * nk)  # the summed dims of g, to broadcast
    return [_grad_operand(g, b, a, label), _grad_operand(g, a, b, label)]


def _grad_operand(g: Tensor, other: Tensor, x: Tensor, label: str) -> Tensor:
    """The sum of g * other over the dims along which x was broadcast."""
    rank = x.ndim
    # Where x has size 1 and the product more, each element of x was used several times.
    summed = [d for d in range(rank) if x.shape[d] == 1 and {g.shape[d], other.shape[d]} != {1}]
    if not summed:
        return (g * other).expand(*x.shape)
    kept_dims = [d for d in range(rank) if d not in summed]
    # The summed dims last, as contract has them.
    order = (*kept_dims, *summed)
    out = contract(g.permute(*order), other.permute(*order), len(summed), label)
    out = out.expand(*(x.shape[d] for d in kept_dims))
    return out.reshape(*x.shape)


LARGEST_OPERAND = 1 << 26  # elements of an operand that NumPy copies for a product: larger ones are halved


def _einsum(xp: Namespace, a: Array, b: Array, nk: int, **_: Any) -> Array:
    shape = broadcast(a.shape, b.shape)
    out = shape[: len(shape) - nk]
    if xp.is_numpy and a.dtype.kind in "fc":
        return xp.astype(_matmul(a, b, nk, shape).reshape(out), a.dtype)
    # Dims of size 1 lose their letter, so that einsum broadcasts them.
    letters = "abcdefghijklmnopqrstuvwxyz"
    keep = [[d for d, n in enumerate(x.shape) if n != 1] for x in (a, b)]
    terms = ["".join(letters[d] for d in k) for k in keep]
    parts = [xp.reshape(x, tuple(x.shape[d] for d in k)) for x, k in zip((a, b), keep, strict=True)]
    kept = "".join(letters[d] for d, n in enumerate(out) if n != 1)
    product = xp.einsum(f"{terms[0]},{terms[1]}->{kept}", *parts, optimize=True)
    return xp.astype(xp.reshape(product, out), a.dtype)


def _matmul(a: Array, b: Array, nk: int, shape: Shape) -> Array:
    """The same by matrix products. NumPy's einsum uses them only without batch dims, and is slow otherwise.

    shape: that of a * b. The result lacks dims of size 1.
    """
    end = len(shape) - nk
    # A summed dim that one operand lacks is summed in the other.
    for d in range(end, len(shape)):
        if a.shape[d] != b.shape[d]:
            a, b = (x.sum(d, keepdims=True) if x.shape[d] != 1 else x for x in (a, b))
    used = [(d, a.shape[d] != 1, b.shape[d] != 1) for d in range(len(shape))]
    batch = [d for d, in_a, in_b in used if in_a and in_b and d < end]
    summed = [d for d, in_a, in_b in used if in_a and in_b and d >= end]
    left = [d for d, in_a, in_b in used if in_a and not in_b]
    right = [d for d, in_a, in_b in used if in_b and not in_a]
    if a.size == 0 or b.size == 0:
        return a.dtype.type(0) + (a * b).sum(tuple(range(end, len(shape))))
    split = max(left, key=lambda d: a.shape[d], default=None)
    if split is not None and a.shape[split] > 1 and a.size > LARGEST_OPERAND:
        return _matmul_in_halves(a, b, nk, shape, split)

    def matrices(x: Array, rows: list[int], columns: list[int]) -> Array:
        order = [*batch, *rows, *columns]
        rest = [d for d in range(x.ndim) if d not in order]  # of size 1
        sizes = (prod(x.shape[d] for d in part) for part in (batch, rows, columns))
        return x.transpose(*order, *rest).reshape(*sizes)

    product = matrices(a, left, summed) @ matrices(b, summed, right)
    order = [*batch, *left, *right]
    product = product.reshape([shape[d] for d in order])
    return product.transpose([order.index(d) for d in sorted(order)])


def _matmul_in_halves(a: Array, b: Array, nk: int, shape: Shape, split: int) -> Array:
    """`_matmul` of both halves of a dim that only `a` has."""
    import numpy as np

    half, parts = a.shape[split] // 2, list[Any]()
    for piece in (slice(0, half), slice(half, None)):
        part = a[(*[slice(None)] * split, piece)]
        sizes = (*shape[:split], part.shape[split], *shape[split + 1 :])
        parts.append(_matmul(part, b, nk, sizes).reshape(sizes[: len(shape) - nk]))
    joined = np.concatenate(parts, split)
    return joined.reshape([n for n in joined.shape if n != 1])


def contract(a: Tensor, b: Tensor, nk: int, label: str = "contract") -> Tensor:
    """Sums a * b, broadcast together, over the last nk dims. [..., k], [..., k] -> [...]"""
    return _cast_to(Contract._contract(a, b, nk, label), _common(a.dtype, b.dtype))


def same_rank(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Casts both to one dtype, which contractions compute in."""
    dtype = _common(a.dtype, b.dtype)
    return _cast_to(a, dtype), _cast_to(b, dtype)


def _cast_to(x: Tensor, dtype: dt.DType) -> Tensor:
    return x if x.dtype is dtype else x.to(dtype)


@composed
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product; one dim is a vector. [..., m, k] @ [..., k, n] -> [..., m, n]

    Raises ValueError if either is 0-d, or inner sizes differ.
    """
    other = other if isinstance(other, _op.Tensor) else tensor_beside(input, other)
    if input.ndim == 0 or other.ndim == 0:
        raise ValueError("both operands need at least 1 dim: use * for scalars")
    a, b = same_rank(input, other)
    a = a.unsqueeze(0) if input.ndim == 1 else a
    b = b.unsqueeze(1) if other.ndim == 1 else b
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"inner sizes differ: {a.shape[-1]} and {b.shape[-2]}")
    rank, (*lead, k, n) = max(a.ndim, b.ndim), b.shape
    # Both operands end in k: [..., m, 1, k] and [..., 1, n, k], two views that broadcast.
    b = make_view(b, "permute", dims=(*range(b.ndim - 2), b.ndim - 1, b.ndim - 2))
    ones = [(1,) * (rank - x.ndim) for x in (a, b)]
    a = make_view(a, "reshape", shape=(*ones[0], *a.shape[:-1], 1, k))
    b = make_view(b, "reshape", shape=(*ones[1], *lead, 1, n, k))
    y = contract(a, b, 1, "matmul")
    y = y.squeeze(-1) if other.ndim == 1 else y  # a vector's dim is dropped again
    return y.squeeze(-2 if other.ndim > 1 else -1) if input.ndim == 1 else y


@composed
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Sum of products of two vectors. [n], [n] -> []

    Raises ValueError if either does not have 1 dim.
    """
    if input.ndim != 1 or tensor.ndim != 1:
        raise ValueError("both operands need 1 dim: use matmul")
    return input.matmul(tensor)


@composed
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of the elements of two vectors; ValueError for other ranks. [n], [m] -> [n, m]

    vec2: the second vector
    """
    if input.ndim != 1 or vec2.ndim != 1:
        raise ValueError("both operands need 1 dim: flatten them with .reshape(-1)")
    return input.reshape(-1, 1) * vec2.reshape(1, -1)


ger = outer


@composed
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Sum of products of two vectors; a complex first one is conjugated. [n], [n] -> []"""
    return input.conj().dot(other)


@composed
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices. [n, k], [k, m] -> [n, m]

    mat2: the second matrix
    Raises ValueError if operands have other numbers of dims, or inner sizes differ.
    """
    return _exact(input, mat2, (2, 2))


@composed
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector. [n, k], [k] -> [n]

    vec: a vector
    Raises ValueError if operands have other numbers of dims, or inner sizes differ.
    """
    return _exact(input, vec, (2, 1))


@composed
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices. [b, n, k], [b, k, m] -> [b, n, m]

    mat2: the second matrix
    Raises ValueError if the numbers of matrices or inner sizes differ.
    """
    if input.ndim == mat2.ndim == 3 and input.shape[0] != mat2.shape[0]:
        raise ValueError(f"batches differ: {input.shape[0]} and {mat2.shape[0]}")
    return _exact(input, mat2, (3, 3))


@composed
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float | HostScalar = 1, alpha: float | HostScalar = 1
) -> Tensor:
    """beta * self + alpha * (mat1 @ mat2). [n, m], [n, k], [k, m] -> [n, m]

    Raises ValueError if the input does not broadcast to the product; if operands have other
        numbers of dims, or inner sizes differ.
    """
    return _plus(input, _exact(mat1, mat2, (2, 2)), beta, alpha)


@composed
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: float | HostScalar = 1, alpha: float | HostScalar = 1
) -> Tensor:
    """beta * self + alpha * (mat @ vec). [n], [n, k], [k] -> [n]

    Raises ValueError if the input does not broadcast to the product; if operands have other
        numbers of dims, or inner sizes differ.
    """
    return _plus(input, _exact(mat, vec, (2, 1)), beta, alpha)


@composed
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float | HostScalar = 1, alpha: float | HostScalar = 1
) -> Tensor:
    """beta * self + alpha * outer(vec1, vec2). [n, m], [n], [m] -> [n, m]

    Raises ValueError if the input does not broadcast to the product.
    """
    product = vec1.outer(vec2)
    if input.dtype is dt.bool_ and product.dtype is dt.bool_:  # factors of bools are bools
        product = product & bool(alpha)
        return product if not beta else input | product
    return _plus(input, product, beta, alpha)


@composed
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float | HostScalar = 1,
    alpha: float | HostScalar = 1,
) -> Tensor:
    """beta * self + alpha * the sum of batch1[i] @ batch2[i]. [n, m], [b, n, k], [b, k, m] -> [n, m]

    Raises ValueError if either batch does not have 3 dims, or inner sizes differ.
    """
    if batch1.ndim != 3 or batch2.ndim != 3:
        raise ValueError("both batches need 3 dims")
    a, b = batch1.permute(1, 0, 2), batch2
    if a.shape[1:] != b.shape[:2]:
        raise ValueError(f"inner sizes differ: {list(a.shape[1:])} and {list(b.shape[:2])}")
    k = a.shape[1] * a.shape[2]  # the batch is summed with the inner dim: one product of matrices
    return _plus(input, a.reshape(a.shape[0], k).matmul(b.reshape(k, b.shape[2])), beta, alpha)


@composed
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float | HostScalar = 1,
    alpha: float | HostScalar = 1,
) -> Tensor:
    """beta * self + alpha * (batch1 @ batch2). [b, n, m], [b, n, k], [b, k, m] -> [b, n, m]

    Raises ValueError if the input does not broadcast to the product; if operands have other
        numbers of dims, or inner sizes differ.
    """
    return _plus(input, _exact(batch1, batch2, (3, 3)), beta, alpha)


class Contract(Family):
    @kernel("contract", shape=_shape, dtype=_dtype, grad=_grad, xp=_einsum, dtypes="fiuc")
    def _contract(self: Any, other: Tensor, nk: int, label: str) -> Prepared:
        """Sum of products over the last nk dims of two views of equal rank."""
        # Only a lower precision is an attribute, so that the default's graphs do not change.
        precision = modes.get_matmul_precision()
        allowed = {} if precision == "highest" else {"precision": precision}
        return (self, other), {"nk": nk, "label": label} | allowed

    __matmul__ = matmul

    def __rmatmul__(self: Any, other: Tensor) -> Tensor:
        return tensor_beside(self, other).matmul(self)


def _exact(a: Tensor, b: Tensor, ranks: tuple[int, int]) -> Tensor:
    """matmul of operands that must have these numbers of dims."""
    if (a.ndim, b.ndim) != ranks:
        raise ValueError(f"operands need {ranks[0]} and {ranks[1]} dims: use matmul for others")
    return a.matmul(b)


def _plus(x: Tensor, product: Tensor, beta: float | HostScalar, alpha: float | HostScalar) -> Tensor:
    """beta * x + alpha * product. With beta = 0, x is not read: its NaNs do not appear."""
    product = scale_by(product, alpha, "alpha")
    if beta == 0:
        return product
    y = scale_by(x, beta, "beta") + product
    if y.shape != product.shape:
        raise ValueError(f"shape {list(x.shape)} does not broadcast to {list(product.shape)}")
    return y


@composed
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias. [..., i], [o, i], [o] -> [..., o]"""
    y = input.matmul(weight.t())
    return y if bias is None else y + bias
