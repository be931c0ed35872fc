"""8-bit floats: their values by code, and the codes of rounded numbers, with PyTorch's rules.

A code has a sign bit, an exponent, and a mantissa (Micikevicius et al., 2022, arXiv:2209.05433). Rounding is
to nearest, halves to even. Numbers beyond the largest one become that (e4m3fn, which has no infinities), or
infinite (e5m2); NaN keeps its sign and becomes the code with all other bits set.
"""

from array import array
from functools import cache
from math import inf, isnan, nan
from typing import Any, NamedTuple

from . import dtype as dt

NAN = 0x7F  # the code of NaN, without its sign


class CodeForm(NamedTuple):
    """The values of a dtype's codes."""

    mantissa: int  # bits
    bias: int  # of the exponent
    top: int  # the code of values that are too large
    special: int  # the first code of no finite number

    @property
    def least(self) -> float:
        """The smallest positive number: the step of subnormal numbers."""
        return 2.0 ** (1 - self.bias - self.mantissa)


FORMS = {dt.float8_e4m3fn: CodeForm(3, 7, 0x7E, NAN), dt.float8_e5m2: CodeForm(2, 15, 0x7C, 0x7C)}


@cache
def values(dtype: dt.DType) -> "array[float]":
    """The float32 of each of the 256 codes."""
    form = FORMS[dtype]
    positive = [_value(code, form) for code in range(128)]
    return array("f", [*positive, *(-v for v in positive)])


def _value(code: int, form: CodeForm) -> float:
    exponent, mantissa = code >> form.mantissa, code & ((1 << form.mantissa) - 1)
    if code >= form.special:
        return nan if mantissa else inf
    # exponent 0 is subnormal: no implicit one, and the scale of exponent 1
    significand = mantissa + ((exponent > 0) << form.mantissa)
    return float(significand * form.least * 2.0 ** (max(exponent, 1) - 1))


def code_of(bits: int, value: float, dtype: dt.DType) -> int:
    """The code of a float32, of which `bits` are the bits."""
    form = FORMS[dtype]
    sign, size = bits >> 24 & 0x80, bits & 0x7FFFFFFF
    if isnan(value):
        return sign | NAN
    if size < 128 - form.bias << 23:  # below the smallest normal number the steps are equal
        return sign | round(abs(value) / form.least)
    shift = 23 - form.mantissa
    # Half to even: adding a half less one, or a half if the kept part is odd, carries if the rest is above.
    code = size - (127 - form.bias << 23) + (1 << shift - 1) - 1 + (size >> shift & 1) >> shift
    return sign | min(code, form.top)


def codes_of(x: Any, dtype: dt.DType) -> Any:
    """The codes of a NumPy array of float32s, as uint8s. [...] -> [...]"""
    import numpy as np

    form = FORMS[dtype]
    shift = 23 - form.mantissa
    bits = x.view("u4")
    size = bits & 0x7FFFFFFF
    normal = size - (127 - form.bias << 23) + ((1 << shift - 1) - 1) + (size >> shift & 1) >> shift
    small = size < 128 - form.bias << 23
    codes = np.minimum(normal, form.top)
    codes[small] = np.rint(np.abs(x[small]) / np.float32(form.least))
    codes[size > 0x7F800000] = NAN
    return (codes | (bits >> 24 & 0x80)).astype("u1")


def values_of(codes: Any, dtype: dt.DType) -> Any:
    """The float32s of a NumPy array of codes. [...] -> [...]"""
    import numpy as np

    return np.frombuffer(values(dtype), "f4")[codes]
