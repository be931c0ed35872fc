"""The command line: `flambeau COMMAND`, one module for each command."""

from .main import main

__all__ = ["main"]
