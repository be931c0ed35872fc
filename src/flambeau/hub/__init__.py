"""Downloads models from a hub or any URL as verified files, and loads their tensors by name."""

from pathlib import Path
from typing import Any

from ..device import DeviceLike
from .address import Progress, fetch, is_address
from .repository import fetch_repository

__all__ = ["download", "load"]


def download(
    source: str,
    file: str | None = None,
    *,
    revision: str | None = None,
    sha256: str | None = None,
    progress: Progress | None = None,
    folder: str | Path | None = None,
    endpoint: str | None = None,
    token: str | None = None,
    offline: bool = False,
) -> Path:
    """Download a file, or all files that a model needs from a repository; cached files are not downloaded
    again.

    source: "owner/name" of a hub's repository, or an address (https://...). file: one file of the repository.
    revision: its branch, tag or commit. sha256: the file's hash in hexadecimal, to check. progress: called
    with a name, the bytes received, and the total bytes (0 if unknown). folder: the cache. endpoint: the
    address of another hub. token: of an account. offline: use only the cache. An interrupted download is
    resumed. FlambeauError for a download that fails; ValueError for arguments that exclude each other.
    """
    if is_address(source):
        optional = {"file": file, "revision": revision, "endpoint": endpoint}
        wrong = next((name for name, value in optional.items() if value is not None), None)
        if wrong is not None:
            raise ValueError(f"hub.download({source!r}): {wrong}= applies to repositories: a URL is one file")
        return fetch(source, sha256, progress, folder=folder, token=token, offline=offline)
    options = {"revision": revision, "cache_dir": folder, "token": token, "endpoint": endpoint}
    return fetch_repository(source, file, options | {"local_files_only": offline}, sha256, progress)


def load(
    source: str,
    file: str | None = None,
    *,
    device: DeviceLike | None = None,
    revision: str | None = None,
    sha256: str | None = None,
    progress: Progress | None = None,
    folder: str | Path | None = None,
    endpoint: str | None = None,
    token: str | None = None,
    offline: bool = False,
) -> Any:
    """Download a file as `download` does, and load its tensors as fb.load does.

    source, file, revision, sha256, progress, folder, endpoint, token, offline: as in `download`
    FlambeauError for a download that fails, and for a damaged file.
    """
    # Imported here: `download` needs no tensors.
    from ..io.checkpoint import load as load_path

    path = download(
        source,
        file,
        revision=revision,
        sha256=sha256,
        progress=progress,
        folder=folder,
        endpoint=endpoint,
        token=token,
        offline=offline,
    )
    return load_path(path, device=device)
