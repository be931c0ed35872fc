"""Turns the package into a static site that runs in browsers: files, compiled for them, and a server."""

from .build import build
from .lock import build_lock
from .server import serve

__all__ = ["build", "build_lock", "serve"]
