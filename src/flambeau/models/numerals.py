"""The decimal texts of numbers between bounds, as expressions."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from .expressions import Alt, Bytes, Expression, Repeat, alt, literal, optional, seq

MOST_DIGITS = 15  # which a float64 holds
LARGEST = 10**MOST_DIGITS - 1
Bound = int | float | None
DIGIT = Bytes(((48, 57),))
FRACTION = seq(literal("."), Repeat(DIGIT, 1, MOST_DIGITS))
POSITIVE_FRACTION = seq(literal("."), Repeat(DIGIT, 0, MOST_DIGITS - 1), Bytes(((49, 57),)))
NATURAL = alt([literal("0"), seq(Bytes(((49, 57),)), Repeat(DIGIT, 0, MOST_DIGITS - 1))])


def _digits(low: int, high: int) -> Expression:
    return Bytes(((48 + low, 48 + high),))


def _padded(low: str, high: str) -> Expression:
    """Return the numerals from low to high, two texts with equally many digits."""
    if not low:
        return seq()
    if not low.strip("0") and not high.strip("9"):
        return seq(*[DIGIT] * len(low))
    if low[0] == high[0]:
        return seq(literal(low[0]), _padded(low[1:], high[1:]))
    rest = len(low) - 1
    parts = [seq(literal(low[0]), _padded(low[1:], "9" * rest))]
    if int(high[0]) - int(low[0]) > 1:
        parts.append(seq(_digits(int(low[0]) + 1, int(high[0]) - 1), *[DIGIT] * rest))
    return alt([*parts, seq(literal(high[0]), _padded("0" * rest, high[1:]))])


def naturals(low: int, high: int) -> Expression:
    """Return the integers from low, 0 or more, to high, without leading zeros."""
    parts: list[Expression] = []
    while low <= high:
        size = len(str(low))
        most = min(high, 10**size - 1)
        parts.append(_padded(str(low), str(most)))
        low = most + 1
    return alt(parts)


def _signed(low: int, high: int) -> Expression:
    parts: list[Expression] = []
    if high >= 0:
        parts.append(naturals(max(low, 0), high))
    if low < 0:
        parts.append(seq(literal("-"), naturals(max(-high, 1), -low)))
    return alt(parts)


def integers_between(
    least: Bound = None, most: Bound = None, above: Bound = None, below: Bound = None
) -> Expression:
    """Return the integers of up to 15 digits with least <= x <= most and above < x < below."""
    if least is None and most is None and above is None and below is None:
        return alt([NATURAL, seq(literal("-"), Bytes(((49, 57),)), Repeat(DIGIT, 0, MOST_DIGITS - 1))])
    lows, highs = [-LARGEST], [LARGEST]
    if least is not None:
        lows.append(ceil(_exact(least)))
    if above is not None:
        lows.append(floor(_exact(above)) + 1)
    if most is not None:
        highs.append(floor(_exact(most)))
    if below is not None:
        highs.append(ceil(_exact(below)) - 1)
    return _signed(max(lows), min(highs))


def _exact(value: int | float) -> Fraction:
    """Return a bound as it is written in decimals, at most one beyond the largest number."""
    return max(Fraction(-LARGEST - 1), min(Fraction(str(value)), Fraction(LARGEST + 1)))


def numbers_between(
    least: Bound = None, most: Bound = None, above: Bound = None, below: Bound = None
) -> Expression:
    """Return numbers with least <= x <= most and above < x < below; with bounds without an exponent, and with
    as many decimals as the bounds have where no integer part leaves the fraction free."""
    if least is None and most is None and above is None and below is None:
        sign = optional(Bytes(((43, 43), (45, 45))))
        exponent = seq(Bytes(((69, 69), (101, 101))), sign, DIGIT, optional(DIGIT))
        return seq(optional(literal("-")), NATURAL, optional(FRACTION), optional(exponent))
    integers = integers_between(least, most, above, below)
    parts = [] if integers == Alt(()) else [integers]
    lows = [_exact(v) for v in (least, above) if v is not None]
    highs = [_exact(v) for v in (most, below) if v is not None]
    # whole units [i, i + 1] between the bounds, whose fractions are free but for the ends
    first, last = ceil(max([*lows, Fraction(-LARGEST)])), floor(min([*highs, Fraction(LARGEST)])) - 1
    if last >= max(first, 0):
        parts.append(seq(naturals(max(first, 0), last), POSITIVE_FRACTION))
    if first < min(last + 1, 0):
        parts.append(seq(literal("-"), naturals(max(-last - 1, 0), -first - 1), POSITIVE_FRACTION))
    if parts or not lows or not highs:
        return alt(parts)
    # one decimal more than the bounds have
    places = min(max(_decimals(v) for v in lows + highs) + 1, MOST_DIGITS)
    scaled = [None if v is None else _exact(v) * 10**places for v in (least, most, above, below)]
    return _fixed(scaled, places)


def _decimals(value: Fraction) -> int:
    return next(n for n in range(400) if (value * 10**n).denominator == 1)


def _fixed(bounds: Sequence[Fraction | None], places: int) -> Expression:
    """Return the numbers within one unit, with decimals. bounds: as of `numbers_between`, all scaled."""
    least, most, above, below = bounds
    lows = [ceil(v) for v in (least,) if v is not None] + [floor(v) + 1 for v in (above,) if v is not None]
    highs = [floor(v) for v in (most,) if v is not None] + [ceil(v) - 1 for v in (below,) if v is not None]
    low, high = max(lows), min(highs)
    sign, low, high = ("-", -high, -low) if high < 0 else ("", low, high)
    whole, rest = divmod(low, 10**places)
    if low > high or low < 0 or high // 10**places != whole:
        return Alt(())
    texts = _padded(f"{rest:0{places}}", f"{high % 10**places:0{places}}")
    return seq(literal(f"{sign}{whole}."), texts)
