"""Saves a model as a folder that runs without Python, and loads such a folder as a function."""

from .load import SavedProgram, load_program
from .save import save_program

__all__ = ["SavedProgram", "load_program", "save_program"]
