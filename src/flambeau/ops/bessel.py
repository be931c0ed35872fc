"""Bessel functions without a kernel, by Chebyshev series: first and second kind, modified of the second kind,
and Airy's.

Near 0 the series is in x^2, plus the logarithm that y and k have there. Far from 0 it is in powers of 1 / x
and multiplies the oscillation, or exp(-x). The coefficients are fitted to the power series in long doubles
and, far from 0, to PyTorch's float64: they agree within 2e-8 in float64. In float32 they agree within 5e-6
up to x = 50; beyond, the phase has the rounding error of x, as in PyTorch.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

from ..core.declare import composed, composite
from .reduce import in_float32

if TYPE_CHECKING:
    from ..tensor import Tensor

FITS: dict[str, tuple[float, ...]] = {  # coefficients of T0, T1, ... over the range in which each is used
    "j0_near": (
        0.1577279715, -0.008723442353, 0.2651786132, -0.3700949939, 0.1580671023, -0.03489376941,
        0.004819180069, -0.0004606261662, 3.246032882e-05, -1.761946908e-06, 7.608163582e-08,
        -2.679253497e-09, 7.8486595e-11, -1.943843697e-12,
    ),
    "j1_near": (
        0.08104484633, -0.1489751451, 0.1609992624, -0.08268049177, 0.02221363965, -0.003646940601,
        0.0004050337728, -3.255554867e-05, 1.985877405e-06, -9.521984757e-08, 3.687133743e-09,
        -1.178026676e-10, 3.160072204e-12,
    ),
    "y0_near": (
        -0.0331461132, -0.2744743055, 0.1790343141, 0.2615673463, -0.1773020128, 0.0471966896,
        -0.00728796248, 0.0007531135933, -5.632079141e-05, 3.206532538e-06, -1.440723328e-07,
        5.248794682e-09, -1.583756681e-10, 4.026282086e-12,
    ),
    "y1_near": (
        0.002538013236, -0.01608717305, -0.09591204536, 0.0844519726, -0.02832812394, 0.005289897544,
        -0.0006414551451, 5.505982873e-05, -3.538080019e-06, 1.770780455e-07, -7.110550032e-09,
        2.34433797e-10, -6.465095126e-12,
    ),
    "p0": (
        0.9994603439, -0.0005365165553, 3.075120043e-06, -5.170425517e-08, 1.630572722e-09,
    ),
    "q0": (
        -0.01555585596, 6.83810043e-05, -7.435104979e-07, 1.713924629e-08, -9.243763295e-10,
    ),
    "p1": (
        1.00090305, 0.0008989806798, -3.987200689e-06, 6.177432706e-08, -1.871806302e-09,
    ),
    "q1": (
        0.04677779067, -9.626848573e-05, 9.184738356e-07, -1.909474937e-08, 1.26839568e-09,
    ),
    "k0_near": (
        -0.2676636966, 0.3442898999, 0.03597993652, 0.001264615411, 2.286212103e-05, 2.534791079e-07,
    ),
    "k1_near": (
        -0.06409034517, -0.109169196, -0.006636878453, -0.0001682279238, -2.389559181e-06, -2.185356904e-08,
    ),
    "k0_far": (
        1.220151538, -0.03144809745, 0.001569883481, -0.0001284954439, 1.394980589e-05, -1.831754192e-06,
        2.76681115e-07, -4.660484856e-08, 8.574023166e-09, -1.697531967e-09,
    ),
    "k1_far": (
        1.360313106, 0.1039237249, -0.002857816153, 0.0001952154415, -1.936196907e-05, 2.406483223e-06,
        -3.501957485e-07, 5.741077976e-08, -1.034574947e-08, 2.015046849e-09,
    ),
    "ai_near": (
        0.06078525685, 0.1899603088, -0.250924387, -0.09512014014, 0.202363242, -0.06418728306,
        -0.02681470319, 0.02405190428, -0.00413259165, -0.002019681791, 0.001125076875, -0.0001169753871,
        -7.125499253e-05, 2.816783311e-05, -1.759474239e-06, -1.458720152e-06, 4.388747958e-07,
        -1.462709587e-08, -1.949599284e-08,
    ),
    "ai_far": (
        0.9844053049, -0.01479278485, 0.0007327177465, -6.125954234e-05, 6.834766976e-06, -9.237229735e-07,
        1.43622534e-07, -2.489319422e-08, 4.70979344e-09, -9.583863708e-10, 2.074585548e-10,
    ),
    "ai_p": (
        0.9993708891, -0.0006216836584, 7.181193774e-06, -2.316269814e-07, 1.321628389e-08, -1.093873617e-09,
    ),
    "ai_q": (
        0.06882170556, -0.0006089151841, 1.317415101e-05, -6.014071913e-07, 4.327537342e-08, -4.247731733e-09,
    ),
}  # fmt: skip
AIRY_LOW, AIRY_HIGH = -4.0, 2.0  # between these Airy's function is one series
NEAR, SMALL = 8.0, 2.0  # the series in x^2 is used up to these: of j and y, of k


def _series(name: str, u: Tensor) -> Tensor:
    """Clenshaw's sum at u in -1 to 1. [...] -> [...]"""
    first, *others = FITS[name]
    now = before = u * 0.0
    for c in reversed(others):
        now, before = u * now * 2.0 - before + c, now  # b_k = 2 u b_(k+1) - b_(k+2) + c_k
    return u * now - before + first


