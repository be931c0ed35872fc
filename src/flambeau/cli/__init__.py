"""The command line: `flambeau COMMAND`, each command in a module of its own."""

from .main import main

__all__ = ["main"]
