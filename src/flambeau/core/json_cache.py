"""JSON files of the cache folder: kept where that can be, read where they are whole and hold here."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..errors import FlambeauError
from .files import read, write_whole

T = TypeVar("T")
# what reading damaged JSON, or making something of it, raises
DAMAGED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


class Unusable(FlambeauError):
    """A file that can't be used; `why`, without its name."""

    def __init__(self, path: Path, why: str):
        super().__init__(f"{path}: {why}")
        self.why = why


def load(path: Path, make: Callable[[Any], T]) -> T:
    """What `make` gives for a file's JSON. OSError where there is no such file; Unusable where it is damaged,
    or `make` says so."""
    try:
        return make(json.loads(str(read(path), "utf-8")))
    except DAMAGED as e:
        raise Unusable(path, f"damaged ({type(e).__name__})") from None


def kept(path: Path, make: Callable[[Any], T], what: str, otherwise: str) -> T | None:
    """`load` of a file that need not be there: None without it, and where it can't be used, of which a line
    on stderr tells."""
    try:
        return load(path, make)
    except FileNotFoundError:
        return None
    except Unusable as e:
        why = e.why
    except OSError as e:
        why = f"not readable ({e.strerror})"
    print(f"flambeau: {path}: {what} are {why}: {otherwise}", file=sys.stderr)
    return None


def keep(path: Path, text: str, otherwise: str) -> None:
    """Write a file and its folder; where that can't be done a line on stderr says so."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as e:
        print(f"flambeau: {path} can't be written ({e.strerror}): {otherwise}", file=sys.stderr)
