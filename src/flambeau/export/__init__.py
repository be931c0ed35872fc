"""Turns a model into a folder that runs without Python, and such a folder into a function."""

from .load import SavedProgram, load_program
from .save import save_program

__all__ = ["SavedProgram", "load_program", "save_program"]