def _waves(n: int, x: Tensor, kind: str) -> Tensor:
    """Far from 0: sqrt(2 / (pi x)) (p cos(w) - 8 / x q sin(w)), w = x - (2 n + 1) pi / 4; y has the sine."""
    z = NEAR / x
    # p and q are even series in 1 / x, fitted over u = 2 (8 / x)^2 - 1
    u, w = z * z * 2.0 - 1.0, x - (2 * n + 1) * pi / 4
    p, q = _series(f"p{n}", u), z * _series(f"q{n}", u)
    wave = p * w.cos() - q * w.sin() if kind == "j" else p * w.sin() + q * w.cos()
    return wave * (2 / pi / x).sqrt()


def _first_kind(n: int, x: Tensor) -> Tensor:
    """j of order 0 or 1, for any x."""
    size = x.abs()
    near = _series(f"j{n}_near", (x.clamp(-NEAR, NEAR) ** 2) * (2 / NEAR**2) - 1.0)
    far = _waves(n, size.clamp(min=NEAR), "j")
    return (size > NEAR).where(far * x.sign() if n else far, near * x if n else near)  # j1 is odd, j0 even


def _second(n: int, x: Tensor) -> Tensor:
    """y of order 0 or 1: -inf at 0, NaN below."""
    t = x.clamp(max=NEAR)
    near = _series(f"y{n}_near", t * t * (2 / NEAR**2) - 1.0)
    # y_n = (2 / pi) log(x) j_n + a series; y1 has -2 / (pi x) too.
    log = t.log() * (2 / pi)
    near = near * t + log * _first_kind(1, t) - (2 / pi) / t if n else near + log * _first_kind(0, t)
    far = _waves(n, x.clamp(min=NEAR), "y")
    y = (x > NEAR).where(far, near)
    return (x == 0).where(float("-inf"), (x < 0).where(float("nan"), y))


def _scaled_modified_k(n: int, x: Tensor) -> Tensor:
    """exp(x) times k of order 0 or 1: inf at 0, NaN below."""
    t = x.clamp(0.0, SMALL)
    near = _series(f"k{n}_near", t * t * (2 / SMALL**2) - 1.0)
    log = (t * 0.5).log()
    # k0 = -log(x / 2) i0 + a series, k1 = 1 / x + log(x / 2) i1 + x times a series.
    near = near * t + log * t.i1() + 1.0 / t if n else near - log * t.i0()
    wide = x.clamp(min=SMALL)
    # sqrt(x) exp(x) k is a series in 1 / x
    far = _series(f"k{n}_far", SMALL / wide * 2.0 - 1.0) * wide.rsqrt()
    y = (x > SMALL).where(far, near * t.exp())
    return (x == 0).where(float("inf"), (x < 0).where(float("nan"), y))


def _j0_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    return [g * -_j1(x)]


@composite(grad=_j0_grad)
def _j0(x: Tensor) -> Tensor:
    return _first_kind(0, x)


def _j1_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    # J1' = J0 - J1 / x, which tends to 1/2 at 0.
    return [g * (_j0(x) - (x == 0).where(0.5, y / (x == 0).where(1.0, x)))]


