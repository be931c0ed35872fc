"""JSON files of the cache folder. Errors of reading and writing them are reported, not raised."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..errors import FlambeauError
from .files import read, write_whole

T = TypeVar("T")
# exceptions of parsing damaged JSON, or of converting it
DAMAGED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


class Unusable(FlambeauError):
    """A file that can't be used. why: the reason, without the file's name."""

    def __init__(self, path: Path, why: str):
        super().__init__(f"{path}: {why}")
        self.why = why


def load(path: Path, make: Callable[[Any], T]) -> T:
    """Read a JSON file and convert it by `make`. OSError if it can't be read; Unusable if it is damaged or
    `make` raises that."""
    try:
        return make(json.loads(str(read(path), "utf-8")))
    except DAMAGED as e:
        raise Unusable(path, f"damaged ({type(e).__name__})") from None


def load_if_usable(path: Path, make: Callable[[Any], T], title: str, otherwise: str) -> T | None:
    """`load` of an optional file: None if it is missing, or if it can't be used, which a line on stderr
    reports."""
    try:
        return load(path, make)
    except FileNotFoundError:
        return None
    except Unusable as e:
        reason = e.why
    except OSError as e:
        reason = f"not readable ({e.strerror})"
    print(f"flambeau: {path}: {title} are {reason}: {otherwise}", file=sys.stderr)
    return None


def keep(path: Path, text: str, otherwise: str) -> None:
    """Write a file and its folder; a line on stderr reports a failure."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as e:
        print(f"flambeau: {path} can't be written ({e.strerror}): {otherwise}", file=sys.stderr)
