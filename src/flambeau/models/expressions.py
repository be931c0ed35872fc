"""Expressions of bytes, of which grammars are made: sets, sequences, choices, repetitions, calls of rules."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

Ranges = tuple[tuple[int, int], ...]  # the first and the last of each run of numbers, in order
LAST = 0x10FFFF
SURROGATES = ((0xD800, 0xDFFF),)  # no UTF-8 text has them


@dataclass(frozen=True)
class Bytes:
    """One byte out of ranges."""

    ranges: Ranges


@dataclass(frozen=True)
class Seq:
    """Parts one after another; none: the empty text."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Alt:
    """One of several parts; none: no text at all."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Repeat:
    """A part several times; most: None for any number."""

    part: "Expression"
    least: int
    most: int | None


@dataclass(frozen=True)
class RuleCall:
    """The text of a rule, which may call itself."""

    rule: str


Expression = Bytes | Seq | Alt | Repeat | RuleCall
EMPTY = Seq(())


def seq(*parts: Expression) -> Expression:
    """Return parts one after another."""
    return parts[0] if len(parts) == 1 else Seq(parts)


def alt(parts: Iterable[Expression]) -> Expression:
    """Return a choice of parts."""
    parts = tuple(dict.fromkeys(parts))
    return parts[0] if len(parts) == 1 else Alt(parts)


def optional(part: Expression) -> Expression:
    """Return a part that may be left out."""
    return Repeat(part, 0, 1)


def literal(text: str) -> Expression:
    """Return a text."""
    return seq(*(Bytes(((b, b),)) for b in text.encode()))


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return ranges in order, joined where they touch."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the characters that ranges leave out."""
    rest: list[tuple[int, int]] = []
    first = 0
    for low, high in union(ranges):
        if first < low:
            rest.append((first, low - 1))
        first = high + 1
    return (*rest, (first, LAST)) if first <= LAST else tuple(rest)


def without(ranges: Ranges, others: Iterable[tuple[int, int]]) -> Ranges:
    """Return ranges without the characters of others."""
    return complement([*complement(ranges), *others])


def characters(ranges: Ranges) -> Expression:
    """Return one character out of ranges, in UTF-8."""
    parts: list[Expression] = []
    for low, high in without(union(ranges), SURROGATES):
        for first, last in ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, LAST)):
            if max(low, first) <= min(high, last):
                parts += _encoded(chr(max(low, first)).encode(), chr(min(high, last)).encode())
    ascii_ranges = [r for p in parts if isinstance(p, Bytes) for r in p.ranges]
    rest = [p for p in parts if not isinstance(p, Bytes)]
    return alt([*([Bytes(union(ascii_ranges))] if ascii_ranges else []), *rest])


def _encoded(low: bytes, high: bytes) -> list[Expression]:
    """Return the UTF-8 texts between two of the same length."""
    n = len(low)
    if n == 1 or low[:1] == high[:1]:
        if n == 1:
            return [Bytes(((low[0], high[0]),))]
        return [seq(Bytes(((low[0], low[0]),)), rest) for rest in _encoded(low[1:], high[1:])]
    # the first bytes differ: the rest of the lowest, all rests between, the rest of the highest
    least, most = b"\x80" * (n - 1), b"\xbf" * (n - 1)
    parts: list[Expression] = []
    first, last = low[0], high[0]
    if low[1:] != least:
        parts += [seq(Bytes(((first, first),)), rest) for rest in _encoded(low[1:], most)]
        first += 1
    ends: list[Expression] = []
    if high[1:] != most:
        ends = [seq(Bytes(((last, last),)), rest) for rest in _encoded(least, high[1:])]
        last -= 1
    if first <= last:
        parts.append(seq(Bytes(((first, last),)), *[Bytes(((0x80, 0xBF),))] * (n - 1)))
    return parts + ends


# --- regular expressions ---

Spell = Callable[[Ranges], Expression]  # how a character of a class is written
LINE_ENDS = ((10, 10), (13, 13), (0x2028, 0x2029))
ASCII: dict[str, Ranges] = {
    "DIGIT": ((48, 57),),
    "SPACE": ((9, 13), (32, 32)),
    "WORD": ((48, 57), (65, 90), (95, 95), (97, 122)),
}
PATTERNS = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
MOST_PATTERN = 10_000  # characters


