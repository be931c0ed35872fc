"""The messages between a training and a tab: a head in JSON, then the bytes of arrays."""

import json
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.tree import is_dict
from ..errors import FlambeauError

FORMAT = 1  # of the messages; web/join/page.js has the same number
HEAD = 1 << 14  # most bytes of a head
KINDS = ("hello", "result", "failed", "bye")  # kinds of messages that a tab sends
TEXT = 300  # most characters of a text that a tab sends
REFUSED, OUTDATED, FULL, DISMISSED, ENDED = 4001, 4002, 4003, 4004, 4000  # codes of a close


class BadMessage(FlambeauError):
    """A message that a tab must not send."""


class TabMessage(NamedTuple):
    """A message: its header, and the bytes after it."""

    kind: str
    head: dict[str, Any]
    data: memoryview


def encode(kind: str, data: Sequence[Any] = (), **head: Any) -> list[Any]:
    """The parts of a message. data: objects with bytes."""
    text = json.dumps({"kind": kind, **head}, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % 8)  # arrays begin at multiples of 8 bytes
    return [struct.pack("<I", len(text)) + text, *data]


def decode(raw: Any) -> TabMessage:
    """Read a tab's message; BadMessage if it is none."""
    if not isinstance(raw, bytes):
        raise BadMessage("tab: expected a message of bytes, got text")
    if len(raw) < 4:
        raise BadMessage(f"tab: a message of {len(raw)} bytes")
    (size,) = struct.unpack_from("<I", raw)
    if size > min(HEAD, len(raw) - 4):
        raise BadMessage(f"tab: a header of {size} bytes in a message of {len(raw)}")
    try:
        head = json.loads(raw[4 : 4 + size])
    except (ValueError, RecursionError):
        raise BadMessage("tab: the header is not JSON") from None
    if not is_dict(head) or head.get("kind") not in KINDS:
        raise BadMessage("tab: a message of an unknown kind")
    return TabMessage(head["kind"], head, memoryview(raw)[4 + size :])


def number_in(head: dict[str, Any], name: str, most: int) -> int:
    """A field of a head that must be an integer from 0 to `most`."""
    value = head.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise BadMessage(f"tab: {name} must be an integer from 0 to {most}")
    return value


def text_in(head: dict[str, Any], name: str) -> str:
    """A field of a head as a line that a terminal can show; "" if it is missing."""
    value = head.get(name, "")
    if not isinstance(value, str):
        raise BadMessage(f"tab: {name} must be a string")
    return "".join(c if c.isprintable() else "?" for c in value[:TEXT])
