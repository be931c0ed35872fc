"""Downloads a file from one of its mirrors and keeps only a complete, verified copy."""

import errno
import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flambeau.core.files import part_of
from flambeau.errors import FlambeauError

Progress = Callable[[str, int, int], None]  # file name, bytes received, total bytes (0 if unknown)

PIECE = 1 << 16
TIMEOUT = 10.0  # seconds without a byte
UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}


@dataclass(frozen=True)
class Content:
    """The expected content of a .gz file, unpacked: mirrors pack the same content differently."""

    size: int
    sha256: str


class DownloadError(FlambeauError):
    """No mirror delivered the file `path`; `reason` is the cause in a few words."""

    def __init__(self, path: Path, reason: str):
        super().__init__(f"download('{path}'): {reason}: check the network, or place the file there yourself")
        self.reason = reason


def download(urls: Sequence[str], path: Path, content: Content, progress: Progress | None = None) -> None:
    """Fetch a .gz file to `path` from the first mirror with the right content; DownloadError if none has
    it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part_of(path) as part:
            # fewer failures than mirrors: one succeeded
            failures = attempts(urls, part, content, progress)
            if len(failures) < len(urls):
                return os.replace(part, path)
    except OSError as error:
        raise DownloadError(path, f"the folder cannot be written ({error.strerror or error})") from None
    raise DownloadError(path, reason(failures))


def attempts(
    urls: Sequence[str], part: Path, content: Content, progress: Progress | None
) -> list[tuple[str, Exception]]:
    """Fetch a file from the first mirror that works. Returns the errors of those that failed before."""
    failures: list[tuple[str, Exception]] = []
    for url in urls:
        error = attempt(url, part, content, progress)
        if error is None:
            break
        failures.append((url, error))
    return failures


def attempt(url: str, part: Path, content: Content, progress: Progress | None) -> Exception | None:
    """Fetch a file from one mirror. Returns the reason of a failure, or None."""
    import http.client
    import urllib.error  # it imports http and email, which is slow and useless if all files are cached

    try:
        # the packed file is smaller than its content, so the size is also a limit of the download
        receive(url, part, content.size + PIECE, progress)
        check(part, content)
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # an HTTPError is the open response, too
        return error
    return None


def receive(url: str, part: Path, limit: int, progress: Progress | None) -> None:
    import urllib.request
    from urllib.parse import urlsplit

    request = urllib.request.Request(url, headers={"User-Agent": "flambeau"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response, part.open("wb") as file:
        total, done = int(response.headers.get("Content-Length") or 0), 0
        while piece := response.read(PIECE):
            file.write(piece)
            done += len(piece)
            if progress:
                progress(urlsplit(url).path.rpartition("/")[2], done, total)
            if done > limit:
                raise ValueError(f"more than the {limit:,} bytes expected")
    if done < total:
        raise ValueError(f"cut short after {done:,} of {total:,} bytes")


def check(part: Path, content: Content) -> None:
    digest, size = hashlib.sha256(), 0
    try:
        with gzip.open(part) as stream:
            # reading one byte past the size detects a longer file without unpacking a gzip bomb
            while size <= content.size and (piece := stream.read(PIECE)):
                digest.update(piece)
                size += len(piece)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError("the gzip data is incomplete") from None
    if size != content.size or digest.hexdigest() != content.sha256:
        raise ValueError("the checksum differs")


def reason(failures: list[tuple[str, Exception]]) -> str:
    from urllib.parse import urlsplit

    if all(is_offline(error) for _, error in failures):
        return "no network"
    return "; ".join(f"{urlsplit(url).netloc}: {describe(error)}" for url, error in failures)


def is_offline(error: Exception) -> bool:
    import socket

    cause = getattr(error, "reason", error)  # URLError wraps the socket's own error
    offline = isinstance(cause, socket.gaierror | TimeoutError | ConnectionError)
    return offline or getattr(cause, "errno", None) in UNREACHABLE


def describe(error: Exception) -> str:
    from urllib.error import HTTPError

    if isinstance(error, HTTPError):
        return f"HTTP {error.code}"
    cause = getattr(error, "reason", error)
    return str(getattr(cause, "strerror", None) or cause or type(error).__name__)
