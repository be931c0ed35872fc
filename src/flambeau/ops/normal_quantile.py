"""References of erfinv and ndtri on arrays: quotients of polynomials in float64, to 1e-15 of the result.

The polynomials are those of M. J. Wichura, Algorithm AS 241: the percentage points of the normal
distribution, Applied Statistics 37 (1988), 477-484 (PPND16).
"""

from math import sqrt
from typing import Any

# numerator and denominator, from the highest power: in the middle, in the tails, and far out
MIDDLE = (
    (2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.693765509461,
     1971.5909503065514, 133.14166789178438, 3.3871328727963665),
    (5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751,
     687.1870074920579, 42.31333070160091, 1.0),
)  # fmt: skip
TAIL = (
    (7.745450142783414e-4, 0.022723844989269185, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
     5.769497221460691, 4.630337846156546, 1.4234371107496835),
    (1.0507500716444169e-9, 5.475938084995345e-4, 0.015198666563616457, 0.14810397642748008,
     0.6897673349851, 1.6763848301838038, 2.053191626637759, 1.0),
)  # fmt: skip
FAR = (
    (2.0103343992922881e-7, 2.7115555687434876e-5, 0.0012426609473880784, 0.026532189526576124,
     0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103),
    (2.0442631033899397e-15, 1.421511758316446e-7, 1.8463183175100548e-5, 7.868691311456133e-4,
     0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0),
)  # fmt: skip


def _quotient(parts: tuple[tuple[float, ...], tuple[float, ...]], r: Any) -> Any:
    """The quotient of two polynomials of r."""
    above, below = (powers[0] * r + powers[1] for powers in parts)
    for a, b in zip(parts[0][2:], parts[1][2:], strict=True):
        above, below = above * r + a, below * r + b
    return above / below


def _quantile(xp: Any, q: Any, tail: Any) -> Any:
    """The x with a probability of q + 0.5 below it. tail: the smaller of the probabilities on its sides."""
    is_inside = tail > 0
    r = xp.sqrt(-xp.log(xp.where(is_inside, tail, xp.ones_like(tail))))
    outer = xp.where(r <= 5, _quotient(TAIL, r - 1.6), _quotient(FAR, r - 5))
    outer = xp.where(is_inside, outer, xp.where(tail == 0, xp.inf, xp.nan))
    middle = q * _quotient(MIDDLE, 0.180625 - q * q)
    return xp.where(xp.abs(q) <= 0.425, middle, xp.where(q < 0, -outer, outer))


def ndtri(xp: Any, p: Any) -> Any:
    """The inverse of the normal distribution function: infinite at 0 and 1, NaN outside."""
    wide = xp.asarray(p, dtype=xp.float64)
    return xp.asarray(_quantile(xp, wide - 0.5, xp.where(wide < 0.5, wide, 1 - wide)), dtype=p.dtype)


def erfinv(xp: Any, x: Any) -> Any:
    """The inverse of erf: infinite at -1 and 1, NaN outside."""
    wide = xp.asarray(x, dtype=xp.float64)
    y = _quantile(xp, wide / 2, (1 - xp.abs(wide)) / 2) / sqrt(2)
    return xp.asarray(y, dtype=x.dtype)
