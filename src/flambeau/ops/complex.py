"""Complex numbers: made of two floats, taken apart, conjugated. All other ops take them as they take floats.

A gradient of one is the slope by its real part and, times i, that by its imaginary part, as in PyTorch.
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


def _joined(xp: Namespace, real: Array, imag: Array) -> Array:
    """Not real + 1j * imag: what is infinite times 1j has no real part."""
    made = xp.stack(xp.broadcast_arrays(real, imag), axis=-1)
    return _as_complex(xp, made)


def _as_complex(xp: Namespace, x: Array) -> Array:
    if xp.is_numpy:
        made = xp.astype(x, "float64" if x.dtype == "float64" else "float32")
        wanted = "complex128" if x.dtype == "float64" else "complex64"
        return xp.ascontiguousarray(made).view(wanted)[..., 0]
    if xp.library == "torch":
        return xp.module.view_as_complex(x.contiguous())
    return x[..., 0] + 1j * x[..., 1]


def _two(s: Shape) -> Shape:
    return (*s, 2)


def _whole(s: Shape) -> Shape:
    return s[:-1]


def _view(
    takes: str, shape: ShapeRule, dtype: DTypeRule, xp: Reference, grad: Gradient
) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    return kernel("movement", shape=shape, dtype=dtype, dtypes=takes, xp=xp, grad=grad, holomorphic=False)


@elementwise(
    lambda g, z, x, y: [g.real, g.imag],
    _joined,
    dtype=lambda x, y: dt.promote(x, y).as_float.complex,
    operands=lambda x, y: dt.promote(x, y).as_float,
    holomorphic=False,
)
def _join(input: Tensor, other: TensorLike) -> Tensor:
    """input + i other. [...], [...] -> [...]"""
    ...


@elementwise(lambda g, y, x: [g.conj()], "conj", dtypes="c", refusal=NOT_REAL, holomorphic=False)
def _conj(input: Tensor) -> Tensor:
    """input - i y. [...] -> [...]"""
    ...


@_view(
    "c",
    _two,
    lambda d: d.real,
    lambda xp, z: xp.stack([z.real, z.imag], axis=-1),
    lambda g, y, z: [g.view_as_complex()],
)
def view_as_real(input: Tensor) -> Prepared:
    """Both parts of complex numbers, as a view. TypeError for real numbers. [...] -> [..., 2]"""
    if not input.dtype.is_complex:
        raise TypeError(NOT_REAL)
    return (input,), {}


@_view("f", _whole, lambda d: d.complex, _as_complex, lambda g, y, x: [g.view_as_real()])
def view_as_complex(input: Tensor) -> Prepared:
    """The complex numbers whose two parts lie side by side in the last dim, as a view. [..., 2] -> [...]

    float16 and bfloat16 are cast to float32 first: a copy. ValueError for what are no such pairs,
    TypeError for integers.
    """
    if input.dtype.kind != "f":
        raise TypeError("takes floats: cast with .float()")
    if input.shape[-1:] != (2,):
        raise ValueError("takes floats with a last dim of 2, the real and the imaginary part")
    return (input if input.dtype.real is input.dtype.as_float else input.float(),), {}


@composed
def conj(input: Tensor) -> Tensor:
    """The complex conjugates; of real numbers themselves. [...] -> [...]"""
    return _conj(input) if input.dtype.is_complex else input


conj_physical = conj


def resolve_conj(input: Tensor) -> Tensor:
    """Itself: conjugates are computed, no bit is kept for later."""
    return input


resolve_neg = resolve_conj


def is_conj(input: Tensor) -> bool:
    """False: conjugates are computed, no bit is kept for later."""
    return False


is_neg = is_conj


@composed
def angle(input: Tensor) -> Tensor:
    """The angle of each number in radians; of real ones 0 or pi, NaN of NaN. [...] -> [...]"""
    if input.dtype.is_complex:
        return imag(input).atan2(real(input))
    x = input if input.dtype.is_float else input.float()
    return x.isnan().where(x, (x < 0).where(3.141592653589793, x * 0.0))


@composed
def sgn(input: Tensor) -> Tensor:
    """x / |x|, 0 of 0: the sign of real numbers, the direction of complex ones. [...] -> [...]"""
    if not input.dtype.is_complex:
        return input.sign()
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
    """The last two dims exchanged, and conjugates; of a single number its conjugate. ValueError for a
    vector. [..., n, m] -> [..., m, n]"""
    if input.ndim == 1:
        raise ValueError("takes a matrix or a batch of them: use .conj()")
    return input.conj() if not input.ndim else input.conj().transpose(-2, -1)


@composed
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of real and imaginary parts: complex64, complex128 of float64. [...], [...] -> [...]

    imag: imaginary parts
    Raises ValueError where shapes do not broadcast.
    """
    if any(t.dtype not in dt.FLOATS for t in (real, imag)) or real.dtype is not imag.dtype:
        rule = "both parts are floats of one dtype: cast them with .float()"
        raise ValueError(f"complex({describe(real)}, {describe(imag)}): {rule}")
    shape = broadcast(real.shape, imag.shape)
    return _join(real.expand(*shape), imag.expand(*shape))


@composed
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers of sizes and angles in radians. [...], [...] -> [...]

    abs: sizes
    angle: angles in radians
    """
    return _join(abs * angle.cos(), abs * angle.sin())


@composed
def real(input: Tensor) -> Tensor:
    """The real parts, as a view; of real numbers themselves. [...] -> [...]"""
    return view_as_real(input).select(-1, 0) if input.dtype.is_complex else input


@composed
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view. TypeError for real numbers. [...] -> [...]"""
    if not input.dtype.is_complex:
        raise TypeError(NOT_REAL)
    return view_as_real(input).select(-1, 1)
