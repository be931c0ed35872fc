"""WebSockets (RFC 6455) over a connected socket: the server's side, and a client's.

A server reads the request by `read_request`, and answers it by `upgrade` or `refuse`. Lengths are checked
before memory is allocated for them, and a frame that breaks the protocol ends the connection.
"""

import base64
import hashlib
import os
import socket
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .streams import Incoming, Socket, sends

HEAD = 1 << 13  # bytes of a request or an answer without its body
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of RFC 6455: proves that the server knows WebSockets
CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10  # opcodes
FINAL, MASKED, CONTROL, MOST_CONTROL = 0x80, 0x80, 8, 125
SHORT, TWO_BYTES, EIGHT_BYTES = 125, 126, 127  # a length, or the number of bytes that hold it
NORMAL, GOING_AWAY, PROTOCOL, NOT_TEXT, TOO_LARGE = 1000, 1001, 1002, 1007, 1009  # codes of a close
STEP = 1 << 18  # bytes that are masked at a time, a multiple of the mask's four
LOOPBACK = ("127.0.0.1", "localhost", "::1")
STATUS = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 426: "Upgrade Required"}


class ProtocolError(ConnectionError):
    """The other side broke the protocol. code: of the close that answers it."""

    def __init__(self, text: str, code: int = PROTOCOL):
        super().__init__(f"WebSocket: {text}")
        self.code = code


class Request(NamedTuple):
    """A request of HTTP: "/path?query", and headers by their names in lower case."""

    method: str
    target: str
    headers: dict[str, str]

    @property
    def is_websocket(self) -> bool:
        """Whether it asks for a WebSocket."""
        return self.headers.get("upgrade", "").lower() == "websocket"


def read_request(incoming: Incoming) -> Request:
    """Read the head of a request; ProtocolError if it is none."""
    first, headers = _read_head(incoming)
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise ProtocolError("the request does not begin with a line of HTTP")
    return Request(words[0], words[1], headers)


def is_local(request: Request) -> bool:
    """Whether a page of this machine, or no page at all, sent a request to a name of this machine.

    Any web page may open a WebSocket to 127.0.0.1, and a host name of its own may resolve to it. A server
    without a token checks this.
    """
    headers = request.headers
    hosts = [_host_of("//" + headers.get("host", ""))]
    if "origin" in headers:
        hosts.append(_host_of(headers["origin"]))
    return all(host in LOOPBACK for host in hosts)


def refuse(sock: Socket, status: int, why: str) -> None:
    """Answer a request with an error, as text."""
    body = f"{why}\n".encode()
    head = f"HTTP/1.1 {status} {STATUS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    with suppress(OSError):
        sends(sock, (f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body,))


def upgrade(sock: Socket, incoming: Incoming, request: Request) -> "WebSocket":
    """Answer a request for a WebSocket, and return it; ProtocolError, after an answer, for another one."""
    headers = request.headers
    key = headers.get("sec-websocket-key", "")
    try:
        is_key = len(base64.b64decode(key, validate=True)) == 16
    except ValueError:
        is_key = False
    connection = [word.strip() for word in headers.get("connection", "").lower().split(",")]
    if request.method != "GET" or not request.is_websocket or "upgrade" not in connection or not is_key:
        refuse(sock, 400, "this address serves only WebSockets")
        raise ProtocolError("the request does not ask for a WebSocket")
    if headers.get("sec-websocket-version") != "13":
        refuse(sock, 426, "only WebSockets of version 13 are supported")
        raise ProtocolError("the request's version is not 13")
    answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    sends(sock, (f"{answer}Sec-WebSocket-Accept: {_answer_to(key)}\r\n\r\n".encode(),))
    return WebSocket(sock, incoming, is_server=True)


