"""Products of matrices: MatMul, Gemm, Einsum, Det."""

from ...functions import det as determinant
from ...functions import einsum as summed
from ...functions import matmul as multiplied
from ...tensor import Tensor
from .table import operator


@operator("MatMul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """[..., m, k], [..., k, n] -> [..., m, n]"""
    return multiplied(a, b)


@operator("Gemm")
def gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, *, alpha: float = 1.0, beta: float = 1.0, **transposes: int
) -> Tensor:
    """alpha * a @ b + beta * c; transA and transB transpose. [m, k], [k, n], c like [m, n] -> [m, n]"""
    # `broadcast` exists in opsets 1 to 6; NumPy's rules include it
    unknown = sorted(transposes.keys() - {"transA", "transB", "broadcast"})
    if unknown:
        raise TypeError(f"has no attribute {unknown[0]!r}: it has alpha, beta, transA and transB")
    a = a.transpose(0, 1) if transposes.get("transA") else a
    b = b.transpose(0, 1) if transposes.get("transB") else b
    y = a @ b
    y = y if alpha == 1 else (y * alpha).to(y.dtype)
    # beta = 0 ignores c, even NaN, as BLAS does
    if c is None or beta == 0:
        return y
    return y + (c if beta == 1 else (c * beta).to(c.dtype))


@operator("Einsum", since=12)
def einsum(*tensors: Tensor, equation: str) -> Tensor:
    """Einsum with numpy.einsum's rules."""
    return summed(equation, *tensors)


@operator("Det", since=11)
def det(x: Tensor) -> Tensor:
    """[..., n, n] -> [...]"""
    return determinant(x)
