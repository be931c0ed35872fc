"""Compares random programs on a device with NumPy (`flambeau selftest`)."""

from .compare import Difference, check
from .failure_report import report, script
from .families import FAMILIES, drawn
from .loop import EVERY, USUAL, Selftest, Tally
from .mixed import random_program
from .programs import Input, Line, Program
from .shrink import smaller

__all__ = [
    "EVERY",
    "FAMILIES",
    "USUAL",
    "Difference",
    "Input",
    "Line",
    "Program",
    "Selftest",
    "Tally",
    "check",
    "drawn",
    "random_program",
    "report",
    "script",
    "smaller",
]
