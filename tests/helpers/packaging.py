"""Wheels of the checkout, built without network."""

import os
import subprocess
import sys
from pathlib import Path

# No network: the build backend is a dev dependency, and the package's own dependencies are installed already.
OFFLINE = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]


def call(*arguments: str | Path, cwd: Path, **environment: str) -> str:
    """What a Python program prints; its failure fails the test with all that it said."""
    called = [sys.executable, *arguments]
    done = subprocess.run(called, cwd=cwd, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built_wheel(source: Path, folder: Path) -> Path:
    call("-m", "pip", "wheel", *OFFLINE, "--wheel-dir", folder, source, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel
