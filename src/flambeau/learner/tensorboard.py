"""Writes TensorBoard's event files: records with checksums, each a protocol buffer.

It encodes the part of tensorflow/core/util/event.proto that scalars need, without a dependency.
"""

import os
import socket
import struct
import time
from functools import cache
from pathlib import Path

POLYNOMIAL = 0x82F63B78  # of CRC-32C (Castagnoli), bits reversed
MASK = 0xA282EAD8  # TensorFlow masks checksums, because records may contain checksums themselves
START = 1  # SessionLog.SessionStatus.START
DOUBLE, BYTES, FLOAT, VARINT = 1, 2, 5, 0  # protobuf's wire types: 64 bits, length-delimited, 32 bits, varint


@cache
def table() -> tuple[int, ...]:
    """Return the table of CRC-32C: the checksum of each single byte."""

    def checksum(crc: int) -> int:
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
        return crc

    return tuple(checksum(byte) for byte in range(256))


def crc32c(data: bytes) -> int:
    """Compute CRC-32C (Castagnoli), as in RFC 3720."""
    crc, checksums = 0xFFFFFFFF, table()
    for byte in data:
        crc = checksums[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def mask_checksum(data: bytes) -> bytes:
    crc = crc32c(data)
    # TFRecord's mask: rotate right by 15 bits, then add MASK.
    return struct.pack("<I", ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """Encode a record: length, its checksum, data, its checksum."""
    # TFRecord: uint64 length, uint32 masked CRC of it, the data, uint32 masked CRC of the data;
    # little-endian.
    length = struct.pack("<Q", len(data))
    return length + mask_checksum(length) + data + mask_checksum(data)


def varint(value: int) -> bytes:
    # 7 bits per byte, the lowest first; the high bit says that another byte follows.
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, kind: int, data: bytes) -> bytes:
    size = varint(len(data)) if kind == BYTES else b""
    # The key has the field's number above three bits of the wire type.
    return varint(number << 3 | kind) + size + data


def event(wall_time: float, step: int, rest: bytes) -> bytes:
    """Encode an Event with its time and step."""
    # Event: wall_time = 1 (double), step = 2 (int64); `rest` is one of file_version = 3, summary = 5,
    # session_log = 7.
    return field(1, DOUBLE, struct.pack("<d", wall_time)) + field(2, VARINT, varint(step)) + rest


def scalars(wall_time: float, step: int, values: dict[str, float]) -> bytes:
    """Encode an Event with the values of a step by tag."""
    summary = b""
    for tag, value in values.items():
        # Summary.Value: tag = 1, simple_value = 2 (float); Summary: value = 1, repeated.
        one = field(1, BYTES, tag.encode()) + field(2, FLOAT, struct.pack("<f", value))
        summary += field(1, BYTES, one)
    return event(wall_time, step, field(5, BYTES, summary))


def session_start(wall_time: float, step: int) -> bytes:
    """Encode an Event that makes readers drop a killed run's values from this step on."""
    return event(wall_time, step, field(7, BYTES, field(1, VARINT, varint(START))))


class EventFile:
    """A new event file in a folder, which is created if missing."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        # TensorBoard reads only files with "tfevents" in their name.
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self.file = open(folder / name, "xb")  # noqa: SIM115 - it stays open as long as the run
        # The first record must be the version.
        self.write(event(time.time(), 0, field(3, BYTES, b"brain.Event:2")))

    def write(self, *events: bytes) -> None:
        """Append events, and flush them."""
        self.file.write(b"".join(map(record, events)))
        self.file.flush()

    def close(self) -> None:
        self.file.close()
