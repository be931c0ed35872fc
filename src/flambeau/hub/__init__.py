"""Models of a hub, or of any address, into checked files on this disk, and tensors by name."""

from pathlib import Path
from typing import Any

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
    **places: Any,
) -> Path:
    """A file, or of a repository all that a model needs, on this disk: from the cache where it is there.

    source: "owner/name" of a hub's repository, or an address (https://...). file: one file of the repository.
    revision: its branch, tag or commit. sha256: what a file's bytes must hash to, in hexadecimal. progress:
    called with a name, bytes received, and bytes in all (0 where not known). places: `folder` of the cache,
    `endpoint` of another hub, `token`, and `offline=True`, which takes what is in the cache. What breaks off
    goes on where it stopped. FlambeauError says why there is no file; ValueError names arguments that make no
    sense together.
    """
    unknown = sorted(places.keys() - {"folder", "endpoint", "token", "offline"})
    if unknown:
        raise TypeError(f"hub.download({source!r}): got an unexpected keyword argument {unknown[0]!r}")
    if is_address(source):
        given = {"file": file, "revision": revision, "endpoint": places.pop("endpoint", None)}
        wrong = next((name for name, value in given.items() if value is not None), None)
        if wrong is not None:
            raise ValueError(
                f"hub.download({source!r}): {wrong}= is for repositories: an address is one file"
            )
        return fetch(source, sha256, progress, **places)
    return fetch_repository(source, file, revision=revision, sha256=sha256, progress=progress, **places)


def load(source: str, file: str | None = None, *, device: Any = None, **options: Any) -> Any:
    """What fb.load makes of what `download` brings: tensors by name.

    source, file, options: as `download` takes them. FlambeauError says why there is no file, or what is wrong
    with it.
    """
    from ..io.checkpoint import load as load_path

    return load_path(download(source, file, **options), device=device)
