"""Fourier transforms of complex rows [..., n, 2] of any length, by a kernel for smooth lengths."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from math import cos, pi, prod, sin, sqrt
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import composite, kernel
from ...core.op import Launch
from ..join import cat, stack

if TYPE_CHECKING:
    from ...core.limits import Limits
    from ...core.node import Node
    from ...core.rules import Array, Prepared
    from ...device.array_namespace import Namespace
    from ...tensor import Tensor

MOST = 1024  # complex numbers in workgroup memory, twice: 16 KB
RADICES = (4, 2, 3, 5, 7)
CHIRP = 1 << 20  # for shorter lengths the chirp's index is exact in 32-bit integers


def radices_of(n: int) -> tuple[int, ...]:
    """The passes of a transform of length n, or () if a prime above 7 divides it."""
    passes: list[int] = []
    for r in RADICES:
        while n % r == 0:
            passes.append(r)
            n //= r
    return tuple(passes) if n == 1 else ()


def _launch(limits: Limits, z: Node, table: Node, inverse: bool) -> list[Launch]:
    *lead, n, _ = z.shape
    count, radices = prod(lead), radices_of(n)
    each = max(1, 256 // n)
    most = max(64, 1 << (each * n - 1).bit_length())
    sign = 1 if inverse else -1
    turns = {r: [2 * pi * q / r for q in range(r)] for r in sorted(set(radices))}
    roots = tuple((r, tuple(f"{cos(a):.9f}, {sign * sin(a):.9f}" for a in t)) for r, t in turns.items())
    options = {"radices": radices, "most": most, "inverse": inverse, "roots": Frozen(roots)}
    sizes: dict[str, int | float] = {"count": count, "size": n, "each": each}
    workgroup = (32 if limits.software else 64 if most <= 256 else 128, 1, 1)
    return [Launch("signal/fft.wgsl", (1,), -(-count // each), sizes, options, workgroup=workgroup, traced=0)]


class Frozen(dict[Any, Any]):
    """A hashable dict, for shader options."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def _reference(xp: Namespace, z: Array, table: Array, inverse: bool) -> Array:
    z = xp.astype(z, "float64")
    y = z[..., 0] + 1j * z[..., 1]
    y = xp.fft.ifft(y, norm="forward") if inverse else xp.fft.fft(y)
    return xp.stack([y.real, y.imag], axis=-1)


@kernel(
    "opaque",
    shape=lambda z, table, inverse: z,
    dtype=lambda z, table, inverse: z.as_float,
    launch=_launch,
    xp=_reference,
)
def _fft_rows(z: Tensor, table: Tensor, inverse: bool) -> Prepared:
    """Transforms rows of at most 1024 complex numbers by a table of roots. [..., n, 2] -> [..., n, 2]"""
    return (z, table), {"inverse": inverse}


# --- complex numbers as [..., 2] ---


