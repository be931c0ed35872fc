"""Reads an IDX file (MNIST's format, plain or gzip) as a NumPy array."""

from __future__ import annotations

import gzip
import io
import math
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from flambeau.core.files import read

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none

GZIP_MAGIC = b"\x1f\x8b"
UNSIGNED_BYTES = 0x08
LARGEST = 1 << 30  # limit of the unpacked bytes: a small .gz may unpack to any number of zeros


def read_idx(path: Path, ndim: int) -> np.ndarray:
    """Read an IDX file of unsigned bytes with `ndim` dimensions; ValueError if it is anything else."""
    try:
        raw = io.BytesIO(read(path))
        return parse(path, decompress(path, raw), ndim)
    except EOFError:
        raise damage_error(path, "its gzip data ends early") from None
    except (gzip.BadGzipFile, zlib.error):
        raise damage_error(path, "its gzip data is damaged") from None
    except OSError as error:
        raise damage_error(path, f"it cannot be read ({error.strerror or error})") from None


def decompress(path: Path, raw: BinaryIO) -> BinaryIO:
    if path.suffix != ".gz":
        return raw
    start = raw.read(2)
    raw.seek(0)
    if start != GZIP_MAGIC:
        raise damage_error(path, f"not a gzip file: it starts with 0x{start.hex()}, not 0x{GZIP_MAGIC.hex()}")
    return gzip.GzipFile(fileobj=raw)  # pyright: ignore[reportReturnType]


def parse(path: Path, stream: BinaryIO, ndim: int) -> np.ndarray:
    import numpy as np

    shape = header(path, stream, ndim)
    size = math.prod(shape)
    if size > LARGEST:
        raise damage_error(path, f"its header promises {size:,} bytes, more than {LARGEST:,}")
    body = read_at_most(stream, size + 1)
    if len(body) < size:
        raise damage_error(
            path, f"it ends after {len(body):,} of the {size:,} bytes that its header promises"
        )
    if len(body) > size:
        raise damage_error(path, f"it holds more than the {size:,} bytes that its header promises")
    return np.frombuffer(body, np.uint8).reshape(shape)


def header(path: Path, stream: BinaryIO, ndim: int) -> tuple[int, ...]:
    """Read the shape. The header is 0, 0, the type, the number of dims, then each size as a big-endian
    uint32."""
    magic = bytes([0, 0, UNSIGNED_BYTES, ndim])
    start = bytes(read_at_most(stream, 4))
    if start != magic:
        raise damage_error(path, f"wrong magic number: it starts with 0x{start.hex()}, not 0x{magic.hex()}")
    sizes = read_at_most(stream, 4 * ndim)
    if len(sizes) < 4 * ndim:
        raise damage_error(path, f"it ends inside its {4 + 4 * ndim}-byte header")
    return struct.unpack(f">{ndim}I", sizes)


def read_at_most(stream: BinaryIO, size: int) -> bytearray:
    """Read up to `size` bytes in pieces, so that a false header does not make us allocate that much."""
    body = bytearray()
    while len(body) < size and (piece := stream.read(min(size - len(body), 1 << 20))):
        body += piece
    return body


def damage_error(path: Path, problem: str) -> ValueError:
    return ValueError(f"mnist('{path}'): {problem}: delete it or replace it with a complete copy")
