"""Frames and the handshake of connections: binary headers, JSON and bytes. Nothing is unpickled."""

import hashlib
import hmac
import os
import secrets
import socket
import struct
import time
import weakref
from typing import Any, NamedTuple

from ..core.addresses import is_loopback
from ..errors import DistributedError

PROTOCOL = 1  # of frames and handshake; both sides must have the same
TOKEN = "FLAMBEAU_TOKEN"  # the environment variable of the secret that all workers of a run share
HANDSHAKE_SECONDS = 5.0  # a stranger is disconnected after this time

MAGIC = b"FLMB"
GREETING = struct.Struct("<4sH32s")  # magic, protocol, nonce
ANSWER = struct.Struct("<4sH32s32s")  # magic, protocol, nonce, proof
VERDICT = struct.Struct("<B32s")  # 0 or the index of a refusal, proof
REFUSALS = ("", "the tokens differ: start all workers with the same FLAMBEAU_TOKEN", "the protocols differ")

# magic, kind, flags, group, generation, seq, part, tag, bytes of text, bytes of payload
HEADER = struct.Struct("<4sBBHIQIIIQ")
COLLECTIVE, POINT, FREE, ABORT, BYE, STORE = range(1, 7)
SHARED = 1  # a flag: the payload is in shared memory, the frame has the block's place
ANNOUNCE = 2  # a flag: the frame only names the sender's call, nothing waits for it
PIECE = 4 << 20  # bytes of the largest payload of a frame between ranks; larger arrays travel in pieces
MAX_TEXT = 1 << 20
MAX_VALUE = 16 << 20  # bytes of a value of the store

_open_sockets: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()


class FrameError(DistributedError):
    """The other side sent bytes that are not a frame."""


class Header(NamedTuple):
    """The fixed part of a frame."""

    kind: int
    flags: int = 0
    group: int = 0
    generation: int = 0
    seq: int = 0
    part: int = 0
    tag: int = 0
    text: int = 0  # bytes
    length: int = 0  # bytes of payload

    def pack(self, text: bytes = b"") -> bytes:
        """The bytes of the header and the text; `length` bytes of payload follow."""
        return HEADER.pack(MAGIC, *self._replace(text=len(text))) + text


def unpack(data: bytes | bytearray, max_length: int, max_text: int) -> Header:
    """Check and split a header. Raises FrameError before anything is allocated."""
    magic, *fields = HEADER.unpack(data)
    header = Header(*fields)
    if magic != MAGIC or not COLLECTIVE <= header.kind <= STORE:
        raise FrameError("a connection sent bytes that are not Flambeau's protocol")
    if header.text > max_text or header.length > max_length:
        raise FrameError(
            f"a frame claims {header.text} bytes of text and {header.length} of payload:"
            f" at most {max_text} and {max_length} are accepted"
        )
    return header


def read_exactly(connection: socket.socket, size: int, deadline: float | None = None) -> bytearray:
    """Read `size` bytes. Raises ConnectionError if the other side ends, TimeoutError at the deadline."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        if deadline is not None:
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
        count = connection.recv_into(view)
        if not count:
            raise ConnectionError("the other side closed the connection")
        view = view[count:]
    return data


def handshake(connection: socket.socket, token: str, server: bool) -> None:
    """Prove mutually that both sides know the token, which is never sent.

    Raises DistributedError if the tokens or the protocols differ; FrameError, OSError for strangers.
    """
    deadline = time.monotonic() + HANDSHAKE_SECONDS
    own_nonce = secrets.token_bytes(32)
    if server:
        connection.sendall(GREETING.pack(MAGIC, PROTOCOL, own_nonce))
        magic, protocol, nonce, proof = ANSWER.unpack(read_exactly(connection, ANSWER.size, deadline))
        is_valid = magic == MAGIC and hmac.compare_digest(proof, _proof(token, b"client", own_nonce, nonce))
        refusal = 2 if magic == MAGIC and protocol != PROTOCOL else 0 if is_valid else 1
        connection.sendall(
            VERDICT.pack(refusal, b"" if refusal else _proof(token, b"server", nonce, own_nonce))
        )
    else:
        magic, protocol, nonce = GREETING.unpack(read_exactly(connection, GREETING.size, deadline))
        if magic != MAGIC:
            raise FrameError("the server at this address does not speak Flambeau's protocol")
        answer = _proof(token, b"client", nonce, own_nonce)
        connection.sendall(ANSWER.pack(MAGIC, PROTOCOL, own_nonce, answer))
        refusal, proof = VERDICT.unpack(read_exactly(connection, VERDICT.size, deadline))
        if not refusal and not hmac.compare_digest(proof, _proof(token, b"server", own_nonce, nonce)):
            refusal = 1
    if refusal:
        reason = REFUSALS[refusal] if refusal < len(REFUSALS) else "the connection was refused"
        if refusal == 2:
            reason += f" ({protocol} and {PROTOCOL}): install the same version of Flambeau on all hosts"
        raise DistributedError(reason)
    connection.settimeout(None)


def _proof(token: str, side: bytes, first: bytes, second: bytes) -> bytes:
    # Both random numbers and the side are signed: a proof can't be used again, nor sent back to its author.
    return hmac.new(token.encode(), side + first + second, hashlib.sha256).digest()


def listen(host: str, port: int, token: str) -> socket.socket:
    """Bind a port; 0 means any free one. Raises DistributedError beyond the loopback without a token."""
    if not token and not is_loopback(host):
        raise DistributedError(
            f"listening on {host} needs a token: set {TOKEN} to the same secret for all workers"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":  # on Windows this option would share a port in use
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, port))
        server.listen(128)
    except OSError as e:
        server.close()
        raise DistributedError(
            f"cannot listen on {host}:{port}: {e.strerror or e}: choose another MASTER_PORT"
        ) from e
    return remember(server)


def connect(host: str, port: int, token: str, timeout: float, retry: bool = True) -> socket.socket:
    """Connect and shake hands; with `retry`, try until the server listens. Raises DistributedError."""
    deadline = time.monotonic() + timeout
    while True:
        connection = None
        try:
            connection = socket.create_connection((host, port), max(deadline - time.monotonic(), 0.1))
            handshake(connection, token, server=False)
            return tune(connection)
        except (OSError, DistributedError) as e:
            if connection is not None:
                connection.close()
            if isinstance(e, DistributedError):
                raise DistributedError(f"{host}:{port}: {e}") from None
            if not retry or time.monotonic() + 0.05 > deadline:
                raise DistributedError(
                    f"no server at {host}:{port} within {timeout:g} s ({e}):"
                    " check MASTER_ADDR and MASTER_PORT"
                ) from e
            time.sleep(0.05)


def tune(connection: socket.socket) -> socket.socket:
    """Send small frames at once, and notice a host that disappeared within seconds."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, value in (("TCP_KEEPIDLE", 2), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, option):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return remember(connection)


def remember(connection: socket.socket) -> socket.socket:
    """Close this socket in forked children. A child that kept it open would hide its parent's death."""
    _open_sockets.add(connection)
    return connection


def _close_in_child() -> Any:
    for connection in list(_open_sockets):
        connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
