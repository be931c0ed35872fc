"""Files of scripts/ as modules."""

import importlib.util
import sys
from functools import cache

from helpers.paths import ROOT


@cache
def script(name: str):
    """A file of scripts/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec and spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
