"""Expressions of WGSL as text, for templates: sums without zeros, products without ones, indices."""

from collections.abc import Iterable
from typing import Any


def grouped(text: str) -> str:
    """An operand of a product: in parentheses unless it is a single name."""
    return text if text.replace(".", "").isidentifier() else f"({text})"


def plus(a: str, n: int) -> str:
    """a + n."""
    return f"{a} + {n}u" if n else a


def times(a: str, n: int) -> str:
    """a * n."""
    return a if n == 1 else f"{grouped(a)} * {n}u"


def over(a: str, n: int) -> str:
    """a / n."""
    return a if n == 1 else f"{grouped(a)} / {n}u"


def modulo(a: str, n: int) -> str:
    """a % n."""
    return "0u" if n == 1 else f"{grouped(a)} % {n}u"


def sum_of(*terms: str) -> str:
    """The sum of the terms, of which those that are 0 are left out."""
    return " + ".join([t for t in terms if t and t != "0u"]) or "0u"


def index_of(index: Any, suffix: str = "") -> str:
    """A WgslIndex: its offset, and each coordinate (with a suffix) times its stride."""
    terms = [f"p.{index.offset}"] if index.offset else []
    terms += [f"{c}{suffix}" if s == "1" else f"{c}{suffix} * p.{s}" for c, s in index.terms]
    return " + ".join(terms) or "0u"


def within(tests: Iterable[Any]) -> str:
    """Whether every position of PaddingTests is below its size."""
    return " & ".join([f"({index_of(t.position)} < p.{t.size})" for t in tests])


EXPRESSIONS = {f.__name__: f for f in (grouped, plus, times, over, modulo, sum_of, index_of, within)}
