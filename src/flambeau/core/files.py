"""A path into a regular file's bytes, or a view of them that is read where it is looked at; bytes into a file
that is whole or not there, whoever is killed."""

import errno
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, which lets nobody remove an open file
    fcntl = None

LEFT = re.compile(r"\..+\.[0-9a-f]{8}\.flambeau")  # what is being written, beside what it will be
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
DIGEST = 32  # bytes


def read(path: Path) -> bytes:
    """The bytes of a regular file; OSError for anything else, at once: a FIFO has no writer, /dev/zero no
    end."""
    with _opened(path) as f:
        return f.read()


@contextmanager
def mapped(path: Path) -> Iterator[memoryview]:
    """A view of a regular file: what is looked at is read, and nothing else; OSError as `read`.

    It ends with the block, unless parts of it are still held: they stay as long as they are.
    """
    from mmap import ACCESS_READ, mmap

    with _opened(path) as f:
        size = os.fstat(f.fileno()).st_size
        try:
            held = mmap(f.fileno(), size, access=ACCESS_READ) if size else None
        except OSError:  # a file system that maps nothing, such as a page's
            held = None
        view = memoryview(f.read() if held is None else held)
    try:
        yield view
    finally:
        with suppress(BufferError):
            view.release()
            if held is not None:
                held.close()


def _opened(path: Path) -> BinaryIO:
    """A regular file, open for reading; OSError for anything else."""
    _regular(os.stat(path))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    f = os.fdopen(os.open(path, flags), "rb")
    try:
        _regular(os.fstat(f.fileno()))  # it may be another one by now
    except BaseException:
        f.close()
        raise
    return f


def _regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` write a file, so that others find all of it or what was there before; OSError where that
    can't be."""
    with part_of(path) as part:
        write(part)
        os.replace(part, path)


@contextmanager
def part_of(path: Path, folder: bool = False) -> Iterator[Path]:
    """A new file or folder beside `path`, of the mode that files get here, to be put in its place.

    What is left of it goes at the end. A process that is killed leaves it behind: the next one that writes in
    this folder removes it, which it knows by the lock that nobody holds any more.
    """
    sweep(path.parent)
    while True:
        part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.flambeau")
        held = _made(part, folder)
        if held is None or os.fstat(held).st_nlink:  # else one who swept was quicker than the lock
            break
        os.close(held)
    try:
        yield part
    finally:
        _remove(part)
        if held is not None:
            os.close(held)


def sweep(folder: Path) -> None:
    """Remove what dead processes were writing in a folder."""
    with suppress(OSError):
        for left in [entry for entry in os.scandir(folder) if LEFT.fullmatch(entry.name)]:
            with suppress(OSError):  # it is being written, or another process sweeps, too
                _remove_unheld(Path(left.path))


def _remove_unheld(left: Path) -> None:
    """Remove what a process was writing; OSError where it still is."""
    if fcntl is None:
        return left.unlink()
    held = os.open(left, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(left)
    finally:
        os.close(held)


def _made(part: Path, folder: bool) -> int | None:
    """A new file or folder, locked for as long as the number that is returned is open."""
    if folder:
        part.mkdir()
        if fcntl is None:
            return None
        held = os.open(part, os.O_RDONLY)
    else:
        held = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    if fcntl is None:  # open files can't be replaced there
        os.close(held)
        return None
    with suppress(OSError):  # a file system without locks: nobody removes what lies there
        fcntl.flock(held, fcntl.LOCK_SH)
    return held


def _remove(part: Path) -> None:
    with suppress(OSError):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def write_checked(path: Path, data: bytes) -> None:
    """Write bytes to a cache, and make its folder, so that `read_checked` knows whether they are damaged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda part: part.write_bytes(sha256(data).digest() + data))


def read_checked(path: Path) -> bytes | None:
    """What `write_checked` wrote; None where it is not there, or damaged."""
    with suppress(OSError):
        data = read(path)
        if sha256(data[DIGEST:]).digest() == data[:DIGEST]:
            return data[DIGEST:]
    return None


HERE = Path(__file__).resolve().parents[1]


def template_folder() -> Path:
    """wgsl/ at the top of the repository in a checkout, beside the package's modules in a wheel."""
    checkout = HERE.parents[1] / "wgsl"
    return checkout if (checkout / "kernel.wgsl").is_file() else HERE / "wgsl"


def web_file(name: str) -> Path:
    """A file of web/, at the top of the repository in a checkout, beside the package's modules in a wheel."""
    here = Path(__file__).resolve()
    checkout = here.parents[3] / "web" / name
    return checkout if checkout.is_file() else here.parents[1] / "web" / name


def cache_folder(name: str) -> Path:
    """The folder for what is kept: `FLAMBEAU_CACHE`, else the platform's cache folder, then `name`."""
    if own := os.environ.get("FLAMBEAU_CACHE"):
        return Path(own).expanduser() / name
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "flambeau" / name
