"""torch.__version__: a string that compares as a version."""

from itertools import zip_longest
from typing import Any

from .table import VERSION


def _numbers(version: Any) -> tuple[int, ...]:
    """The numbers of a version, of a text such as 2.13.0+flambeau or a tuple."""
    parts: Any = str(version).partition("+")[0].split(".") if isinstance(version, str) else tuple(version)
    digits = ("".join(c for c in str(p) if c.isdigit()) for p in parts)
    return tuple(int(d or 0) for d in digits)


class TorchVersion(str):
    """A version. It compares with texts and with tuples of numbers."""

    __slots__ = ()

    def _compare(self, other: Any) -> int:
        pairs = zip_longest(_numbers(str(self)), _numbers(other), fillvalue=0)
        return next((a - b for a, b in pairs if a != b), 0)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compare(other) >= 0

    def __eq__(self, other: Any) -> bool:
        return self._compare(other) == 0 if isinstance(other, str | tuple) else False

    def __hash__(self) -> int:
        return str.__hash__(self)


__version__ = TorchVersion(VERSION)