def pair(real: Tensor, imag: Tensor) -> Tensor:
    return stack([real, imag], -1)


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Products of complex numbers. [..., 2], [..., 2] -> [..., 2]"""
    ar, ai, br, bi = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    return pair(ar * br - ai * bi, ar * bi + ai * br)


def conjugate(z: Tensor) -> Tensor:
    return pair(z[..., 0], -z[..., 1])


def twiddle(e: Tensor, n: int, sign: int) -> Tensor:
    """exp(sign * 2 pi i e / n) for integers 0 <= e < n, from angles up to pi / 4. -> [..., 2]"""
    quarter = (e * 8 + n) // (2 * n)
    angle = (e * 4 - quarter * n).float() * (pi / 2 / n)
    c, s, quarter = angle.cos(), angle.sin(), quarter % 4
    swapped = quarter % 2 == 1
    real, imag = swapped.where(s, c), swapped.where(c, s)
    real = ((quarter == 1) | (quarter == 2)).where(-real, real)
    return pair(real, (quarter >= 2).where(-imag, imag) * float(sign))


def indices(x: Tensor, n: int) -> Tensor:
    return type(x).arange(n, dtype=dt.int32, device=x.device)


# --- transforms ---


def _split(n: int) -> int:
    """A divisor of n that a kernel transforms, near the root of a smooth n; 1 if there is none."""
    smooth = [d for d in range(2, min(n - 1, MOST) + 1) if n % d == 0 and radices_of(d)]
    if radices_of(n):
        return min(smooth, key=lambda d: abs(d - sqrt(n)), default=1)
    return max(smooth, default=1)


def transform(z: Tensor, inverse: bool) -> Tensor:
    """The sum over j of z_j exp(-+ 2 pi i j k / n). [..., n, 2] -> [..., n, 2]"""
    n, sign = z.shape[-2], 1 if inverse else -1
    if n == 1 or 0 in z.shape:
        return z
    if z.dtype is dt.float64:  # on the CPU backend, whose reference takes any length
        return _fft_rows(z, twiddle(indices(z, 1), 1, sign), inverse)
    if n <= MOST and radices_of(n):
        return _fft_rows(z, twiddle(indices(z, n), n, sign), inverse)
    a = _split(n)
    return _bluestein(z, inverse) if a == 1 else _four_steps(z, a, n // a, inverse)


def _four_steps(z: Tensor, a: int, b: int, inverse: bool) -> Tensor:
    """Bailey (1990): transforms of length a along columns, twiddle factors, transforms of length b along
    rows."""
    lead, r = z.shape[:-2], z.ndim - 2
    dims = (*range(r), r + 1, r, r + 2)
    y = transform(z.reshape(*lead, a, b, 2).permute(*dims), inverse)  # [..., b, a, 2]
    e = indices(z, b).unsqueeze(1) * indices(z, a)
    y = multiply(y, twiddle(e, a * b, 1 if inverse else -1))
    y = transform(y.permute(*dims), inverse)  # [..., a, b, 2]
    return y.permute(*dims).reshape(*lead, a * b, 2)


def squares(k: Tensor, n: int) -> Tensor:
    """k * k modulo 2 n, in 32-bit integers."""
    if n <= 46340:
        return k * k % (2 * n)
    high, low = k // 1024, k % 1024
    return ((k * high % (2 * n)) * 1024 % (2 * n) + k * low % (2 * n)) % (2 * n)


def _bluestein(z: Tensor, inverse: bool) -> Tensor:
    """Bluestein (1970): a convolution with a chirp, by transforms of a power-of-two length."""
    n, sign = z.shape[-2], 1 if inverse else -1
    if n >= CHIRP:
        raise ValueError(f"length {n} has a prime factor of {CHIRP} or more: pad it")
    m = 1 << (2 * n - 2).bit_length()
    chirp = twiddle(squares(indices(z, n), n), 2 * n, sign)
    k = indices(z, m)
    k = k.minimum(m - k)
    around = twiddle(squares((k < n).where(k, 0), n), 2 * n, -sign)
    around = (k < n).unsqueeze(-1).where(around, 0.0)
    grown = (*(0,) * (z.ndim - 2), m - n, 0)
    a = transform(multiply(z, chirp)._pad((0,) * z.ndim, grown), False)
    y = transform(multiply(a, transform(around, False)), True).narrow(-2, 0, n)
    return multiply(y, chirp) * (1 / m)


def _fft_grad(g: Tensor, y: Tensor, z: Tensor, inverse: bool) -> list[Tensor | None]:
    return [_fft(g, inverse=not inverse)]


@composite(grad=_fft_grad)
def _fft(z: Tensor, *, inverse: bool) -> Tensor:
    """Transforms complex rows, unscaled; its gradient is the opposite transform. -> [..., n, 2]"""
    return transform(z, inverse)


def first_half(z: Tensor, n: int) -> Tensor:
    """The first n // 2 + 1 of a transform of n."""
    return z.narrow(-2, 0, n // 2 + 1)


def real_to_complex(x: Tensor) -> Tensor:
    """Half of the transform of real rows. [..., n] -> [..., n // 2 + 1, 2]"""
    n = x.shape[-1]
    if n % 2 or x.dtype is dt.float64:
        return first_half(_fft(pair(x, x * 0.0), inverse=False), n)
    # even and odd elements as one complex number: a transform of half the length
    z = _fft(x.reshape(*x.shape[:-1], n // 2, 2), inverse=False)
    z = cat([z, z.narrow(-2, 0, 1)], -2)
    other = conjugate(z.flip(-2))
    odd = multiply(z - other, twiddle(indices(x, n // 2 + 1), n, -1))
    return (z + other + pair(odd[..., 1], -odd[..., 0])) * 0.5


def complex_to_real(z: Tensor, n: int) -> Tensor:
    """Real rows from half of their transform, unscaled. [..., n // 2 + 1, 2] -> [..., n]"""
    k = indices(z, n // 2 + 1)
    is_real = (k == 0) | (k * 2 == n)  # their imaginary parts are ignored
    z = pair(z[..., 0], is_real.where(0.0, z[..., 1]))
    if n % 2 or z.dtype is dt.float64:
        rest = conjugate(z.narrow(-2, 1, (n - 1) // 2).flip(-2))
        return _fft(cat([z, rest], -2), inverse=True)[..., 0]
    other = conjugate(z.flip(-2))
    odd = multiply(z - other, twiddle(k, n, 1))
    both = (z + other + pair(-odd[..., 1], odd[..., 0])).narrow(-2, 0, n // 2)
    return _fft(both, inverse=True).reshape(*z.shape[:-2], n)
