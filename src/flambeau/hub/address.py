"""Downloads a file to the cache. A file in the cache is complete and verified.

When a connection breaks, the received part is kept with the server's ETag. The next attempt requests the
rest, and starts again if the file has changed.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ..core.files import cache_folder, fcntl, write_whole
from ..errors import FlambeauError

Progress = Callable[[str, int, int], None]

PIECE = 1 << 20  # bytes read at once
TIMEOUT = 10.0  # seconds without a byte
ATTEMPTS = 5  # the most consecutive attempts without progress
PAUSE = 0.2  # seconds before the second attempt; doubled for each further one
SAFE = "%/:=&?~#+!$,;'@()*[]"  # characters that stay in an address; others are percent-encoded
LARGEST = 1 << 37  # the most bytes of a file whose size is not announced


class BadResponse(ValueError):
    """A server's response contradicts its headers, or the request."""


def is_address(source: str) -> bool:
    return "://" in source


def fetch(
    url: str,
    sha256: str | None = None,
    progress: Progress | None = None,
    *,
    folder: Any = None,
    token: str | None = None,
    offline: bool = False,
) -> Path:
    """Return the path of a file's copy in the cache; FlambeauError if the download fails."""
    call, parts = f"hub.download({url!r})", urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.netloc:
        raise ValueError(f"{call}: the URL must begin with https:// or http://")
    if sha256 is not None and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise ValueError(f"{call}: sha256={sha256!r} is not a hash: pass 64 hexadecimal digits")
    root = Path(folder).expanduser() if folder is not None else cache_folder("hub")
    name = re.sub(r"[^\w.-]", "_", unquote(parts.path.rpartition("/")[2]))[:100].lstrip(".") or "file"
    # The hash keeps files of equal names apart; the name keeps the suffix, from which loaders see the
    # format.
    path = root / "addresses" / hashlib.sha256(url.encode()).hexdigest()[:16] / name
    if path.is_file() and (sha256 is None or digest_of(path) == sha256.lower()):
        return path
    if offline:
        rule = "it is not in the cache, and offline=True contacts no server: download it while online"
        raise FlambeauError(f"{call}: {rule}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with lock_part(path.with_name(f"{name}.part")) as part:
            if not path.is_file() or sha256 is not None:  # another process may have downloaded it meanwhile
                Transfer(url, part, name, token, progress).run()
                check(part, sha256)
                os.replace(part, path)
                etag_path(part).unlink(missing_ok=True)
    except (OSError, HTTPException, BadResponse) as e:
        raise FlambeauError(f"{call}: {reason(e, path)}") from None
    return path


def reason(error: Exception, path: Path) -> str:
    """Return the text of an error, with advice."""
    part = path.with_name(f"{path.name}.part")
    received = part.stat().st_size if part.is_file() else 0
    later = f"call it again: the download resumes after {received:,} bytes" if received else "call it again"
    if isinstance(error, BadResponse):
        return f"{error}: {later}"
    if isinstance(error, HTTPError):
        cure = {401: "pass token=", 403: "pass token=", 404: "check the URL", 410: "check the URL"}
        return f"the server responded {error.code} {error.reason}: {cure.get(error.code, later)}"
    if isinstance(error, URLError | HTTPException | ConnectionError | TimeoutError):
        why = getattr(error, "reason", None) or error
        return f"no answer, and no copy in the cache ({why}): check the network, then {later}"
    return (
        f"the cache can't be written: {error.strerror if isinstance(error, OSError) else error}: pass folder="
    )


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def check(part: Path, sha256: str | None) -> None:
    """Remove the file and raise BadResponse if its hash differs."""
    if sha256 is None:
        return
    actual = digest_of(part)
    if actual != sha256.lower():
        part.unlink()
        raise BadResponse(f"its SHA-256 is {actual[:16]}... and not {sha256[:16].lower()}...")


@contextmanager
def lock_part(part: Path) -> Generator[Path]:
    """Lock a partial file against other processes. Yields its path."""
    # A separate file: the partial file itself is renamed at the end. Windows has no flock and no lock here.
    with open(part.with_name(f"{part.name}.lock"), "wb") as f:
        if fcntl is not None:
            fcntl.flock(f, fcntl.LOCK_EX)
        yield part


def etag_path(part: Path) -> Path:
    """Return the path of the file with the ETag of a partial file."""
    return part.with_name(f"{part.name}.json")


class Redirects(HTTPRedirectHandler):
    """Follows redirects to http and https only, and from https only to https."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        new = urlsplit(newurl).scheme
        if new not in ("http", "https") or (new == "http" and req.type == "https"):
            raise BadResponse(f"the server redirects from {req.type} to {new or 'nowhere'}")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        old_url: str = req.full_url
        if request is not None and urlsplit(newurl).netloc != urlsplit(old_url).netloc:
            request.remove_header("Authorization")  # a token must not be sent to another server
        return request


class Transfer:
    """A download, with repeated attempts until the file is complete."""

    def __init__(self, url: str, part: Path, name: str, token: str | None, progress: Progress | None):
        self.url, self.part, self.name, self.token, self.progress = url, part, name, token, progress

    def run(self) -> None:
        """Download until the partial file is complete; OSError, HTTPException or BadResponse if that
        fails."""
        failed = 0
        while True:
            before = self.received()
            try:
                return self.attempt(before)
            except HTTPError as e:
                e.close()  # the error is also the open response
                # 416, range not satisfiable
                if e.code == 416 and before:  # the partial file does not belong to the current version
                    self.discard()
                # Errors of the request are final; those of the server may pass.
                elif e.code < 500:
                    raise
                failed += 1
                error: Exception = e
            except (OSError, HTTPException) as e:
                failed = 1 if self.received() > before else failed + 1
                error = e
            # A server that refuses the connection will not answer soon: two attempts are enough.
            if failed >= ATTEMPTS or (isinstance(getattr(error, "reason", None), OSError) and failed > 1):
                raise error
            time.sleep(PAUSE * 2 ** (failed - 1))

    def received(self) -> int:
        return self.part.stat().st_size if self.part.is_file() else 0

    def discard(self) -> None:
        for path in (self.part, etag_path(self.part)):
            path.unlink(missing_ok=True)

    def etag(self) -> str:
        """Return the ETag with which the partial file was received, or ""."""
        with suppress(OSError, ValueError, AttributeError):
            return str(json.loads(etag_path(self.part).read_text(encoding="utf-8")).get("mark", ""))
        return ""

    def attempt(self, begin: int) -> None:
        """Receive the file, or its rest if the partial file has an ETag."""
        etag = self.etag() if begin else ""
        begin = begin if etag else 0
        headers = {"User-Agent": "flambeau", "Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        # With If-Range the server sends the rest only if the file still has this ETag, else the complete
        # file with 200.
        headers |= {"Range": f"bytes={begin}-", "If-Range": etag} if begin else {}
        opener = build_opener(Redirects())
        with opener.open(Request(quote(self.url, safe=SAFE), headers=headers), timeout=TIMEOUT) as response:
            encoding = response.headers.get("Content-Encoding", "identity")
            if encoding not in ("identity", ""):
                raise BadResponse(f"the server sent it compressed ({encoding[:20]}), which was not requested")
            begin, total = span(response, begin)
            new = response.headers.get("ETag") or ""
            new = "" if new.startswith("W/") else new  # a weak ETag does not guarantee equal bytes
            write_whole(etag_path(self.part), lambda p: p.write_text(json.dumps({"mark": new})))
            self.receive(response, begin, total)

    def receive(self, response: Any, begin: int, total: int) -> None:
        done = begin
        with open(self.part, "r+b" if begin else "wb") as f:
            f.truncate(begin)
            f.seek(begin)
            while piece := response.read1(PIECE):
                f.write(piece)
                done += len(piece)
                if done > (total or LARGEST):
                    raise BadResponse(f"the server sent more than {total or LARGEST:,} bytes")
                if self.progress is not None:
                    self.progress(self.name, done, total)
        if done < total:
            raise ConnectionError(f"the connection ended after {done:,} of {total:,} bytes")


def span(response: Any, begin: int) -> tuple[int, int]:
    """Return (the offset of the response's first byte, the size of the file or 0); BadResponse if it does not
    match the request."""
    length = response.headers.get("Content-Length") or "0"
    length = int(length) if length.isdecimal() else 0
    # 200: the complete file, although a part was requested
    if response.status != 206:
        return 0, length
    match = re.fullmatch(
        r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", response.headers.get("Content-Range") or ""
    )
    # Content-Range: bytes FIRST-LAST/SIZE, both ends inclusive.
    if not match or int(match[1]) != begin or int(match[2]) + 1 != int(match[3]):
        raise BadResponse(f"the request was for bytes from {begin:,}, but the server sent others")
    return begin, int(match[3])