def regular(pattern: str, spell: Spell = characters, searches: bool = False) -> Expression:
    r"""Return the texts that a regular expression matches as a whole. ValueError for a wrong one, or one with
    assertions, references or flags.

    spell: how a character of a class is written. searches: the expression matches a part of the text; ^ and $
    tie it to the ends. \d, \w and \s are ASCII characters, and their opposites leave out those of Unicode
    too, so that a text matches for Python and for ECMAScript.
    """
    if len(pattern) > MOST_PATTERN:
        raise ValueError(f"has {len(pattern):,} characters: {MOST_PATTERN:,} at most")
    try:
        parsed: Any = import_module("re._parser").parse(pattern)
    except (re.error, RecursionError, OverflowError) as e:
        raise ValueError(f"is no regular expression: {e}") from None
    if parsed.state.flags & ~re.UNICODE:
        raise ValueError("has flags: write them as classes, such as [aA]")
    try:
        return _Regex(spell, searches).top(list(parsed))
    except RecursionError:
        raise ValueError("is nested too deeply") from None


@cache
def _unicode(name: str) -> Ranges:
    """Return the characters of a class in Unicode, with those of ECMAScript."""
    match = re.compile(PATTERNS[name]).match
    characters = [c for c in range(LAST + 1) if match(chr(c))]
    return union([*((c, c) for c in characters), *([(0xFEFF, 0xFEFF)] if name == "SPACE" else [])])


class _Regex:
    """Converts a parsed regular expression."""

    def __init__(self, spell: Spell, searches: bool):
        self.spell, self.searches = spell, searches

    def top(self, items: list[Any]) -> Expression:
        """Return the expression of a whole pattern, whose branches may have ^ and $ at their ends."""
        if len(items) == 1 and str(items[0][0]) == "BRANCH":
            return alt(self.top(list(branch)) for branch in items[0][1][1])
        if len(items) == 1 and str(items[0][0]) == "SUBPATTERN" and not any(items[0][1][1:3]):
            return self.top(list(items[0][1][3]))
        begins, ends = (
            bool(items) and str(items[end][0]) == "AT" and str(items[end][1]) in names
            for end, names in (
                (0, ("AT_BEGINNING", "AT_BEGINNING_STRING")),
                (-1, ("AT_END", "AT_END_STRING")),
            )
        )
        inner = self.all(items[int(begins) : len(items) - int(ends and (len(items) > 1 or not begins))])
        anything = Repeat(self.spell(((0, LAST),)), 0, None)
        before, after = (not is_tied and self.searches for is_tied in (begins, ends))
        return seq(*[anything] * before, inner, *[anything] * after)

    def all(self, items: Sequence[Any]) -> Expression:
        """Return parsed items one after another."""
        return seq(*(self.one(str(kind), value) for kind, value in items))

    def one(self, kind: str, value: Any) -> Expression:
        """Return a parsed item. ValueError for one that no automaton has."""
        if kind in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            return self.spell(self.ranges(kind, value))
        if kind == "BRANCH":
            return alt(self.all(branch) for branch in value[1])
        if kind == "SUBPATTERN" and not value[1] and not value[2]:
            return self.all(value[3])
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inner = value
            has_end = str(most) != "MAXREPEAT"
            return Repeat(self.all(inner), int(least), int(most) if has_end else None)
        names = {"AT": "^ or $ inside, or \\b", "ASSERT": "a look ahead or behind", "GROUPREF": "a reference"}
        names |= {"ASSERT_NOT": names["ASSERT"], "SUBPATTERN": "flags"}
        raise ValueError(f"has {names.get(kind, kind.lower())}: leave it out")

    def ranges(self, kind: str, value: Any) -> Ranges:
        """Return the characters of a class."""
        if kind == "ANY":
            return complement(LINE_ENDS)
        if kind == "LITERAL":
            return ((value, value),)
        if kind == "NOT_LITERAL":
            return complement(((value, value),))
        negates = bool(value) and str(value[0][0]) == "NEGATE"
        pairs: list[tuple[int, int]] = []
        for name, what in value[int(negates) :]:
            pairs += _members(str(name), what, negates)
        return complement(pairs) if negates else union(pairs)


def _members(name: str, what: Any, negates: bool) -> Ranges:
    """Return the characters of a class's member."""
    if name == "LITERAL":
        return ((what, what),)
    if name == "RANGE":
        return (tuple(what),)
    category = str(what).removeprefix("CATEGORY_")
    base = category.removeprefix("NOT_")
    # the smaller set where characters are allowed, the larger one where they are left out
    is_not = base != category
    known = ASCII[base] if is_not == negates else _unicode(base)
    return complement(known) if is_not else known
