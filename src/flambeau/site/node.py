"""Turns files into what a script of web/ makes of them under Node.js; what was made once is in the cache."""

import hashlib
import subprocess
import tempfile
from pathlib import Path

from ..cache import cache_folder
from ..errors import FlambeauError
from . import pyodide


def made(script: Path, argument: str, salt: str, files: dict[str, bytes]) -> dict[str, bytes] | None:
    """What `node script argument [in out]...` writes for each file; None where there is no Node.js.

    `salt` says what the result depends on beside the script and the file.
    """
    home = cache_folder(script.stem)
    key = salt.encode() + script.read_bytes()
    kept = {name: home / hashlib.sha256(key + data).hexdigest()[:32] for name, data in files.items()}
    missing = {name: kept[name] for name in files if not kept[name].is_file()}
    node = pyodide.program("node")
    if missing and not node:
        return None
    if missing:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            pairs = []
            for i, (name, target) in enumerate(missing.items()):
                source = Path(scratch) / f"{i}.in"
                source.write_bytes(files[name])
                pairs += [str(source), str(Path(scratch) / target.name)]
            run([str(node), str(script), argument, *pairs])
            for target in set(missing.values()):  # equal files have one
                (Path(scratch) / target.name).replace(target)
    return {name: path.read_bytes() for name, path in kept.items()}


def run(call: list[str]) -> None:
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr or done.stdout).strip()[-500:]
        raise FlambeauError(f"web: {Path(call[1]).name} failed: {why}")
