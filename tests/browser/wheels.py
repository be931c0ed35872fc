"""The wheels that micropip in a page needs, from the package registry or the cache, as a package index."""

import hashlib
import subprocess
import sys
from pathlib import Path

from flambeau.core.files import cache_folder
from flambeau.site.archives import installed_files, zip_files
from flambeau.site.lock import wheel

# What pip would otherwise choose for the Python that runs the tests is too old for Pyodide's.
PURE = ["--no-deps", "--python-version=3.14", "--only-binary=:all:", "--platform=any", "--implementation=py"]
QUIET = ["--quiet", "--disable-pip-version-check", "--retries=1", "--timeout=20"]
WANTED = ("micropip==0.11.1", "packaging==26.3", "jinja2==3.1.6")


class Unavailable(Exception):
    """A wheel is neither in the cache nor to be had; the text says why."""


def downloaded() -> list[Path]:
    """The wheels of WANTED, of which those that are missing in the cache are downloaded."""
    home = cache_folder("wheels")
    home.mkdir(parents=True, exist_ok=True)
    missing = [w for w in WANTED if not found(home, w)]
    if missing:
        call = [sys.executable, "-m", "pip", "download", *QUIET, *PURE, f"--dest={home}", *missing]
        done = subprocess.run(call, capture_output=True, text=True)
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        if done.returncode:
            raise Unavailable((errors or ["pip said nothing"])[-1])
    return [wheel for w in WANTED for wheel in found(home, w)]


def found(home: Path, wanted: str) -> list[Path]:
    return list(home.glob(f"{wanted.replace('==', '-')}-*.whl"))


def pure(name: str, folder: Path) -> Path:
    """A wheel of an installed distribution without its compiled modules, as the site takes it."""
    made = wheel(name, zip_files(installed_files(name)))
    (folder / made.file_name).write_bytes(made.data)
    return folder / made.file_name


def write_index(folder: Path, wheels: list[Path]) -> None:
    """A simple index of wheels that lie in ../wheels, as static files (PEP 503)."""
    for path in wheels:
        project = folder / path.name.split("-")[0]
        project.mkdir(parents=True)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        link = f'<a href="../../wheels/{path.name}#sha256={sha256}">{path.name}</a>'
        (project / "index.html").write_text(f"<!doctype html><title>{project.name}</title>\n{link}\n")
