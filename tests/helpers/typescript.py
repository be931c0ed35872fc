"""TypeScript's compiler, of one version, from the cache or the package registry."""

import hashlib
import tarfile
import tempfile
from pathlib import Path

from flambeau.core.files import cache_folder
from flambeau.site import node

VERSION = "5.9.3"
SHA256 = "10e108c9cf7d5f2879053dff18515fb405abf2ccef63eaaf017d9c571687a1d3"  # of the npm package's .tgz


def compiler() -> Path:
    """TypeScript from npm, unpacked in the cache once."""
    found = cache_folder(f"typescript-{VERSION}-{SHA256[:8]}")
    if not found.is_dir():
        found.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=found.parent) as scratch:
            package = node.fetch_package(f"typescript@{VERSION}", Path(scratch))
            assert hashlib.sha256(package.read_bytes()).hexdigest() == SHA256, "typescript: another checksum"
            with tarfile.open(package) as archive:
                archive.extraction_filter = getattr(tarfile, "data_filter", None)
                archive.extractall(scratch)
            try:
                (Path(scratch) / "package").rename(found)
            except OSError:
                assert found.is_dir()  # another process was quicker
    return found / "lib" / "tsc.js"
