"""torch.hub: state_dicts and files by their address, in torch's folder of caches."""

import hashlib
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from ..errors import FlambeauError
from ..io.checkpoint import load as _load
from .facts import torch_home

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_chosen: list[str] = []


def get_dir() -> str:
    """The folder of downloads: hub in torch's cache folder, or the folder of set_dir."""
    return _chosen[-1] if _chosen else str(Path(torch_home()) / "hub")


def set_dir(d: Any) -> None:
    """Set the folder of downloads."""
    _chosen.append(str(Path(d).expanduser()))


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download an address to a file. FlambeauError if its SHA-256 does not begin with hash_prefix.

    progress: accepted and ignored
    """
    path, digest = Path(dst).expanduser(), hashlib.sha256()
    part = path.with_name(f"{path.name}.partial")
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source, part.open("wb") as file:
        while block := source.read(1 << 20):
            digest.update(block)
            file.write(block)
    if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
        part.unlink()
        raise FlambeauError(f"download_url_to_file({url!r}): its SHA-256 does not begin with {hash_prefix!r}")
    part.replace(path)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """The state_dict of a file at an address, which is downloaded once.

    model_dir: the folder, get_dir() with "checkpoints" by default. check_hash: the file's name has the first
    digits of its SHA-256. progress: accepted and ignored. options: file_name, the name of the file in the
    folder; weights_only is accepted and ignored.
    """
    folder = Path(model_dir or str(Path(get_dir()) / "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (options.get("file_name") or Path(urlparse(url).path).name)
    if not path.exists():
        print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        match = HASH_REGEX.search(path.name) if check_hash else None
        download_url_to_file(url, str(path), match.group(1) if match else None, progress)
    return _load(path, map_location=map_location)


load_url = load_state_dict_from_url
