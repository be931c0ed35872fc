"""Writes a hash of all bytes to the header of a .safetensors file, and checks it."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from .safetensors import pack

SEAL = "flambeau.sha256"  # the metadata key of the hash, which is computed with zeros in its own place
OPEN = "0" * 64
PATTERN = re.compile(rb'"flambeau\.sha256":"([0-9a-f]{64})"')


def add_checksum(tensors: Mapping[str, Any], raw: list[Any], metadata: dict[str, str]) -> list[Any]:
    """Return the parts of a file of tensors with their hash; of the tensors only dtype and shape are read.

    The parts are not concatenated: that holds the GIL, for two seconds with 1.5 GB, and would stall a
    training. Hashing and writing release it.
    """
    size, text, *parts = pack(tensors, raw, {SEAL: OPEN, **metadata})
    header = bytearray(size + text)
    start, end = _place(memoryview(header))
    digest = sha256(header)
    for part in parts:
        digest.update(part)
    # The hash covers the file with zeros in its own place.
    header[start:end] = digest.hexdigest().encode()
    return [header, *parts]


def damage(data: memoryview) -> str:
    """Describe the fault of a file with a checksum; "" for an undamaged one."""
    try:
        start, end = _place(data)
    except ValueError as e:
        return str(e)
    digest = sha256(data[:start])
    digest.update(OPEN.encode())
    digest.update(data[end:])
    return "" if digest.hexdigest().encode() == bytes(data[start:end]) else "its bytes do not match its hash"


def _place(data: memoryview) -> tuple[int, int]:
    """Return the position of the hash in a header; ValueError without one."""
    size = int.from_bytes(data[:8], "little")
    match = PATTERN.search(bytes(data[8 : 8 + min(size, len(data))]))
    if match is None:
        raise ValueError("it ends before its hash" if len(data) < 8 + size else "its header has no hash")
    return 8 + match.start(1), 8 + match.end(1)
