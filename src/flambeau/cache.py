"""A name into a folder of this user's cache, where what can be made again is kept."""

import os
import sys
from pathlib import Path


def cache_folder(name: str) -> Path:
    """The folder for what is kept: `FLAMBEAU_CACHE`, else the platform's cache folder, then `name`."""
    if own := os.environ.get("FLAMBEAU_CACHE"):
        return Path(own).expanduser() / name
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "flambeau" / name
