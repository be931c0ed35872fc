r"""Compiles patterns with classes such as \p{L}, which Python's `re` lacks.

Classes come from `unicodedata`. unicode_16.txt lists the characters of Unicode 16 that an older Python does
not know, so that a text has the same tokens with every Python.
"""

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

Ranges = tuple[tuple[int, int], ...]  # first and last code points, in order

LAST = sys.maxunicode
# Unicode's White_Space; Python's \s also has U+001C to U+001F
SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WHITESPACE = frozenset(c for c in map(chr, range(0x3001)) if re.match(f"[{SPACES}]", c))
ASSIGNED = ((0, 0x40000), (0xE0000, 0xE1000))  # planes that have characters
LONGEST = 10_000  # characters of a pattern
ESCAPE = re.compile(r"\\(?:([pP])\{(\^?)(\w+)\}|([pP])(\w)|x\{([0-9A-Fa-f]+)\}|(.))", re.DOTALL)


def _additions() -> Iterator[tuple[int, int, str]]:
    """Yield the (first, last, category) of unicode_16.txt."""
    name = ""
    for line in Path(__file__).with_name("unicode_16.txt").read_text("ascii").splitlines():
        if not line.startswith(" "):
            name, _, line = line.partition(" ")
        for item in line.split():
            first, _, last = item.partition("-")
            yield int(first, 16), int(last or first, 16), name


@cache
def _runs() -> tuple[tuple[str, int, int], ...]:
    """Return (category, first, last) for all code points, in order."""
    names = ["Cn"] * (LAST + 1)
    for first, last in ASSIGNED:
        names[first:last] = map(unicodedata.category, map(chr, range(first, last)))
    for first in (0xF0000, 0x100000):  # planes for private use, but for their last two code points
        names[first : first + 0xFFFE] = ["Co"] * 0xFFFE
    for first, last, name in _additions():
        for c in range(first, last + 1):
            names[c] = name if names[c] == "Cn" else names[c]
    runs: list[tuple[str, int, int]] = []
    offset = 0
    for name, group in groupby(names):
        count = len([*group])
        runs.append((name, offset, offset + count - 1))
        offset += count
    return tuple(runs)


def _union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Join ranges that touch. The input is in order."""
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and joined[-1][1] + 1 >= first:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return tuple(joined)


@cache
def ranges_of(category: str) -> Ranges:
    r"""Return the ranges of a general category, such as "L" or "Lu". ValueError for an unknown one."""
    ranges = _union((a, b) for name, a, b in _runs() if name.startswith(category))
    if not ranges:
        raise ValueError(f"\\p{{{category}}}: unknown: use a general category of Unicode, such as L or Nd")
    return ranges


def complement(ranges: Ranges) -> Ranges:
    """Return the ranges of all other code points."""
    edges = [-1, *(c for pair in ranges for c in pair), LAST + 1]
    pairs = [(edges[i] + 1, edges[i + 1] - 1) for i in range(0, len(edges), 2)]
    return tuple((a, b) for a, b in pairs if a <= b)


def _text(ranges: Ranges) -> str:
    r"""Write ranges as the inside of a character class."""
    return "".join(f"\\U{a:08x}" if a == b else f"\\U{a:08x}-\\U{b:08x}" for a, b in ranges)


@cache
def _class(category: str, is_complement: bool) -> str:
    ranges = ranges_of(category)
    return _text(complement(ranges) if is_complement else ranges)


def is_punctuation(c: str) -> bool:
    """Whether a character is punctuation in BERT's sense: of category P, or an ASCII symbol."""
    return c in "$+<=>^`|~" or category(c)[0] == "P"


@cache
def _starts() -> tuple[int, ...]:
    return tuple(first for _, first, _ in _runs())


def category(c: str) -> str:
    """Return the general category of a character, by Unicode 16 at least."""
    name = unicodedata.category(c)
    return name if name != "Cn" else _runs()[bisect_right(_starts(), ord(c)) - 1][0]


def translate(pattern: str) -> str:
    r"""Rewrite a pattern of Oniguruma for Python's `re`: \p{..}, \s, \S and \x{..}. ValueError for others."""
    if len(pattern) > LONGEST:
        raise ValueError(f"a pattern of {len(pattern):,} characters: at most {LONGEST:,} are possible")
    parts: list[str] = []
    offset, is_inside = 0, False
    while offset < len(pattern):
        c = pattern[offset]
        if c == "\\" and (escape := ESCAPE.match(pattern, offset)):
            parts.append(_escape(escape, is_inside))
            offset = escape.end()
            continue
        if is_inside and c == "&" and pattern[offset + 1 : offset + 2] == "&":
            raise ValueError(f"pattern {pattern[:60]!r}: intersections of classes (&&) are not supported")
        if c == "[" and not is_inside:
            is_inside = True
            # "[^" and a "]" that comes first belong to the opening
            head = re.match(r"\[\^?\]?", pattern[offset:])
            parts.append(head[0].replace("]", r"\]") if head else c)
            offset += len(head[0]) if head else 1
            continue
        is_inside = is_inside and c != "]"
        parts.append(r"\[" if is_inside and c == "[" else c)
        offset += 1
    return "".join(parts)


def _escape(escape: re.Match[str], is_inside: bool) -> str:
    """Rewrite one escape."""
    kind, hat, name, short, letter, digits, other = escape.groups()
    if digits:
        return f"\\U{int(digits, 16):08x}"
    if kind or short:
        text = _class(name or letter, ((kind or short) == "P") != bool(hat))
    elif other in "sS":
        text = SPACES if other == "s" else _text(complement(spaces()))
    elif other == "h":  # a hexadecimal digit
        text = "0-9A-Fa-f"
    else:
        return escape[0]
    return text if is_inside else f"[{text}]"


@cache
def spaces() -> Ranges:
    r"""Return the ranges of \s."""
    return _union((ord(c), ord(c)) for c in sorted(WHITESPACE))


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a tokenizer's file. ValueError for one that is not supported."""
    try:
        return re.compile(translate(pattern))
    except (re.error, RecursionError, OverflowError) as e:
        raise ValueError(f"pattern {pattern[:60]!r}: {e}") from None
