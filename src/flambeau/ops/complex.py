"""Complex numbers: made of two floats, taken apart, conjugated. All other ops take them as they take floats.

A gradient of one is the slope by its real part and, times i, that by its imaginary part, as in PyTorch.
"""

from ..core import dtype as dt
from ..core.declare import composed, kernel
from ..core.op import Family, describe
from ..core.shape import broadcast
from .elementwise import elementwise

FUNCTIONS = ("complex", "imag", "polar", "real")
NOT_REAL = "takes complex numbers: make them with complex(real, imag), or cast with .to(complex64)"


def _joined(xp, real, imag):
    """Not real + 1j * imag: what is infinite times 1j has no real part."""
    made = xp.stack(xp.broadcast_arrays(real, imag), axis=-1)
    return _as_complex(xp, made)


def _as_complex(xp, x):
    if xp.is_numpy:
        made = xp.astype(x, "float64" if x.dtype == "float64" else "float32")
        wanted = "complex128" if x.dtype == "float64" else "complex64"
        return xp.ascontiguousarray(made).view(wanted)[..., 0]
    if xp.library == "torch":
        return xp.module.view_as_complex(x.contiguous())
    return x[..., 0] + 1j * x[..., 1]


def _two(s):
    return (*s, 2)


def _whole(s):
    return s[:-1]


def _view(takes, shape, dtype, xp, grad):
    return kernel("movement", shape=shape, dtype=dtype, dtypes=takes, xp=xp, grad=grad, holomorphic=False)


class Complex(Family):
    _join = elementwise(
        lambda g, z, x, y: [g.real, g.imag],
        _joined,
        "x + i y",
        lambda *d: dt.promote(*d).as_float.complex,
        operands=lambda *d: dt.promote(*d).as_float,
        holomorphic=False,
    )
    _conj = elementwise(
        lambda g, y, x: [Complex._conj(g)], "conj", "x - i y", dtypes="c", refusal=NOT_REAL, holomorphic=False
    )

    @_view(
        "c",
        _two,
        lambda d: d.real,
        lambda xp, z: xp.stack([z.real, z.imag], axis=-1),
        lambda g, y, z: [Complex.view_as_complex(g)],
    )
    def view_as_real(self):
        """Both parts of complex numbers, as a view. TypeError for real numbers. [...] -> [..., 2]"""
        if not self.dtype.is_complex:
            raise TypeError(NOT_REAL)
        return (self,), {}

    @_view("f", _whole, lambda d: d.complex, _as_complex, lambda g, y, x: [Complex.view_as_real(g)])
    def view_as_complex(self):
        """The complex numbers whose two parts lie side by side in the last dim, as a view. [..., 2] -> [...]

        float16 and bfloat16 are cast to float32 first: a copy. ValueError for what are no such pairs,
        TypeError for integers.
        """
        if self.dtype.kind != "f":
            raise TypeError("takes floats: cast with .float()")
        if self.shape[-1:] != (2,):
            raise ValueError("takes floats with a last dim of 2, the real and the imaginary part")
        return (self if self.dtype.real is self.dtype.as_float else self.float(),), {}

    @composed
    def conj(self):
        """The complex conjugates; of real numbers themselves. [...] -> [...]"""
        return Complex._conj(self) if self.dtype.is_complex else self

    conj_physical = conj

    def resolve_conj(self):
        """Itself: conjugates are computed, no bit is kept for later."""
        return self

    resolve_neg = resolve_conj

    def is_conj(self) -> bool:
        """False: conjugates are computed, no bit is kept for later."""
        return False

    is_neg = is_conj

    @composed
    def angle(self):
        """The angle of each number in radians; of real ones 0 or pi, NaN of NaN. [...] -> [...]"""
        if self.dtype.is_complex:
            return imag(self).atan2(real(self))
        x = self if self.dtype.is_float else self.float()
        return x.isnan().where(x, (x < 0).where(3.141592653589793, x * 0.0))

    @composed
    def sgn(self):
        """x / |x|, 0 of 0: the sign of real numbers, the direction of complex ones. [...] -> [...]"""
        if not self.dtype.is_complex:
            return self.sign()
        size = self.abs()
        return self / (size == 0).where(1.0, size)

    @composed
    def isreal(self):
        """Whether the imaginary part is 0. [...] -> [...]"""
        if self.dtype.is_complex:
            return imag(self) == 0
        return self.full(self.shape, True, device=self.device)

    @composed
    def adjoint(self):
        """The last two dims exchanged, and conjugates; of a single number its conjugate. ValueError for a
        vector. [..., n, m] -> [..., m, n]"""
        if self.ndim == 1:
            raise ValueError("takes a matrix or a batch of them: use .conj()")
        return self.conj() if not self.ndim else self.conj().transpose(-2, -1)


@composed
def complex(real, imag):
    """Complex numbers of real and imaginary parts: complex64, complex128 of float64. [...], [...] -> [...]"""
    if any(t.dtype not in dt.FLOATS for t in (real, imag)) or real.dtype is not imag.dtype:
        rule = "both parts are floats of one dtype: cast them with .float()"
        raise ValueError(f"complex({describe(real)}, {describe(imag)}): {rule}")
    shape = broadcast(real.shape, imag.shape)
    return Complex._join(real.expand(*shape), imag.expand(*shape))


@composed
def polar(abs, angle):
    """Complex numbers of sizes and angles in radians. [...], [...] -> [...]"""
    return Complex._join(abs * angle.cos(), abs * angle.sin())


@composed
def real(input):
    """The real parts, as a view; of real numbers themselves. [...] -> [...]"""
    return Complex.view_as_real(input).select(-1, 0) if input.dtype.is_complex else input


@composed
def imag(input):
    """The imaginary parts, as a view. TypeError for real numbers. [...] -> [...]"""
    if not input.dtype.is_complex:
        raise TypeError(NOT_REAL)
    return Complex.view_as_real(input).select(-1, 1)
