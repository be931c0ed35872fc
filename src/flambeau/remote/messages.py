"""The protocol between a client and a server: a header and a payload, in both directions.

A message is HEADER (bytes of the payload, kind, id) and the payload. Integers are little-endian. Buffers,
kernels and programs have numbers that the client chooses; each is used once in a connection. The server
answers READ, WAIT, CHECK and TIMES by a message with the same id; it answers nothing else, unless an error
ends the connection (ERROR with id 0).
"""

import json
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..core.tree import is_dict
from ..errors import DeviceError, FlambeauError, KernelError, OutOfMemory

PROTOCOL = 1
PREFACE = b"flambeau"  # the first bytes of a client; those of a page are a request of HTTP
PORT = 7373
HEADER = struct.Struct("<QII")
PAIR = struct.Struct("<QQ")

# from clients
HELLO, PROOF = 1, 2  # JSON
ALLOC = 3  # id: buffer; ALLOCATED
WRITE = 4  # id: buffer; the bytes of its start
PATCH = 5  # id: buffer of Params; changed words, see `patch_of`
FREE = 6  # buffers
KERNEL = 7  # id: kernel; KERNEL_HEAD, label, WGSL
PROGRAM = 8  # id: program; commands that are kept
FORGET = 9  # programs
SUBMIT = 10  # commands, with REPLAY; id: a request, or 0 for no answer
READ = 11  # id: request; pairs (buffer, bytes)
WAIT = 12  # id: request
CHECK = 13  # id: request; kernels
TIMES = 14  # id: request; commands
# from the server
CHALLENGE, WELCOME = 32, 33  # JSON
DATA = 34  # the bytes that READ asks for, one value after the other
DONE = 35  # JSON, or nothing
ERROR = 36  # JSON: kind and text; id 0 ends the connection
ALIVE = 37  # a sign of life while the server computes

ALLOCATED = struct.Struct("<QI")  # bytes, and whether it is a buffer of Params
KERNEL_HEAD = struct.Struct("<IIIII")  # inputs, outputs, faults, whether it is proven, bytes of the label
REPLAY, REPLAY_WORDS = 3, 2  # a command beside those of core/commands.py: (REPLAY, program)

SMALL = 1 << 12  # the most bytes of HELLO, PROOF, ALLOC, WAIT
MOST = 1 << 26  # the most bytes of other messages without data
UNIFORM_MOST = 1 << 22  # the most bytes of a buffer of Params
TEXT_MOST = 1 << 22  # the most bytes of a kernel's text

ERRORS: dict[str, type[FlambeauError]] = {
    kind.__name__: kind for kind in (KernelError, OutOfMemory, DeviceError, FlambeauError)
}


class Rejected(DeviceError):
    """A message that breaks the protocol or a limit. The server ends the connection with its text."""


class Received(NamedTuple):
    """A message that was received."""

    kind: int
    id: int
    payload: Any


def encode(kind: int, id: int, payload: Any = b"") -> bytes:
    """Encode a message with a short payload."""
    return HEADER.pack(len(payload), kind, id) + payload


def encode_json(kind: int, id: int, value: Any) -> bytes:
    """Encode a message whose payload is JSON."""
    return encode(kind, id, json.dumps(value).encode())


def encode_error(id: int, error: BaseException) -> bytes:
    """Encode an error as an answer, with the nearest class that the client knows."""
    kind = next(
        (name for c in type(error).__mro__ for name, error_class in ERRORS.items() if c is error_class),
        "DeviceError",
    )
    text = str(error) if id else str(error)[: SMALL // 8]  # with room for characters that JSON escapes
    return encode_json(ERROR, id, {"kind": kind, "text": text})


def read_json(payload: Any) -> dict[str, Any]:
    """Decode a payload of JSON; Rejected if it is not an object."""
    try:
        value: Any = json.loads(bytes(payload))
    except (ValueError, RecursionError):
        value = None
    if not is_dict(value):
        raise Rejected(
            "remote: a message is not JSON: the other side is not Flambeau, or the message is damaged"
        )
    return value


def error_of(payload: Any) -> FlambeauError:
    """The exception of an ERROR message."""
    value = read_json(payload)
    return ERRORS.get(str(value.get("kind")), DeviceError)(str(value.get("text")))


def words_of(payload: Any) -> "array[int]":
    """The 32-bit words of a payload; Rejected if it ends inside one."""
    if len(payload) % 4:
        raise Rejected(f"remote: {len(payload):,} bytes are not a multiple of 4 bytes")
    words = array("I")
    words.frombytes(payload)
    return words if sys.byteorder == "little" else _swap_bytes(words)


def bytes_of(words: Iterable[int]) -> bytes:
    """Encode 32-bit words."""
    out = array("I", words)
    return (out if sys.byteorder == "little" else _swap_bytes(out)).tobytes()


def _swap_bytes(words: "array[int]") -> "array[int]":
    words.byteswap()
    return words


def pairs_of(payload: Any) -> list[tuple[int, int]]:
    """The pairs of 64-bit integers of a payload; Rejected if it ends inside one."""
    if len(payload) % PAIR.size:
        raise Rejected(f"remote: {len(payload):,} bytes are not pairs of 64-bit integers")
    return list(PAIR.iter_unpack(payload))


# --- changed words of Params ---

BLOCK = 64  # words that are compared at once: those of one kernel


def patch_of(before: bytes, now: bytes) -> bytes | None:
    """Encode the words that differ: (value, count, positions) for each value. None if all are shorter."""
    if len(before) != len(now):
        return None
    changed: dict[int, list[int]] = {}
    step = 4 * BLOCK
    for start in range(0, len(now), step):
        if (new := now[start : start + step]) != (old := before[start : start + step]):
            pairs = enumerate(zip(words_of(old), words_of(new), strict=True), start // 4)
            for i, value in [(i, b) for i, (a, b) in pairs if a != b]:
                changed.setdefault(value, []).append(i)
    words: list[int] = []
    for value, places in changed.items():
        words += (value, len(places), *places)
    return bytes_of(words) if 4 * len(words) < len(now) else None


def apply_patch(words: "array[int]", content: bytearray) -> None:
    """Change the words of a content as `patch_of` says; Rejected if it names words that do not exist."""
    i, n, size = 0, len(words), len(content)
    while i < n:
        if i + 2 > n or (end := i + 2 + words[i + 1]) > n:
            raise Rejected("remote: a patch ends inside a value")
        value = words[i].to_bytes(4, "little")
        for start in words[i + 2 : end]:
            if 4 * start + 4 > size:
                raise Rejected(f"remote: a patch names word {start:,} of a buffer of {size:,} bytes")
            content[4 * start : 4 * start + 4] = value
        i = end


def join(parts: Sequence[Any]) -> list[int]:
    """Concatenate lists of commands; programs (with `number`) are replayed by their numbers."""
    words: list[int] = []
    for part in parts:
        number = getattr(part, "number", None)
        words += part if number is None else (REPLAY, number)
    return words
