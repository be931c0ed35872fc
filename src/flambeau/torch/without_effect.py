"""Functions of torch that set what does not exist here: they accept their arguments and do nothing."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


def add_safe_globals(safe_globals: Any) -> None:
    """Do nothing: files are read without running what they name."""


def clear_safe_globals() -> None:
    """Do nothing."""


def get_safe_globals() -> list[Any]:
    """An empty list: no file runs what it names."""
    return []


@contextmanager
def safe_globals(safe_globals: Any) -> Generator[None]:
    """A block in which files are read as everywhere."""
    yield
