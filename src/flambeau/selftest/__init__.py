"""Random programs whose results a device and NumPy have to agree on: what `flambeau selftest` runs."""

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
