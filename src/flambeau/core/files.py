"""Read regular files, as bytes or memory-mapped; write files atomically, even if the process is killed."""

import errno
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where an open file can't be removed
    fcntl = None

LEFT = re.compile(r"\..+\.[0-9a-f]{8}\.flambeau")  # name of a file that is being written
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
DIGEST = 32  # bytes


def read(path: Path) -> bytes:
    """The bytes of a regular file. OSError at once for anything else: a FIFO may have no writer, and
    /dev/zero has no end."""
    with _open(path) as f:
        return f.read()


@contextmanager
def map_file(path: Path) -> Generator[memoryview]:
    """A memory-mapped view of a regular file; OSError as for `read`.

    It is closed at the end of the block, or when the last slice of it is released.
    """
    from mmap import ACCESS_READ, mmap

    with _open(path) as f:
        size = os.fstat(f.fileno()).st_size
        try:
            mapping = mmap(f.fileno(), size, access=ACCESS_READ) if size else None
        except OSError:  # a file system without mmap, such as a browser's
            mapping = None
        view = memoryview(f.read() if mapping is None else mapping)
    try:
        yield view
    finally:
        with suppress(BufferError):
            view.release()
            if mapping is not None:
                mapping.close()


def _open(path: Path) -> BinaryIO:
    """Open a regular file for reading; OSError for anything else."""
    _check_regular(os.stat(path))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    f = os.fdopen(os.open(path, flags), "rb")
    try:
        _check_regular(os.fstat(f.fileno()))  # the path may name another file by now
    except BaseException:
        f.close()
        raise
    return f


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: others see the new file or the old one. `write` writes it to the path that it
    is passed. OSError if that fails."""
    with part_of(path) as part:
        write(part)
        os.replace(part, path)


@contextmanager
def part_of(path: Path, folder: bool = False) -> Generator[Path]:
    """A new file or folder beside `path`, with the usual mode of files, for the caller to rename.

    The end of the block removes the rest of it. If the process is killed before, the next writer in this
    folder removes it: the lock on it is no longer held.
    """
    sweep(path.parent)
    while True:
        part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.flambeau")
        lock = _create(part, folder)
        if lock is None or os.fstat(lock).st_nlink:  # else another process removed it before it was locked
            break
        os.close(lock)
    try:
        yield part
    finally:
        _remove(part)
        if lock is not None:
            os.close(lock)


def sweep(folder: Path) -> None:
    """Remove the partial files of dead processes from a folder."""
    with suppress(OSError):
        for entry in [entry for entry in os.scandir(folder) if LEFT.fullmatch(entry.name)]:
            with suppress(OSError):  # it is being written, or another process removes it
                _remove_unlocked(Path(entry.path))


def _remove_unlocked(part: Path) -> None:
    """Remove a partial file; OSError if a process still writes it."""
    if fcntl is None:
        return part.unlink()
    lock = os.open(part, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(part)
    finally:
        os.close(lock)


def _create(part: Path, folder: bool) -> int | None:
    """Create a file or folder and lock it. Returns the open descriptor that holds the lock."""
    if folder:
        part.mkdir()
        if fcntl is None:
            return None
        lock = os.open(part, os.O_RDONLY)
    else:
        lock = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    if fcntl is None:  # Windows can't replace open files
        os.close(lock)
        return None
    with suppress(OSError):  # a file system without locks: no process removes partial files there
        fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def _remove(part: Path) -> None:
    with suppress(OSError):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def write_checked(path: Path, data: bytes) -> None:
    """Write bytes with their checksum for `read_checked`. Creates the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda part: part.write_bytes(sha256(data).digest() + data))


def read_checked(path: Path) -> bytes | None:
    """The bytes that `write_checked` wrote; None if the file is missing or damaged."""
    with suppress(OSError):
        data = read(path)
        if sha256(data[DIGEST:]).digest() == data[:DIGEST]:
            return data[DIGEST:]
    return None


HERE = Path(__file__).resolve().parents[1]


def template_folder() -> Path:
    """The folder wgsl/: at the top of a checkout, inside the package in a wheel."""
    checkout = HERE.parents[1] / "wgsl"
    return checkout if (checkout / "kernel.wgsl").is_file() else HERE / "wgsl"


# The package's folder as the file names of its code objects have it: in a page these are "flambeau/...".
CODE = str(Path(template_folder.__code__.co_filename).parents[1]) + os.sep


def web_file(name: str) -> Path:
    """A file of web/: at the top of a checkout, inside the package in a wheel."""
    checkout = HERE.parents[1] / "web" / name
    return checkout if checkout.is_file() else HERE / "web" / name


def cache_folder(name: str) -> Path:
    """The cache folder `name`, in `FLAMBEAU_CACHE` or the platform's cache folder."""
    if setting := os.environ.get("FLAMBEAU_CACHE"):
        return Path(setting).expanduser() / name
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "flambeau" / name
