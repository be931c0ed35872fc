"""Downloads files of a hub's repository to huggingface_hub's cache, and verifies their hashes."""

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from ..core.files import cache_folder, write_checked
from ..errors import FlambeauError
from .address import Progress, digest_of

# The files that a model needs.
MODEL = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja", "tokenizer*")
OLDER = ("*.bin", "*.pt", "*.pth")  # weights of repositories without .safetensors
HASH = re.compile("[0-9a-f]{64}")
REASONS = {  # errors of huggingface_hub by name, with the text to show
    "GatedRepoError": "it is gated: accept its terms on its page and pass token=",
    "RepositoryNotFoundError": "no such repository, or it is private: check the name, or pass token=",
    "RevisionNotFoundError": "the repository has no such revision: check revision=",
    "RemoteEntryNotFoundError": "the repository has no such file: check its name",
    "EntryNotFoundError": "the repository has no such file: check its name",
    "LocalEntryNotFoundError": "no answer, and no copy in the cache: check the network, or offline=",
    "OfflineModeIsEnabled": "no copy in the cache, and HF_HUB_OFFLINE is set: unset it",
    "HFValidationError": "is not a repository name: pass 'owner/name', or a URL with https://",
}


def fetch_repository(
    name: str,
    file: str | None,
    options: dict[str, Any],
    sha256: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Return the path of a file, or of a model's folder; FlambeauError if the download fails.

    options: arguments of huggingface_hub's functions.
    """
    call = f"hub.download({name!r}{'' if file is None else f', {file!r}'})"
    if sha256 is not None and file is None:
        raise ValueError(f"{call}: sha256= is the hash of one file: pass file=")
    try:
        hub: Any = import_module("huggingface_hub")
    except ImportError:
        rule = "needs huggingface_hub: pip install 'flambeau[hub]', or pass a URL with https://"
        raise FlambeauError(f"{call}: {rule}") from None
    if progress is not None:
        options = options | {"tqdm_class": _bar(progress)}
    try:
        if file is not None:
            path = Path(hub.hf_hub_download(name, file, **options))
            check(path, sha256, call)
            return path
        return _model(hub.snapshot_download, name, options, call)
    except FlambeauError:
        raise
    except Exception as e:  # errors of huggingface_hub, httpx and the disk
        raise FlambeauError(f"{call}: {_reason(e)}") from None


def _model(snapshot: Any, name: str, options: dict[str, Any], call: str) -> Path:
    """Download all files of a model: its .safetensors, or else the older formats."""
    folder = Path(snapshot(name, allow_patterns=list(MODEL), **options))
    if not any(folder.rglob("*.safetensors")):
        folder = Path(snapshot(name, allow_patterns=[*MODEL, *OLDER], **options))
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        check(path, None, call)
    return folder


def check(path: Path, sha256: str | None, call: str) -> None:
    """Remove a file and raise FlambeauError if its hash differs from `sha256`, or from its name in the cache.

    The cache names large files by their hashes. A file is hashed once.
    """
    # The cache has links to files that are named by their SHA-256, or for small files by a Git hash of 40
    # digits.
    blob = path.resolve()
    expected = sha256.lower() if sha256 is not None else blob.name
    if not HASH.fullmatch(expected):
        return
    stat = blob.stat()
    # An empty file says that this hash was verified for a file of this size and time.
    mark = cache_folder("hub") / "checked" / f"{expected}-{stat.st_size}-{stat.st_mtime_ns}"
    if mark.exists():
        return
    actual = digest_of(blob)
    if actual != expected:
        for damaged in {path, blob}:
            damaged.unlink()
        rule = f"its SHA-256 is {actual[:16]}... and not {expected[:16]}...: call it again, or check sha256="
        raise FlambeauError(f"{call}: {rule}")
    write_checked(mark, b"")


def _reason(error: Exception) -> str:
    # By name: huggingface_hub moved its errors between modules, and has subclasses of them.
    for kind in type(error).__mro__:
        if kind.__name__ in REASONS:
            return REASONS[kind.__name__]
    message = " ".join(str(error).split())[:200]
    if "Consistency check failed" in message:
        return "the size differs from the one announced: call it again to resume"
    if (
        "Connect" in type(error).__name__
        or "Protocol" in type(error).__name__
        or "Timeout" in type(error).__name__
    ):
        return f"no answer ({message}): check the network, then call it again to resume"
    return f"{type(error).__name__}: {message}: call it again"


def _bar(progress: Progress) -> Any:
    """Return a subclass of tqdm's bar that calls `progress` and prints nothing."""
    from tqdm.auto import tqdm

    base: type[Any] = tqdm

    class ProgressBar(base):
        def __init__(self, *args: Any, **options: Any):
            options.pop("name", None)
            options["file"] = open(os.devnull, "w")  # noqa: SIM115 - as it lives
            parent: Any = super()
            parent.__init__(*args, **options)

        def update(self, n: float | None = 1) -> bool | None:
            parent: Any = super()
            is_drawn: bool | None = parent.update(n)
            progress(str(self.desc or ""), int(self.n), int(self.total or 0))
            return is_drawn

    return ProgressBar
