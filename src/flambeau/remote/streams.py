"""Connections as streams of bytes: a socket, and TLS over one that two threads may use at once."""

import select
import socket
import ssl
import sys
import threading
from contextlib import suppress
from typing import Any, Protocol

ROOM = 64  # bytes that can be given back
AHEAD = 1 << 16  # bytes that one call of the socket may read ahead; more is read directly into its place
PIECE = 1 << 16  # bytes that are encrypted at a time
SENT_AT_ONCE = 1 << 20  # bytes of one call: the timeout is for each, so long values may take longer
SELECTABLE = 1024  # the first descriptor that `select` does not take on POSIX
CLOSED = "the other side closed the connection"


class Closed(ConnectionError):
    """The other side ended the connection."""


class Socket(Protocol):
    """The methods of a socket that streams use."""

    def recv_into(self, buffer: Any, /) -> int:
        """Fill the start of a buffer; 0 at the end of the stream."""
        ...

    def sendall(self, data: Any, /) -> None:
        """Send all bytes."""
        ...

    def settimeout(self, value: float | None, /) -> None:
        """Set the seconds after which a call raises TimeoutError."""
        ...

    def shutdown(self, how: int, /) -> None:
        """End the stream, so that calls of other threads return."""
        ...

    def close(self) -> None:
        """Release the socket."""
        ...


class Incoming:
    """Reads from a socket exactly as many bytes as are asked for. Small reads share a call of the system."""

    def __init__(self, sock: Socket, first: bytes = b""):
        self._sock, self._ahead = sock, bytearray(AHEAD + ROOM)
        self._view = memoryview(self._ahead)
        self._at, self._end = 0, len(first)
        self._view[: len(first)] = first
        self.received = len(first)  # bytes in all

    def exactly(self, n: int) -> bytes:
        """Read n bytes. The caller has checked n against a limit."""
        start = self._at
        if self._end - start >= n:  # in one piece, as most headers are
            self._at = start + n
            return bytes(self._view[start : start + n])
        data = bytearray(n)
        self.into(memoryview(data))
        return bytes(data)

    def into(self, view: memoryview) -> None:
        """Fill a view of bytes; Closed if the stream ends before."""
        n, done = view.nbytes, min(view.nbytes, self._end - self._at)
        view[:done] = self._view[self._at : self._at + done]
        self._at += done
        while done < n:
            if n - done >= AHEAD:
                done += self._receive(view[done:])
                continue
            self._at, self._end = 0, self._receive(self._view[:AHEAD])
            take = min(n - done, self._end)
            view[done : done + take] = self._view[:take]
            self._at, done = take, done + take

    def unread(self, data: bytes) -> None:
        """Give back a few bytes that were read."""
        rest = data + bytes(self._view[self._at : self._end])
        self._at, self._end = 0, len(rest)
        self._view[: len(rest)] = rest

    def ready(self, seconds: float) -> bool:
        """Whether bytes (or the end) have come, or come within some seconds."""
        return self._at < self._end or is_ready(self._sock, seconds)

    def until(self, mark: bytes, most: int) -> bytes:
        """Read up to and with a mark; ValueError if it is not among the first `most` bytes."""
        data = b""
        while mark not in data:
            if len(data) >= most:
                raise ValueError(f"the header does not end within {most:,} bytes")
            data += self.exactly(1)
        return data

    def _receive(self, view: memoryview) -> int:
        n = self._sock.recv_into(view)
        if not n:
            raise Closed(CLOSED)
        self.received += n
        return n


def is_ready(sock: Any, seconds: float) -> bool:
    """Whether a socket has something to receive, now or within some seconds."""
    own = getattr(sock, "ready", None)
    if own is not None:
        return own(seconds)
    if sys.platform == "win32" or sock.fileno() < SELECTABLE:
        return bool(select.select([sock], [], [], seconds)[0])
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1e3))


def keep_alive(sock: socket.socket, timeout: float) -> None:
    """Send small messages at once, and let the system detect a dead host."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    pause = max(1, round(timeout / 4))
    for name, value in (
        ("TCP_KEEPIDLE", pause),
        ("TCP_KEEPINTVL", pause),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", round(1e3 * timeout)),
    ):
        with suppress(AttributeError, OSError):  # not every system has it
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def sends(sock: Socket, parts: tuple[Any, ...]) -> int:
    """Send parts in order, small ones together, and return their number of bytes."""
    total, small = 0, bytearray()
    for part in parts:
        total += (n := memoryview(part).nbytes)
        if n < AHEAD:
            small += part
            continue
        if small:
            sock.sendall(small)
            small = bytearray()
        view = memoryview(part).cast("B")
        for start in range(0, n, SENT_AT_ONCE):
            sock.sendall(view[start : start + SENT_AT_ONCE])
    if small:
        sock.sendall(small)
    return total


class PatientSocket:
    """A socket whose `sendall` continues after a timeout while the other side shows signs of life."""

    def __init__(self, sock: socket.socket):
        self._sock, self.is_alive = sock, _never
        self.recv, self.recv_into, self.fileno = sock.recv, sock.recv_into, sock.fileno
        self.settimeout, self.shutdown, self.close = sock.settimeout, sock.shutdown, sock.close

    def sendall(self, data: Any, /) -> None:
        """Send all bytes."""
        view = memoryview(data).cast("B")
        while view.nbytes:
            try:
                view = view[self._sock.send(view) :]
            except TimeoutError:
                if not self.is_alive():
                    raise


def _never() -> bool:
    return False


class TlsSocket:
    """TLS over a connected socket. One thread may receive while others send.

    An `ssl.SSLSocket` holds a lock while it waits for bytes, so a thread that receives would block those
    that send. Here only the encryption holds the lock, and no thread waits for the network inside it.
    """

    def __init__(self, raw: socket.socket | PatientSocket, context: ssl.SSLContext, host: str | None = None):
        """host: the name that the certificate must have, on a client; None on a server."""
        self._raw, self._in, self._out = raw, ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=host is None, server_hostname=host)
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._shake_hands()

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()
            except ssl.SSLError:
                self._flush()  # the alert, which tells the other side why
                raise
        self._flush()

    def _flush(self) -> None:
        if data := self._out.read():
            self._raw.sendall(data)

    def _fill(self) -> None:
        data = self._raw.recv(PIECE)
        with self._lock:
            if data:
                self._in.write(data)
            else:
                self._in.write_eof()

    def recv_into(self, buffer: Any, /) -> int:
        """Fill the start of a buffer; 0 at the end of the stream."""
        view = memoryview(buffer)
        while True:
            with self._lock:
                try:
                    n: Any = self._tls.read(view.nbytes, view)  # typed as bytes, even with a buffer
                    return n
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return 0
            self._fill()

    def ready(self, seconds: float) -> bool:
        """Whether bytes (or the end) have come, or come within some seconds."""
        with self._lock:
            if self._tls.pending() or self._in.pending:
                return True
        return is_ready(self._raw, seconds)

    def sendall(self, data: Any, /) -> None:
        """Encrypt and send all bytes."""
        view = memoryview(data).cast("B")
        with self._sending:
            for start in range(0, view.nbytes, PIECE):
                with self._lock:
                    self._tls.write(view[start : start + PIECE])
                    records = self._out.read()
                self._raw.sendall(records)

    def settimeout(self, value: float | None, /) -> None:
        """Set the seconds after which a call raises TimeoutError."""
        self._raw.settimeout(value)

    def shutdown(self, how: int, /) -> None:
        """End the stream, so that calls of other threads return."""
        self._raw.shutdown(how)

    def close(self) -> None:
        """Release the socket."""
        self._raw.close()
