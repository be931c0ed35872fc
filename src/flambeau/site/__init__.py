"""Builds a static site that runs the package in browsers, and serves it."""

from .build import build
from .lock import build_lock
from .server import serve

__all__ = ["build", "build_lock", "serve"]
