"""Serves a language model over HTTP, by OpenAI's interface."""

from .engine import Engine
from .server import ModelServer

__all__ = ["Engine", "ModelServer"]
