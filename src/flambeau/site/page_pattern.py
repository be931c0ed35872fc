r"""Rewrites the patterns of tokenizers as regular expressions of JavaScript.

Classes such as \p{L} become ranges of code points, so that a text has the same tokens in every browser,
whichever version of Unicode that knows.
"""

import re

from ..tokenizers.characters import ESCAPE, LONGEST, Ranges, complement, ranges_of, spaces

OPENINGS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
IGNORES_CASE = "(?i:"
FOLDS = {"s": "ſ", "k": "\u212a"}  # further characters that match an ASCII letter without its case
SAME = "nrtfv"  # escapes that JavaScript has too
SYNTAX = "^$\\.*+?()[]{}|/"  # characters that it escapes
COUNT = re.compile(r"\{(\d+(?:,\d*)?|,\d+)\}")
NOT_NEWLINE = r"[^\n]"


def page_pattern(pattern: str) -> str:
    r"""Return a pattern of Oniguruma for JavaScript's flag u. ValueError for what JavaScript lacks, such as
    possessive quantifiers and \b of Unicode."""
    if len(pattern) > LONGEST:
        raise ValueError(f"a pattern of {len(pattern):,} characters: at most {LONGEST:,} are possible")
    return _Writer(pattern).text()


class _Writer:
    """Rewrites one pattern from left to right."""

    def __init__(self, pattern: str):
        self.pattern, self.at, self.parts = pattern, 0, list[str]()
        self.is_inside = False  # of a class
        self.cases = [False]  # whether each open group ignores case

    def text(self) -> str:
        while self.at < len(self.pattern):
            self.parts.append(self._in_class() if self.is_inside else self._outside())
        return "".join(self.parts)

    def refuse(self, what: str) -> ValueError:
        return ValueError(f"pattern {self.pattern[:60]!r}: {what} is not possible in a page")

    def take(self, text: str) -> str:
        self.at += len(text)
        return text

    def _escape(self) -> str:
        """Rewrite the escape at this place; a class of characters without its brackets."""
        match = ESCAPE.match(self.pattern, self.at)
        if match is None:
            raise self.refuse("a backslash at the end")
        self.at = match.end()
        kind, hat, name, short, letter, digits, other = match.groups()
        if digits:
            return f"\\u{{{int(digits, 16):x}}}"
        if kind or short:
            ranges = ranges_of(name or letter)
            return _text(complement(ranges) if ((kind or short) == "P") != bool(hat) else ranges)
        sets = {"s": spaces, "S": lambda: complement(spaces()), "d": lambda: ranges_of("Nd")}
        if other in sets:
            return _text(sets[other]())
        if other == "h":
            return "0-9A-Fa-f"
        if other.isalnum() and other not in SAME:
            raise self.refuse(f"\\{other}")
        if other in SAME or other in SYNTAX or (other == "-" and self.is_inside):
            return f"\\{other}"
        return other

    def _in_class(self) -> str:
        c = self.pattern[self.at]
        if c == "\\":
            return self._escape()
        if self.pattern.startswith("&&", self.at):
            raise self.refuse("an intersection of classes (&&)")
        self.is_inside = c != "]"
        return f"\\{self.take(c)}" if c == "[" else self.take(c)

    def _outside(self) -> str:
        c = self.pattern[self.at]
        if c == "\\":
            is_set = self.pattern[self.at + 1 : self.at + 2] in "pPsSdh"
            return f"[{self._escape()}]" if is_set else self._escape()
        if c == "[":
            if self.cases[-1]:
                raise self.refuse("a class that ignores case")
            self.is_inside = True
            head = re.match(r"\[\^?\]?", self.pattern[self.at :])
            # a "]" that comes first belongs to the class
            return self.take(head[0] if head else c).replace("]", r"\]")
        if c == "(":
            return self._opening()
        if c == ")":
            self.cases.pop()
        if c in "*+?":
            return self._quantifier(c)
        if c == "{":
            count = COUNT.match(self.pattern, self.at)
            return self._quantifier(count[0]).replace("{,", "{0,") if count else rf"\{self.take(c)}"
        if c == "$":
            raise self.refuse("$")
        if self.cases[-1] and c.isascii() and c.isalpha():
            self.take(c)
            return f"[{c.lower()}{c.upper()}{FOLDS.get(c.lower(), '')}]"
        return {".": NOT_NEWLINE, "]": r"\]", "}": r"\}"}.get(self.take(c), c)

    def _opening(self) -> str:
        if self.pattern.startswith(IGNORES_CASE, self.at):
            self.take(IGNORES_CASE)
            self.cases.append(True)
            return "(?:"
        self.cases.append(self.cases[-1])
        if not self.pattern.startswith("(?", self.at):
            return self.take("(")
        known = next((o for o in OPENINGS if self.pattern.startswith(o, self.at)), None)
        if known is None:
            raise self.refuse(repr(self.pattern[self.at : self.at + 4]))
        return self.take(known)

    def _quantifier(self, text: str) -> str:
        self.take(text)
        if self.pattern[self.at : self.at + 1] == "+":
            raise self.refuse("a possessive quantifier")
        if self.pattern[self.at : self.at + 1] == "?":
            text += self.take("?")
        return text


def _text(ranges: Ranges) -> str:
    r"""Write ranges as the inside of a class."""
    return "".join(f"\\u{{{a:x}}}" if a == b else f"\\u{{{a:x}}}-\\u{{{b:x}}}" for a, b in ranges)