def connect(sock: Socket, host: str, target: str = "/", headers: Mapping[str, str] = {}) -> "WebSocket":
    """Ask a server over a connected socket for a WebSocket; ProtocolError with its answer if it refuses.

    host: "name:port", as the request names the server. headers: more of them, such as Origin.
    """
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    sends(sock, ("\r\n".join([*lines, "", ""]).encode(),))
    incoming = Incoming(sock)
    first, answered = _read_head(incoming)
    if first.split(" ")[1:2] != ["101"] or answered.get("sec-websocket-accept") != _answer_to(key):
        raise ProtocolError(f"the server refuses: {first[:200]}")
    return WebSocket(sock, incoming, is_server=False)


class WebSocket:
    """One end of a WebSocket. One thread receives; any thread may send.

    most: the largest message, in bytes, that `receive` accepts.
    """

    def __init__(self, sock: Socket, incoming: Incoming, is_server: bool, most: int = 1 << 24):
        self._sock, self._incoming, self._is_server, self.most = sock, incoming, is_server, most
        self._sending = threading.Lock()
        self._left, self._key, self._turn = 0, b"", 0  # of the frame that `read` is in: bytes, mask, position
        self._is_final = True  # whether that frame ends its message
        self.sent = 0  # bytes in all, with headers

    @property
    def received(self) -> int:
        """The bytes received in all, with headers."""
        return self._incoming.received

    def send(self, *parts: Any) -> None:
        """Send the parts, bytes or one str, as one message."""
        opcode = BINARY
        if len(parts) == 1 and isinstance(parts[0], str):
            opcode, parts = TEXT, (parts[0].encode(),)
        self._send(opcode, parts)

    def ping(self) -> None:
        """Ask for a sign of life. `receive` drops the answer."""
        self._send(PING, (b"",))

    def _send(self, opcode: int, parts: tuple[Any, ...]) -> None:
        n = sum(memoryview(part).nbytes for part in parts)
        if n <= SHORT:
            length = struct.pack(">B", n)
        elif n < 1 << 16:
            length = struct.pack(">BH", TWO_BYTES, n)
        else:
            length = struct.pack(">BQ", EIGHT_BYTES, n)
        if self._is_server:
            frame: tuple[Any, ...] = (bytes([FINAL | opcode]) + length, *parts)
        else:
            key = os.urandom(4)
            head = bytes([FINAL | opcode, length[0] | MASKED]) + length[1:] + key
            frame = (head, masked(b"".join(parts), key, 0))
        with self._sending:
            self.sent += sends(self._sock, frame)

    def receive(self) -> bytes | str | None:
        """Receive a message: bytes, a str, or None after the other side closed the WebSocket.

        ProtocolError if a message violates the protocol or is longer than `most`; the WebSocket is then
        closed.
        """
        try:
            return self._receive()
        except ProtocolError as e:
            self.close(e.code, str(e))
            raise

    def _receive(self) -> bytes | str | None:
        if self._left or not self._is_final:
            raise RuntimeError("receive: `read` is in the middle of a message: read the rest of it first")
        kind, message = -1, bytearray()
        while kind < 0 or not self._is_final:
            opcode = self._next_frame()
            if opcode is None:
                return None
            if (opcode == CONTINUED) != (kind >= 0):
                raise ProtocolError("a message begins inside another one, or continues without a beginning")
            kind = opcode if kind < 0 else kind
            if len(message) + self._left > self.most:
                raise ProtocolError(f"a message has more than {self.most:,} bytes", TOO_LARGE)
            message += self._payload(self._left)
        if kind == BINARY:
            return bytes(message)
        try:
            return message.decode()
        except UnicodeDecodeError:
            raise ProtocolError("a text is not UTF-8", NOT_TEXT) from None

    def recv_into(self, buffer: Any, /) -> int:
        """Read messages of bytes as one stream, as a socket does; 0 after the other side closed it."""
        view = memoryview(buffer)
        try:
            while not self._left:
                opcode = self._next_frame()
                if opcode is None:
                    return 0
                if opcode == TEXT:
                    raise ProtocolError("expected bytes, got text", 1003)
        except ProtocolError as e:
            self.close(e.code, str(e))
            raise
        n = min(view.nbytes, self._left)
        part = view[:n]
        self._incoming.into(part)
        if self._key:
            part[:] = masked(part, self._key, self._turn)
        self._left, self._turn = self._left - n, self._turn + n
        return n

    def sendall(self, data: Any, /) -> None:
        """Send bytes as a message, as a socket does."""
        self.send(data)

    def ready(self, seconds: float) -> bool:
        """Whether bytes (or the end) have come, or come within some seconds."""
        return self._incoming.ready(seconds)

    def settimeout(self, value: float | None, /) -> None:
        """Set the seconds after which a call raises TimeoutError."""
        self._sock.settimeout(value)

    def shutdown(self, how: int, /) -> None:
        """End the stream, so that calls of other threads return."""
        self._sock.shutdown(how)

    def _next_frame(self) -> int | None:
        """Read the head of the next frame with data; its opcode, or None at a close. Pings are answered."""
        while True:
            opcode = self._read_head()
            if opcode < CONTROL:
                return opcode
            payload = self._payload(self._left)
            if opcode == PING:
                self._send(PONG, (payload,))
            elif opcode == CLOSE:
                self.close(NORMAL)
                return None

    def _read_head(self) -> int:
        first, second = self._incoming.exactly(2)
        opcode, n = first & 0x0F, second & 0x7F
        if first & 0x70 or opcode not in (CONTINUED, TEXT, BINARY, CLOSE, PING, PONG):
            raise ProtocolError(f"a frame begins with the unknown byte {first:#04x}")
        if bool(second & MASKED) != self._is_server:
            raise ProtocolError("frames of clients are masked, those of servers are not")
        if opcode >= CONTROL and (n > MOST_CONTROL or not first & FINAL):
            raise ProtocolError("a control frame is longer than 125 bytes, or fragmented")
        if n == TWO_BYTES:
            (n,) = struct.unpack(">H", self._incoming.exactly(2))
        elif n == EIGHT_BYTES:
            (n,) = struct.unpack(">Q", self._incoming.exactly(8))
            if n >> 63:
                raise ProtocolError("a frame's length has more than 63 bits")
        if opcode < CONTROL:
            self._is_final = bool(first & FINAL)
        self._key = self._incoming.exactly(4) if self._is_server else b""
        self._left, self._turn = n, 0
        return opcode

    def _payload(self, n: int) -> bytes:
        """Read the rest of a frame, whose length was checked."""
        data = self._incoming.exactly(n)
        self._left = 0
        return masked(data, self._key, 0) if self._key else data

    def close(self, code: int = NORMAL, why: str = "") -> None:
        """Close the WebSocket with a code and a reason."""
        with suppress(OSError):
            self._send(CLOSE, (struct.pack(">H", code) + why.encode()[:100],))
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)


def masked(data: Any, key: bytes, offset: int) -> bytes:
    """Mask or unmask bytes, the first of which is at position `at` of its frame."""
    view, offset = memoryview(data).cast("B"), offset % 4
    rotated_key = key[offset:] + key[:offset]
    out: list[bytes] = []
    for begin in range(0, view.nbytes, STEP):
        part = view[begin : begin + STEP]
        n = part.nbytes
        mask = int.from_bytes((rotated_key * (-(-n // 4)))[:n], "little")
        out.append((int.from_bytes(part, "little") ^ mask).to_bytes(n, "little"))
    return out[0] if len(out) == 1 else b"".join(out)


def _read_head(incoming: Incoming) -> tuple[str, dict[str, str]]:
    """Read the first line and the headers of HTTP."""
    try:
        text = incoming.until(b"\r\n\r\n", HEAD).decode("latin-1")
    except ValueError as e:
        raise ProtocolError(str(e)) from None
    first, *lines = text.split("\r\n")[:-2]
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not name or name != name.strip() or name in headers:
            raise ProtocolError("a header has no name, or occurs twice")
        headers[name] = value.strip()
    return first, headers


def _answer_to(key: str) -> str:
    return base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