@composite(grad=_j1_grad)
def _j1(x: Tensor) -> Tensor:
    return _first_kind(1, x)


def _y0_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    return [g * -_y1(x)]


@composite(grad=_y0_grad)
def _y0(x: Tensor) -> Tensor:
    return _second(0, x)


def _y1_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    # Y1' = Y0 - Y1 / x
    return [g * (_y0(x) - y / x)]


@composite(grad=_y1_grad)
def _y1(x: Tensor) -> Tensor:
    return _second(1, x)


def _k0e_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    # (exp(x) K0)' = exp(x) (K0 - K1), and K1' = -K0 - K1 / x.
    return [g * (y - _k1e(x))]


@composite(grad=_k0e_grad)
def _k0e(x: Tensor) -> Tensor:
    return _scaled_modified_k(0, x)


def _k1e_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    return [g * (y - _k0e(x) - y / x)]


@composite(grad=_k1e_grad)
def _k1e(x: Tensor) -> Tensor:
    return _scaled_modified_k(1, x)


def _phase(size: Tensor) -> Tensor:
    """The phase of Airy's function below 0, and minus the exponent above: 2/3 size^1.5."""
    return size * size.sqrt() * (2 / 3)


def _airy(x: Tensor) -> Tensor:
    """Ai: it oscillates below 0 and decays as exp(-2/3 x^1.5) above."""
    middle = (AIRY_LOW + AIRY_HIGH) / 2
    inner = x.clamp(AIRY_LOW, AIRY_HIGH)
    near = _series("ai_near", (inner - middle) * (2 / (AIRY_HIGH - AIRY_LOW)))
    high = x.clamp(min=AIRY_HIGH)
    # Ai(x) ~ exp(-z) / (2 sqrt(pi) x^(1/4)) times a series in 1 / z, z = 2/3 x^(3/2).
    exponent = _phase(high)
    first = 2 / 3 * AIRY_HIGH**1.5
    fade = _series("ai_far", first / exponent * 2.0 - 1.0) * (-exponent).exp()
    above = fade * high.sqrt().rsqrt() * (0.5 / sqrt(pi))
    # Ai(-x) ~ (sin(z + pi/4) p - cos(z + pi/4) q / z) / (sqrt(pi) x^(1/4)).
    size = (-x).clamp(min=-AIRY_LOW)
    phase, first = _phase(size), 2 / 3 * (-AIRY_LOW) ** 1.5
    u, w = (first / phase) ** 2 * 2.0 - 1.0, phase + pi / 4
    waves = w.sin() * _series("ai_p", u) - w.cos() * _series("ai_q", u) / phase
    below = waves * size.sqrt().rsqrt() * (1 / sqrt(pi))
    return (x > AIRY_HIGH).where(above, (x < AIRY_LOW).where(below, near))


@composed
def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_airy(x)).to(dtype)


@composed
def bessel_j0(input: Tensor) -> Tensor:
    """Bessel function of the first kind, order 0. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_j0(x)).to(dtype)


@composed
def bessel_j1(input: Tensor) -> Tensor:
    """Bessel function of the first kind, order 1. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_j1(x)).to(dtype)


@composed
def bessel_y0(input: Tensor) -> Tensor:
    """Bessel function of the second kind, order 0: -inf at 0, NaN below. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_y0(x)).to(dtype)


@composed
def bessel_y1(input: Tensor) -> Tensor:
    """Bessel function of the second kind, order 1: -inf at 0, NaN below. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_y1(x)).to(dtype)


@composed
def modified_bessel_k0(input: Tensor) -> Tensor:
    """Modified Bessel function of the second kind, order 0: inf at 0, NaN below. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_k0e(x) * (-x).exp()).to(dtype)


@composed
def modified_bessel_k1(input: Tensor) -> Tensor:
    """Modified Bessel function of the second kind, order 1: inf at 0, NaN below. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_k1e(x) * (-x).exp()).to(dtype)


@composed
def scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """exp(input) times modified_bessel_k0: inf at 0, NaN below. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_k0e(x)).to(dtype)


@composed
def scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """exp(input) times modified_bessel_k1: inf at 0, NaN below. [...] -> [...]"""
    x, dtype = in_float32(input)
    return (_k1e(x)).to(dtype)
