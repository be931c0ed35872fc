"""Downloads the npm package pyodide, a Python for browsers, to the cache, and verifies it."""

import hashlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

from ..core.files import cache_folder, part_of
from ..errors import FlambeauError
from . import node

VERSION = "314.0.7"
SHA256 = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"  # of the npm package's .tgz
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
STDLIB, LOCK = "python_stdlib.zip", "pyodide-lock.json"


def folder() -> Path:
    """Return the folder of Pyodide's files, unpacked once from `FLAMBEAU_PYODIDE` (an npm .tgz), the
    cache, or `npm pack`."""
    folder_path = cache_folder(f"pyodide-{VERSION}-{SHA256[:8]}")
    if (folder_path / STDLIB).is_file():
        return folder_path
    with tempfile.TemporaryDirectory() as scratch:
        path = os.environ.get("FLAMBEAU_PYODIDE")
        package = Path(path) if path else node.fetch_package(f"pyodide@{VERSION}", Path(scratch))
        if hashlib.sha256(package.read_bytes()).hexdigest() != SHA256:
            raise FlambeauError(
                f"web: {package}: not pyodide {VERSION}: the checksum differs: download it again"
            )
        with tarfile.open(package) as archive:
            # Rejects paths outside of the folder; early 3.11 has no such filter.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(scratch)
        folder_path.parent.mkdir(parents=True, exist_ok=True)
        with part_of(folder_path, folder=True) as part:
            shutil.copytree(Path(scratch) / "package", part, dirs_exist_ok=True)
            try:
                os.replace(part, folder_path)
            except OSError:
                # Another process may have written the folder meanwhile.
                if not (folder_path / STDLIB).is_file():
                    raise
    return folder_path
