"""Complex numbers: building from two floats, splitting, conjugating. Other ops treat them like floats.

The gradient with respect to a complex number is the derivative with respect to its real part plus i times
that with respect to its imaginary part, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

from ..core import dtype as dt
from ..core.declare import composed, kernel
from ..core.op import describe
from ..core.shape import broadcast
from .elementwise import elementwise

if TYPE_CHECKING:
    from ..core.rules import Array, DTypeRule, Gradient, Prepared, Reference, ShapeRule
    from ..core.shape import Shape
    from ..device.array_namespace import Namespace
    from ..tensor import Tensor, TensorLike

P = ParamSpec("P")

NOT_REAL = "takes complex numbers: make them with complex(real, imag), or cast with .to(complex64)"


def _join_parts(xp: Namespace, real: Array, imag: Array) -> Array:
    """Assigns both parts: real + 1j * imag would have a NaN real part for an infinite imag."""
    return _as_complex(xp, xp.stack(xp.broadcast_arrays(real, imag), axis=-1))


def _as_complex(xp: Namespace, x: Array) -> Array:
    if xp.is_numpy:
        # pairs of floats are complex numbers in memory
        parts = xp.astype(x, "float64" if x.dtype == "float64" else "float32")
        complex_dtype = "complex128" if x.dtype == "float64" else "complex64"
        return xp.ascontiguousarray(parts).view(complex_dtype)[..., 0]
    if xp.library == "torch":
        return xp.module.view_as_complex(x.contiguous())
    return x[..., 0] + 1j * x[..., 1]


def _add_parts(s: Shape) -> Shape:
    return (*s, 2)


def _drop_parts(s: Shape) -> Shape:
    return s[:-1]


def _view(
    takes: str, shape: ShapeRule, dtype: DTypeRule, xp: Reference, grad: Gradient
) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    return kernel("movement", shape=shape, dtype=dtype, dtypes=takes, xp=xp, grad=grad, holomorphic=False)


@elementwise(
    lambda g, z, x, y: [g.real, g.imag],
    _join_parts,
    dtype=lambda x, y: dt.promote(x, y).as_float.complex,
    operands=lambda x, y: dt.promote(x, y).as_float,
    holomorphic=False,
)
def _join(input: Tensor, other: TensorLike) -> Tensor:
    """input + i other. [...], [...] -> [...]"""
    ...


@elementwise(lambda g, y, x: [g.conj()], "conj", dtypes="c", refusal=NOT_REAL, holomorphic=False)
def _conj(input: Tensor) -> Tensor:
    """The complex conjugate. [...] -> [...]"""
    ...


@_view(
    "c",
    _add_parts,
    lambda d: d.real,
    lambda xp, z: xp.stack([z.real, z.imag], axis=-1),
    lambda g, y, z: [g.view_as_complex()],
)
def view_as_real(input: Tensor) -> Prepared:
    """Both parts of complex numbers, as a view. TypeError for real numbers. [...] -> [..., 2]"""
    if not input.dtype.is_complex:
        raise TypeError(NOT_REAL)
    return (input,), {}


# a function, since a type checker needs the type of view_as_complex for a lambda in either row
def _parts_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    return [g.view_as_real()]


@_view("f", _drop_parts, lambda d: d.complex, _as_complex, _parts_grad)
def view_as_complex(input: Tensor) -> Prepared:
    """The complex numbers whose two parts are side by side in the last dim, as a view. [..., 2] -> [...]

    float16 and bfloat16 are cast to float32 first, which copies. ValueError if the last dim is not 2,
    TypeError for integers.
    """
    if input.dtype.kind != "f":
        raise TypeError("takes floats: cast with .float()")
    if input.shape[-1:] != (2,):
        raise ValueError("takes floats with a last dim of 2, the real and the imaginary part")
    return (input if input.dtype.real is input.dtype.as_float else input.float(),), {}


@composed
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; real tensors are returned unchanged. [...] -> [...]"""
    return _conj(input) if input.dtype.is_complex else input


conj_physical = conj


def resolve_conj(input: Tensor) -> Tensor:
    """Returns the tensor: conjugates are computed at once, not marked by a bit."""
    return input


resolve_neg = resolve_conj


def is_conj(input: Tensor) -> bool:
    """False: conjugates are computed at once, not marked by a bit."""
    return False


is_neg = is_conj


@composed
def angle(input: Tensor) -> Tensor:
    """The angle of each number in radians; 0 or pi for real numbers, NaN for NaN. [...] -> [...]"""
    if input.dtype.is_complex:
        return imag(input).atan2(real(input))
    x = input if input.dtype.is_float else input.float()
    return x.isnan().where(x, (x < 0).to(x.dtype) * 3.141592653589793)


@composed
def sgn(input: Tensor) -> Tensor:
    """x / |x|, 0 for 0: the sign of real numbers, the direction of complex ones. [...] -> [...]"""
    if not input.dtype.is_complex:
        return input.sign()
    # The gradient has the direction of x; 1 instead of 0 keeps it finite at 0.
    size = input.abs()
    return input / (size == 0).where(1.0, size)


@composed
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0. [...] -> [...]"""
    if input.dtype.is_complex:
        return imag(input) == 0
    return input.full(input.shape, True, device=input.device)


@composed
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose; the conjugate of a 0-d tensor. ValueError for a vector.
    [..., n, m] -> [..., m, n]"""
    if input.ndim == 1:
        raise ValueError("takes a matrix or a batch of them: use .conj()")
    return input.conj() if not input.ndim else input.conj().transpose(-2, -1)


@composed
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from real and imaginary parts: complex64, or complex128 from float64.
    [...], [...] -> [...]

    imag: imaginary parts
    Raises ValueError if shapes do not broadcast.
    """
    if any(t.dtype not in dt.FLOATS for t in (real, imag)) or real.dtype is not imag.dtype:
        rule = "both parts must be floats of one dtype: cast them with .float()"
        raise ValueError(f"complex({describe(real)}, {describe(imag)}): {rule}")
    shape = broadcast(real.shape, imag.shape)
    return _join(real.expand(*shape), imag.expand(*shape))


@composed
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers from absolute values and angles in radians. [...], [...] -> [...]

    abs: absolute values
    angle: angles in radians
    """
    return _join(abs * angle.cos(), abs * angle.sin())


@composed
def real(input: Tensor) -> Tensor:
    """The real parts, as a view; real tensors are returned unchanged. [...] -> [...]"""
    return view_as_real(input).select(-1, 0) if input.dtype.is_complex else input


@composed
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view. TypeError for real numbers. [...] -> [...]"""
    if not input.dtype.is_complex:
        raise TypeError(NOT_REAL)
    return view_as_real(input).select(-1, 1)
