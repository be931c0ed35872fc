"""Fourier transforms of any length along a dim, by a kernel for smooth lengths."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from functools import cache
from math import cos, log2, pi, prod, sin, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core.declare import composite, kernel
from ...core.op import Launch
from ..join import cat, stack

if TYPE_CHECKING:
    from ...core.dtype import DType
    from ...core.limits import Limits
    from ...core.node import Node
    from ...core.rules import Array, Prepared
    from ...core.shape import Shape
    from ...device.array_namespace import Namespace
    from ...tensor import Tensor

MOST = 4096  # numbers of a line in 16 KB of workgroup memory: real and imaginary parts one after the other
AT_ONCE = 2048  # numbers of which both parts fit
CELLS = 1024  # above this many numbers a workgroup has only one line
COLUMNS = 16  # adjacent lines of a workgroup if possible: 128 bytes
TWO_STEPS = 1024, 8  # this many adjacent longer lines take two steps: few of them fit in a workgroup
THREADS = 256  # at most
HELD = 32  # numbers that a thread may hold in registers
# lengths that a thread transforms in registers, and the factors (a, b) of composite ones
RADICES: dict[int, tuple[int, int] | None] = {
    16: (4, 4), 15: (5, 3), 14: (7, 2), 13: None, 12: (4, 3), 11: None, 10: (5, 2), 9: (3, 3), 8: (4, 2),
    7: None, 6: (3, 2), 5: None, 4: None, 3: None, 2: None,
}  # fmt: skip
TWIDDLES = 1 << 24  # a length up to which j * k is exact in a kernel's angles
FORMS = "fft", "ifft"  # by whether it is the inverse
SECOND = "second", "isecond"  # of the second step along columns
INVERSE = "ifft", "back", "unpacked", "mirror", "part", "isecond"
STRAIGHT = "upper", "part", "table", *SECOND  # forms that write no transposed lines, whatever `whole` is
CHIRP = 1 << 20  # for shorter lengths the chirp's index is exact in 32-bit integers


@cache
def radices_of(n: int) -> tuple[int, ...]:
    """The passes of a transform of length n, as few as possible, the longest first; () if a prime above 13
    divides it."""
    if n in RADICES:
        return (n,)
    rest = [(r, radices_of(n // r)) for r in RADICES if n % r == 0 and n > r]
    passes = [tuple(sorted((r, *more), reverse=True)) for r, more in rest if more]
    # Each pass exchanges numbers through workgroup memory: first few passes, then small radices.
    return min(passes, key=lambda p: (len(p), sum(p)), default=())


@cache
def chirp_of(n: int) -> int:
    """The length of the transforms of lines of another length n in a kernel, at least 2 n - 1 and with few
    passes; 0 if none fits."""
    least = 2 * n - 1
    lengths = [m for m in range(least, min(least + least // 3, MOST) + 1) if radices_of(m)]
    return min(lengths, key=lambda m: (len(radices_of(m)), m), default=0)


def is_smooth(n: int) -> bool:
    """Whether a kernel transforms lines of length n without a chirp."""
    return 1 < n <= MOST and bool(radices_of(n))


def fits(n: int, chirps: bool) -> bool:
    """Whether one kernel transforms lines of length n. chirps: kernels with chirps are allowed."""
    return is_smooth(n) or (n > 1 and chirps and chirp_of(n) > 0)


def _chirps(z: Tensor) -> bool:
    """Whether kernels may have chirps: software adapters take seconds to compile one, so there the parts of
    the convolution are separate kernels."""
    device: Any = z.device
    return device.kind == "gpu" and not device.limits.software


class FftPass(NamedTuple):
    """A pass of a kernel.

    number: its index among the passes. halves: the factors of a composite radix. span: the product of the
    radices before. apart: butterflies of a line, and how far the inputs of one are apart. each: butterflies
    of a thread; idle: whether some threads have fewer. names: the variables of each butterfly. order: which
    variable has the s-th result. is_new: whether its inputs come from memory, not from the pass before.
    """

    number: int
    radix: int
    halves: tuple[int, int] | None
    span: int
    apart: int
    each: int
    idle: bool
    names: tuple[tuple[str, ...], ...]
    order: tuple[int, ...]
    is_new: bool = True


def passes_of(
    n: int, lines: int, threads: int, radices: tuple[int, ...] = (), first: int = 0
) -> tuple[FftPass, ...]:
    """The passes over lines of length n of a workgroup."""
    passes, span = list[FftPass](), 1
    # Stockham: butterfly j of a line reads elements j + q * apart for q from 0 to r - 1.
    for number, r in enumerate(radices or radices_of(n), first):
        butterflies, halves = n // r, RADICES[r]
        each = -(-lines * butterflies // threads)
        names = tuple(tuple(f"x{number}_{b}_{q}" for q in range(r)) for b in range(each))
        order = tuple(range(r))
        # Two steps of small transforms leave result s of radix a * b in this variable: the transposed order.
        if halves:
            a, b = halves
            order = tuple(s % a * b + s // a for s in range(r))
        idle = each * threads > lines * butterflies
        passes.append(FftPass(number, r, halves, span, butterflies, each, idle, names, order))
        span *= r
    return tuple(passes)


def _there_and_back(n: int, lines: int, threads: int) -> tuple[FftPass, ...]:
    """The passes of a transform and of an inverse one, whose first pass takes the values that the last one
    left in
    registers: it has the same radix."""
    forward = passes_of(n, lines, threads)
    back = passes_of(n, lines, threads, radices_of(n)[::-1], len(forward) - 1)
    names = tuple(tuple(each[i] for i in forward[-1].order) for each in forward[-1].names)
    return *forward, back[0]._replace(names=names, is_new=False), *back[1:]


def _threads(n: int, lines: int) -> int:
    """The threads of a workgroup: one per butterfly of the pass with the fewest, rounded up to whole
    warps."""
    fewest = lines * n // max(radices_of(n))
    return min(-(-fewest // 32) * 32, THREADS)


def _lines(n: int, inner: int, count: int) -> int:
    """The lines that a workgroup transforms, a power of two."""
    # Lines side by side: as many as fill a memory transaction. Lines one after another: enough for CELLS
    # numbers.
    lines_per_group = max(CELLS // n, 1) if inner == 1 else max(min(COLUMNS, MOST // n), CELLS // n, 1)
    lines = 1 << (min(lines_per_group, MOST // n).bit_length() - 1)
    return min(lines, 1 << (count - 1).bit_length())


def _form(form: str, n: int, inner: int) -> tuple[str, int]:
    """How a kernel computes a form, and the length that it transforms: even and odd elements of real lines
    are one complex number."""
    if form in ("half", "back") and n % 2 == 0 and inner == 1 and is_smooth(n // 2):
        return {"half": "packed", "back": "unpacked"}[form], n // 2
    return form, n


def _inner(z: Shape, n: int, form: str, whole: int, beside: int) -> tuple[int, int]:
    """How many lines are adjacent in an input, and the number of lines."""
    if form == "table":
        return 1, 1
    if form == "mirror":
        inner = whole // n * max(beside, 1)
        return inner, prod(z[: -3 if beside else -2]) * inner
    if form in ("real", "half"):
        return z[-1], prod(z[:-2]) * z[-1]
    return z[-2], prod(z[:-3]) * z[-2]


def _launch(
    limits: Limits, z: Node, *table: Node, n: int, form: str, whole: int, beside: int
) -> list[Launch]:
    inner, count = _inner(z.shape, n, form, whole, beside)
    kind, numbers = _form(form, n, inner)
    # With a chirp, the length of the cyclic convolution.
    size = chirp_of(n) if table or form == "table" else numbers
    lines = _lines(size, inner, count)
    threads = _threads(size, lines)
    passes = (_there_and_back if table else passes_of)(size, lines, threads)
    # Workgroup memory is for exchanges between passes, and for the mirror image of a packed result.
    exchanges = len(passes) > 1 or kind == "packed"
    lengths = {r for p in passes for r in (p.radix, *(p.halves or ()))}
    split, half = lines * size > AT_ONCE, size // 2 + 1
    options = {
        "passes": passes, "form": kind, "inverse": kind in INVERSE,
        "turned": whole > 0 and kind not in STRAIGHT, "beside": beside > 0,
        "chirp": bool(table), "numbers": numbers,
        "columns": inner > 1, "each": lines, "size": size, "length": n, "half": half, "split": split,
        "parts": (".x", ".y") if split else ("",), "pairs": -(-lines * half // threads),
        "cells": -(-lines * size // 32) * 32 if exchanges else 0, "roots": Frozen(_roots(lengths)),
    }  # fmt: skip
    sizes: dict[str, int | float] = {"count": count}
    in_two_steps = whole > 0 and kind != "table"
    if inner > 1 or in_two_steps:
        sizes["inner"] = inner
    if in_two_steps:
        sizes["whole"] = whole
    if beside:
        sizes["beside"] = beside
        if kind in STRAIGHT:
            sizes["across"] = whole // n * beside
    width = 1 if kind in ("back", "part") else 2
    flops = int(5 * count * size * log2(size))  # the usual count of an FFT
    return [
        Launch(
            "signal/fft.wgsl", (1,) if table else (), -(-count // lines), sizes, options,
            workgroup=(threads, 1, 1), traced=0, width=width, flops=flops,
        )
    ]  # fmt: skip


def _roots(lengths: set[int]) -> tuple[tuple[int, tuple[tuple[str, str, str], ...]], ...]:
    """(cos, -sin, sin) of the angles 2 pi q / r, for each length r."""

    def text(x: float) -> str:
        return f"{x:.9f}"

    return tuple(
        (r, tuple((text(cos(a)), text(-sin(a)), text(sin(a))) for a in (2 * pi * q / r for q in range(r))))
        for r in sorted(lengths)
    )


class Frozen(dict[Any, Any]):
    """A hashable dict, for shader options."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def _reference(xp: Namespace, z: Array, *table: Array, n: int, form: str, whole: int, beside: int) -> Array:
    if beside:
        return _columns_reference(xp, z, n, form, whole, beside)
    z = xp.astype(z, "float64")
    if form == "table":
        # The chirp exp(i pi k^2 / n), even and cyclic in `whole`. k * k counts modulo 2 n, its period.
        k = xp.arange(whole)
        k = xp.where(2 * k > whole, whole - k, k)
        z = xp.where(k < n, xp.exp(1j * pi / n * (k * k % (2 * n))), 0)[:, None]
    elif form not in ("real", "half"):
        z = z[..., 0] + 1j * z[..., 1]
    match form:
        case "back":
            return xp.fft.irfft(z, n, axis=-2, norm="forward")
        case "part":
            return xp.fft.ifft(z, axis=-2, norm="forward").real.reshape(*z.shape[:-2], whole)
        case "mirror":
            middle, last = z[..., 1 : (whole + 1) // 2], z[..., (whole + 1) // 2 :]
            z = xp.concatenate(
                [z[..., :1].real, middle, last.real, xp.conj(xp.flip(middle, axis=-1))], axis=-1
            )
            y = xp.fft.ifft(z.reshape(*z.shape[:-1], n, whole // n), axis=-2, norm="forward")
        case "upper":
            y = xp.fft.fft(z, axis=-2).reshape(*z.shape[:-2], whole)[..., : whole // 2 + 1]
        case "half":
            y = xp.fft.rfft(z, axis=-2)
        case "ifft":
            y = xp.fft.ifft(z, axis=-2, norm="forward")
        case _:
            y = xp.fft.fft(z, axis=-2)
    if form == "table":
        y = y[:, 0]
    elif whole and form != "upper":
        angle = xp.arange(n)[:, None] * xp.arange(y.shape[-1]) * (2 * pi / whole)
        y = xp.swapaxes(y * xp.exp((1j if form in INVERSE else -1j) * angle), -1, -2)
    return xp.stack([y.real, y.imag], axis=-1)


def _columns_reference(xp: Namespace, z: Array, n: int, form: str, whole: int, beside: int) -> Array:
    """One of two steps along columns, see `_fft_lines`."""
    z = xp.astype(z, "float64")
    z = z if form == "real" else z[..., 0] + 1j * z[..., 1]
    if form == "mirror":
        upper = z[..., 1 : (whole + 1) // 2, :]
        middle = z[..., whole // 2 : whole // 2 + 1 - whole % 2, :].real  # none if `whole` is odd
        z = xp.concatenate([z[..., :1, :].real, upper, middle, xp.conj(xp.flip(upper, axis=-2))], axis=-2)
        z = z.reshape(*z.shape[:-2], n, whole // n * beside)
    y = xp.fft.ifft(z, axis=-2, norm="forward") if form in INVERSE else xp.fft.fft(z, axis=-2)
    if form in STRAIGHT:
        y = xp.swapaxes(y, -2, -3)  # [..., n, whole / n, beside]
        y = y.reshape(*y.shape[:-3], whole, beside)
        y = y[..., : whole // 2 + 1, :] if form == "upper" else y
        if form == "part":
            return y.real
    else:
        positions = xp.arange(whole // n * beside) // beside
        angle = xp.arange(n)[:, None] * positions * (2 * pi / whole)
        y = y * xp.exp((1j if form in INVERSE else -1j) * angle)
    return xp.stack([y.real, y.imag], axis=-1)


def _columns_shape(z: Shape, n: int, form: str, whole: int, beside: int) -> Shape:
    match form:
        case "real":
            return (*z, 2)
        case "mirror":
            return *z[:-3], n, whole // n * beside, 2
        case "fft" | "ifft":
            return z
        case "upper":
            return *z[:-4], whole // 2 + 1, beside, 2
        case "part":
            return *z[:-4], whole, beside
        case _:
            return *z[:-4], whole, beside, 2


def _shape(z: Shape, *table: Shape, n: int, form: str, whole: int, beside: int) -> Shape:
    if beside:
        return _columns_shape(z, n, form, whole, beside)
    match form:
        case "back":
            return *z[:-3], n, z[-2]
        case "table":
            return whole, 2
        case "part":
            return *z[:-3], whole
        case "upper":
            return *z[:-3], whole // 2 + 1, 2
        case "mirror":
            return *z[:-2], whole // n, n, 2
        case "half":
            return *z[:-2], n // 2 + 1, z[-1], 2
        case "real":
            return (*z[:-2], z[-1], n, 2) if whole else (*z[:-2], n, z[-1], 2)
        case _:
            return (*z[:-3], z[-2], n, 2) if whole else z


def _as_float(z: DType, *table: DType, **_: Any) -> DType:
    return z.as_float


@kernel("opaque", shape=_shape, dtype=_as_float, launch=_launch, xp=_reference)
def _fft_lines(z: Tensor, n: int, form: str, whole: int = 0, beside: int = 0) -> Prepared:
    """Transforms lines of n numbers, a dim before the last.

    form: "fft", "ifft" [..., n, m, 2] -> [..., n, m, 2]; "real" [..., n, m] -> [..., n, m, 2]; "half" the
    same, of which the first n // 2 + 1; "back" from such a half [..., n // 2 + 1, m, 2] -> [..., n, m]. Of
    the two steps of a length `whole` = n m, "mirror" is the first from a half, [..., whole // 2 + 1, 2];
    "upper" is the second, of which a half is written, "part" the second of an inverse, of which the real
    parts are. "table" is the transform, of length `whole`, of the chirp for lines of n, whatever z is.
    whole: if above 0, the k-th result of the j-th line is multiplied by exp(-+ 2 pi i j k / whole),
    -> [..., m, n, 2]
    beside: if above 0, the two steps are along columns, and this many lines are adjacent in both: the
    first is "fft", "ifft" [..., n, m beside, 2] -> the same, "real" [..., n, m beside], "mirror"
    [..., whole // 2 + 1, beside, 2]; the second is "second", "isecond" [..., m, n, beside, 2] ->
    [..., n m, beside, 2], "upper", of which a half is written, "part", of which the real parts are.
    """
    attrs = {"n": n, "form": form, "whole": whole, "beside": beside}
    inner, _ = _inner(z.shape, n, form, whole, beside)
    if z.device.kind != "gpu" or form == "table" or is_smooth(_form(form, n, inner)[1]):  # no chirp, no table
        return (z,), attrs
    return (z, _fft_lines(z.new_zeros(1), n, "table", chirp_of(n))), attrs


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
    # Integers split off the nearest quarter turn, which only swaps and negates cos and sin, so that the
    # rounding error of large angles does not enter.
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


def _is_direct(z: Tensor, n: int) -> bool:
    """Whether one op transforms lines of length n: a kernel, or a library of arrays."""
    return z.dtype is dt.float64 or z.device.kind != "gpu" or fits(n, _chirps(z))


def _split(n: int, chirps: bool) -> int:
    """A divisor of n that a kernel transforms: the one nearest the root if n splits into two such, else the
    largest; 1 if none exists."""
    smooth = [d for d in range(2, min(n - 1, MOST) + 1) if n % d == 0 and fits(d, chirps)]
    both = [d for d in smooth if fits(n // d, chirps)]
    return min(both, key=lambda d: abs(d - sqrt(n)), default=max(smooth, default=1))


def _column_steps(z: Tensor, n: int, beside: int, half: bool = False) -> tuple[int, int] | None:
    """The lengths of two steps along columns, of which this many are adjacent; None if one kernel, or rows,
    are better: a workgroup that reads few columns reads parts of cache lines. half: for real numbers, where
    the single kernel moves half as much, so that two steps are only faster than one column per workgroup."""
    device: Any = z.device
    least, columns = TWO_STEPS
    least = 2 * least if half else least
    if z.dtype is dt.float64 or device.kind != "gpu" or device.limits.software:
        return None
    if n <= least or beside < columns or n > TWIDDLES:
        return None
    chirps = not is_smooth(n)  # lines without one kernel may have them
    a = _split(n, chirps)
    return (a, n // a) if a > 1 and fits(a, chirps) and fits(n // a, chirps) else None


def transform(z: Tensor, inverse: bool) -> Tensor:
    """The sum over j of z_j exp(-+ 2 pi i j k / n). [..., n, 2] -> [..., n, 2]"""
    return transform_lines(z.unsqueeze(-2), inverse).squeeze(-2)


def transform_lines(z: Tensor, inverse: bool) -> Tensor:
    """The same along a dim before the last. [..., n, m, 2] -> [..., n, m, 2]"""
    n = z.shape[-3]
    if n == 1 or 0 in z.shape:
        return z
    if steps := _column_steps(z, n, z.shape[-2]):
        a, b = steps
        m, lead = z.shape[-2], z.shape[:-3]
        y = _fft_lines(z.reshape(*lead, a, b * m, 2), a, FORMS[inverse], n, m)
        return _fft_lines(y.reshape(*lead, a, b, m, 2), b, SECOND[inverse], n, m)
    if _is_direct(z, n):
        return _fft_lines(z, n, FORMS[inverse])
    if z.shape[-2] > 1:
        return transform_lines(z.transpose(-2, -3).unsqueeze(-2), inverse).squeeze(-2).transpose(-2, -3)
    z = z.squeeze(-2)
    a = _split(n, _chirps(z))
    y = _bluestein(z, inverse) if a == 1 else _four_steps(z, a, n // a, inverse)
    return y.unsqueeze(-2)


def _four_steps(z: Tensor, a: int, b: int, inverse: bool) -> Tensor:
    """The four-step algorithm (Bailey, 1990): transforms of length a along columns, twiddle factors,
    transforms of length b along rows. [..., n, 2] -> [..., n, 2]"""
    lead = z.shape[:-2]
    columns = z.reshape(*lead, a, b, 2)
    # Up to this length the kernel multiplies by the twiddle factors itself.
    if a * b <= TWIDDLES:
        y = _fft_lines(columns, a, FORMS[inverse], a * b)  # [..., b, a, 2]
    else:
        y = transform_lines(columns, inverse)
        e = indices(z, a).unsqueeze(1) * indices(z, b)
        y = multiply(y, twiddle(e, a * b, 1 if inverse else -1)).transpose(-2, -3)
    return transform_lines(y, inverse).reshape(*lead, a * b, 2)


def squares(k: Tensor, n: int) -> Tensor:
    """k * k modulo 2 n, in 32-bit integers."""
    if n <= 46340:
        return k * k % (2 * n)
    # k k = k (1024 high + low), reduced after each product so that none reaches 2^31
    high, low = k // 1024, k % 1024
    return ((k * high % (2 * n)) * 1024 % (2 * n) + k * low % (2 * n)) % (2 * n)


def _bluestein(z: Tensor, inverse: bool) -> Tensor:
    """Bluestein (1970): a convolution with a chirp, by transforms of a power-of-two length."""
    n, sign = z.shape[-2], 1 if inverse else -1
    if n >= CHIRP:
        raise ValueError(f"length {n} has a prime factor of {CHIRP} or more: pad it")
    # j k = (j^2 + k^2 - (k - j)^2) / 2 turns the transform into a convolution with the chirp exp(+- pi i
    # j^2 / n). m is at least 2 n - 1, so that the cyclic convolution does not wrap around.
    m = 1 << (2 * n - 2).bit_length()
    chirp = twiddle(squares(indices(z, n), n), 2 * n, sign)
    k = indices(z, m)
    # the chirp is even: negative indices are at the end
    k = k.minimum(m - k)
    around = twiddle(squares((k < n).where(k, 0), n), 2 * n, -sign)
    around = (k < n).unsqueeze(-1).where(around, 0.0)
    grown = (*(0,) * (z.ndim - 2), m - n, 0)
    a = transform(multiply(z, chirp)._pad((0,) * z.ndim, grown), False)
    y = transform(multiply(a, transform(around, False)), True).narrow(-2, 0, n)
    return multiply(y, chirp) * (1 / m)


def _lines_of(x: Tensor, dim: int, pairs: int) -> Tensor:
    """[a, n, b] (and 2, if pairs is 1) of a tensor with a dim of n to transform."""
    shape, end = x.shape, x.ndim - pairs
    return x.reshape(prod(shape[:dim]), shape[dim], prod(shape[dim + 1 : end]), *shape[end:])


def _fft_grad(g: Tensor, y: Tensor, z: Tensor, dim: int, inverse: bool) -> list[Tensor | None]:
    return [_fft(g, dim=dim, inverse=not inverse)]


@composite(grad=_fft_grad)
def _fft(z: Tensor, *, dim: int, inverse: bool) -> Tensor:
    """Transforms complex numbers along a dim, unscaled. [..., 2] -> [..., 2]"""
    return transform_lines(_lines_of(z, dim, 1), inverse).reshape(z.shape)


def _fft_of_real_grad(g: Tensor, y: Tensor, x: Tensor, dim: int) -> list[Tensor | None]:
    return [_fft(g, dim=dim, inverse=True)[..., 0]]


@composite(grad=_fft_of_real_grad)
def _fft_of_real(x: Tensor, *, dim: int) -> Tensor:
    """Transforms real numbers along a dim. [...] -> [..., 2]"""
    lines, n = _lines_of(x, dim, 0), x.shape[dim]
    if 0 not in x.shape and (steps := _column_steps(x, n, lines.shape[-1])):
        a, b = steps
        y = _fft_lines(lines.reshape(-1, a, b * lines.shape[-1]), a, "real", n, lines.shape[-1])
        y = _fft_lines(y.reshape(-1, a, b, lines.shape[-1], 2), b, "second", n, lines.shape[-1])
        return y.reshape(*x.shape, 2)
    if n == 1 or 0 in x.shape or not _is_direct(x, n):
        return transform_lines(pair(lines, lines * 0.0), False).reshape(*x.shape, 2)
    return _fft_lines(lines, n, "real").reshape(*x.shape, 2)


def _half_weights(x: Tensor, n: int, middle: float, rank: int) -> Tensor:
    """1 for the real results of a half, `middle` for others, over dims behind. -> [n // 2 + 1, 1, ...]"""
    k = indices(x, n // 2 + 1)
    weights = ((k == 0) | (k * 2 == n)).where(1.0, middle)
    return weights.reshape(n // 2 + 1, *(1,) * rank)


def _rfft_grad(g: Tensor, y: Tensor, x: Tensor, dim: int) -> list[Tensor | None]:
    n = x.shape[dim]
    # _irfft adds each complex number twice (itself and its conjugate), so here each counts half.
    return [_irfft(g * _half_weights(x, n, 0.5, x.ndim - dim), dim=dim, n=n)]


@composite(grad=_rfft_grad)
def _rfft(x: Tensor, *, dim: int) -> Tensor:
    """Half of the transform of real numbers along a dim. [..., n, ...] -> [..., n // 2 + 1, ..., 2]"""
    n, shape = x.shape[dim], (*x.shape[:dim], x.shape[dim] // 2 + 1, *x.shape[dim + 1 :], 2)
    lines = _lines_of(x, dim, 0)
    if 0 in x.shape:
        return x.new_zeros(shape)
    if steps := _column_steps(x, n, lines.shape[-1], True):
        a, b = steps
        y = _fft_lines(lines.reshape(-1, a, b * lines.shape[-1]), a, "real", n, lines.shape[-1])
        y = _fft_lines(y.reshape(-1, a, b, lines.shape[-1], 2), b, "upper", n, lines.shape[-1])
        return y.reshape(shape)
    if _is_direct(x, n) or _form("half", n, lines.shape[-1])[1] != n:
        return _fft_lines(lines, n, "half").reshape(shape)
    # Longer lines go in two steps: columns of length a, then rows of length n // a, of which half is written.
    rows, a = lines.transpose(-1, -2), _split(n, _chirps(x))
    if fits(n // a, _chirps(x)) and n <= TWIDDLES:
        y = _fft_lines(rows.reshape(*rows.shape[:-1], a, n // a), a, "real", n)
        return _fft_lines(y, n // a, "upper", n).transpose(-2, -3).reshape(shape)
    return real_to_complex(rows).transpose(-2, -3).reshape(shape)


def _irfft_grad(g: Tensor, y: Tensor, z: Tensor, dim: int, n: int) -> list[Tensor | None]:
    # And the reverse.
    return [_rfft(g, dim=dim) * _half_weights(g, n, 2.0, g.ndim - dim)]


@composite(grad=_irfft_grad)
def _irfft(z: Tensor, *, dim: int, n: int) -> Tensor:
    """Real numbers from half of their transform along a dim, unscaled.
    [..., n // 2 + 1, ..., 2] -> [..., n, ...]"""
    shape, lines = (*z.shape[:dim], n, *z.shape[dim + 1 : -1]), _lines_of(z, dim, 1)
    if 0 in shape:
        return z.new_zeros(shape)
    if steps := _column_steps(z, n, lines.shape[-2], True):
        a, b = steps
        y = _fft_lines(lines, a, "mirror", n, lines.shape[-2])
        y = _fft_lines(y.reshape(-1, a, b, lines.shape[-2], 2), b, "part", n, lines.shape[-2])
        return y.reshape(shape)
    if _is_direct(z, n) or _form("back", n, lines.shape[-2])[1] != n:
        return _fft_lines(lines, n, "back").reshape(shape)
    # The two steps in reverse: columns from half of their numbers, then rows, of which real parts are
    # written.
    rows, a = lines.transpose(-2, -3), _split(n, _chirps(z))
    if fits(n // a, _chirps(z)) and n <= TWIDDLES:
        y = _fft_lines(_fft_lines(rows, a, "mirror", n), n // a, "part", n)
        return y.transpose(-1, -2).reshape(shape)
    return complex_to_real(rows, n).transpose(-1, -2).reshape(shape)


def real_to_complex(x: Tensor) -> Tensor:
    """Half of the transform of real rows that no kernel transforms. [..., n] -> [..., n // 2 + 1, 2]"""
    n = x.shape[-1]
    if n % 2:
        return transform(pair(x, x * 0.0), False).narrow(-2, 0, n // 2 + 1)
    # even and odd elements as one complex number: a transform of half the length
    z = transform(x.reshape(*x.shape[:-1], n // 2, 2), False)
    z = cat([z, z.narrow(-2, 0, 1)], -2)
    other = conjugate(z.flip(-2))
    # X_k = E_k + w^k O_k, with E = (Z + Z') / 2 for even elements, O = -i (Z - Z') / 2 for odd ones; Z' is
    # the conjugate of the reversed Z.
    odd = multiply(z - other, twiddle(indices(x, n // 2 + 1), n, -1))
    return (z + other + pair(odd[..., 1], -odd[..., 0])) * 0.5


def complex_to_real(z: Tensor, n: int) -> Tensor:
    """Real rows that no kernel transforms from half of their transform, unscaled.
    [..., n // 2 + 1, 2] -> [..., n]"""
    k = indices(z, n // 2 + 1)
    is_real = (k == 0) | (k * 2 == n)  # their imaginary parts are ignored
    z = pair(z[..., 0], is_real.where(0.0, z[..., 1]))
    if n % 2:
        rest = conjugate(z.narrow(-2, 1, (n - 1) // 2).flip(-2))
        return transform(cat([z, rest], -2), True)[..., 0]
    # real_to_complex backwards: Z = E + i O, whose parts are the even and the odd elements.
    other = conjugate(z.flip(-2))
    odd = multiply(z - other, twiddle(k, n, 1))
    both = (z + other + pair(-odd[..., 1], odd[..., 0])).narrow(-2, 0, n // 2)
    return transform(both, True).reshape(*z.shape[:-2], n)
