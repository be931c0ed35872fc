"""Builds wheels and a pyodide-lock.json, from which other pages load "flambeau"."""

import base64
import hashlib
import io
import json
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, NamedTuple

from ..core.files import write_whole
from ..errors import FlambeauError
from . import archives, pyodide

DEPENDS = {"flambeau": ["jinja2"], "jinja2": ["markupsafe"], "markupsafe": []}
CDN = f"https://cdn.jsdelivr.net/pyodide/v{pyodide.VERSION}/full/"  # location of Pyodide's packages
MARK = '"flambeau"'  # a text that only flambeau's lock contains


class Wheel(NamedTuple):
    """A wheel: its file name and bytes, and the fields of its entry in the lock."""

    name: str
    version: str
    file_name: str
    data: bytes

    def entry(self) -> dict[str, Any]:
        """Return the wheel's entry in pyodide-lock.json."""
        return {
            "name": self.name,
            "version": self.version,
            "file_name": self.file_name,
            "install_dir": "site",
            "sha256": hashlib.sha256(self.data).hexdigest(),
            "package_type": "package",
            "imports": [self.name],
            "depends": DEPENDS[self.name],
            "unvendored_tests": False,
        }


def build_lock(out: Path, sources: bool = False) -> tuple[list[Wheel], bool]:
    """Write the wheels and the lock to a new folder, or to one of an earlier call.

    Returns the wheels, and whether they are compiled. `sources` keeps .py files. FlambeauError if the
    folder holds other files.
    """
    lock = out / pyodide.LOCK
    is_lock_folder = lock.is_file() and MARK in lock.read_text("utf-8", "replace")
    # Never delete files that this command did not write.
    if out.exists() and not is_lock_folder and any(out.iterdir()):
        raise FlambeauError(f"web lock: {out} holds other files: name an empty or new folder")
    wheels_built, compiled = wheels(sources)
    out.mkdir(parents=True, exist_ok=True)
    # Wheels of earlier versions have other names.
    for old in out.glob("*.whl"):
        old.unlink()
    for wheel in wheels_built:
        (out / wheel.file_name).write_bytes(wheel.data)
    write_whole(
        lock,
        lambda part: part.write_text(json.dumps(lock_with_wheels(wheels_built), indent=1) + "\n", "utf-8"),
    )
    return wheels_built, compiled


def lock_with_wheels(wheels_built: list[Wheel]) -> dict[str, Any]:
    """Return Pyodide's lock with the wheels added. All other packages are loaded from the CDN."""
    lock = json.loads((pyodide.folder() / pyodide.LOCK).read_text("utf-8"))
    for package in lock["packages"].values():
        package["file_name"] = CDN + package["file_name"]
    lock["packages"] |= {wheel.name: wheel.entry() for wheel in wheels_built}
    return lock


def wheels(sources: bool = False) -> tuple[list[Wheel], bool]:
    """Build the wheels of flambeau and its imports in a page. Returns whether Node.js compiled them."""
    files = {"flambeau": archives.library() | archives.templates()}
    files |= {name: archives.installed_files(name) for name in ("jinja2", "markupsafe")}
    plain = {name: archives.zip_files(contents) for name, contents in files.items()}
    built = None if sources else archives.compile_archives(plain)
    info = json.loads((pyodide.folder() / pyodide.LOCK).read_text("utf-8"))["info"]
    # Compiled .pyc files work only with this Python version; sources with any.
    tag = "cp" + "".join(info["python"].split(".")[:2]) if built else "py3"
    return [wheel(name, data, tag) for name, data in (built or plain).items()], built is not None


def desktop_wheel() -> Wheel:
    """Build the wheel that pip installs on a desktop, with the commands and the pages."""
    return wheel("flambeau", archives.zip_files(archives.package()))


def wheel(name: str, archive: bytes, tag: str = "py3") -> Wheel:
    """Pack an archive's files as a wheel of the installed distribution `name`."""
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        files = {n: zipped.read(n) for n in zipped.namelist()}
    package = distribution(name)
    info = f"{name}-{package.version}.dist-info"
    files[f"{info}/METADATA"] = (package.read_text("METADATA") or "").encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}-none-any\n".encode()
    if commands := package.read_text("entry_points.txt"):
        files[f"{info}/entry_points.txt"] = commands.encode()
    # RECORD (PEP 376): path, hash in URL-safe base64 without padding, size; its own line has neither.
    lines = [f"{n},sha256={_urlsafe(data)},{len(data)}\n" for n, data in files.items()]
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    file_name = f"{name}-{package.version}-{tag}-none-any.whl"
    return Wheel(name, package.version, file_name, archives.zip_files(files))


def _urlsafe(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
