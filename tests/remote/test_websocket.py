"""WebSockets: the handshake, frames of every kind, and what breaks the protocol."""

import os
import socket
import struct
import threading
from contextlib import suppress

import pytest

from flambeau.remote.streams import Closed, Incoming
from flambeau.remote.websocket import (
    ProtocolError,
    WebSocket,
    connect,
    is_local,
    masked,
    read_request,
    refuse,
    upgrade,
)

ASKED = (
    "GET /chat?a=1 HTTP/1.1\r\nHost: localhost:80\r\nUpgrade: websocket\r\n"
    "Connection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
SECONDS = 10


@pytest.fixture
def pair():
    """Two connected sockets."""
    both = socket.socketpair()
    for sock in both:
        sock.settimeout(SECONDS)
    yield both
    for sock in both:
        sock.close()


@pytest.fixture
def ends(pair):
    """A server's and a client's end of one WebSocket."""
    server, client = pair
    return WebSocket(server, Incoming(server), True), WebSocket(client, Incoming(client), False)


def frame(opcode, payload, final=True, key=b"\1\2\3\4", length=None):
    """A frame of a client, written by hand. length: what it says of itself."""
    n = len(payload) if length is None else length
    if n <= 125:
        head = struct.pack(">BB", (final << 7) | opcode, n | 0x80 * bool(key))
    else:
        head = struct.pack(">BBQ", (final << 7) | opcode, 127 | 0x80 * bool(key), n)
    return head + key + (masked(payload, key, 0) if key else payload)


def test_the_handshake_of_the_standard(pair):
    server, client = pair
    client.sendall(ASKED.encode())
    incoming = Incoming(server)
    request = read_request(incoming)
    assert (request.method, request.target, request.is_websocket) == ("GET", "/chat?a=1", True)
    upgrade(server, incoming, request)
    answer = client.recv(1000).decode()
    assert answer.startswith("HTTP/1.1 101 ") and "Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in answer


def test_a_client_of_ours_and_a_refusal(pair):
    server, client = pair

    def answer():
        incoming = Incoming(server)
        upgrade(server, incoming, read_request(incoming)).send("hello")

    thread = threading.Thread(target=answer)
    thread.start()
    assert connect(client, "localhost:80").receive() == "hello"
    thread.join()
    thread = threading.Thread(target=lambda: refuse(server, 403, "not for you"))
    thread.start()
    with pytest.raises(ProtocolError, match="the server refuses: HTTP/1.1 403 Forbidden"):
        connect(client, "localhost:80")
    thread.join()


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("GET", "POST", 400),
        ("Upgrade: websocket", "Upgrade: h2c", 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "short", 400),
        ("Version: 13", "Version: 8", 426),
    ],
)
def test_other_requests_are_refused(old, new, status, pair):
    server, client = pair
    client.sendall(ASKED.replace(old, new).encode())
    incoming = Incoming(server)
    with pytest.raises(ProtocolError):
        upgrade(server, incoming, read_request(incoming))
    assert f"HTTP/1.1 {status} " in client.recv(1000).decode()


@pytest.mark.parametrize(
    "text", ["x" * 9000, "GET /\r\n\r\n", "GET / HTTP/1.1\r\nA: 1\r\nA: 2\r\n\r\n", "\0" * 9000]
)
def test_what_is_no_request(text, pair):
    server, client = pair
    client.sendall(text.encode())
    with pytest.raises(ProtocolError):
        read_request(Incoming(server))


@pytest.mark.parametrize(
    ("host", "origin", "local"),
    [
        ("127.0.0.1:7", None, True),
        ("localhost", "http://localhost:8000", True),
        ("[::1]:7", "http://[::1]", True),
        ("127.0.0.1:7", "https://evil.example", False),
        ("evil.example:7", None, False),
        ("evil.example", "http://127.0.0.1", False),
        ("localhost", "null", False),
        ("[::1", None, False),
    ],
)
def test_pages_of_other_hosts(host, origin, local, pair):
    server, client = pair
    text = ASKED.replace("localhost:80", host)
    if origin:
        text = text.replace("\r\n\r\n", f"\r\nOrigin: {origin}\r\n\r\n")
    client.sendall(text.encode())
    assert is_local(read_request(Incoming(server))) is local


def test_messages_of_all_lengths(ends):
    server, client = ends
    for n in (0, 1, 125, 126, 65535, 65536, 300_001):
        data = os.urandom(n)
        for a, b in ((server, client), (client, server)):
            thread = threading.Thread(target=a.send, args=(data[: n // 2], data[n // 2 :]))
            thread.start()
            assert b.receive() == data
            thread.join()
    client.send("größer")
    assert server.receive() == "größer"
    assert server.received == client.sent > 300_001


def test_masks_turn_with_the_position():
    data, key = os.urandom(1000), os.urandom(4)
    want = bytes(b ^ key[i % 4] for i, b in enumerate(data))
    assert masked(data, key, 0) == want
    assert b"".join(masked(data[i : i + 7], key, i) for i in range(0, 1000, 7)) == want


def test_pieces_pings_and_a_close(ends, pair):
    server, client = ends
    raw = pair[1]
    raw.sendall(frame(1, b"a", final=False) + frame(9, b"?") + frame(0, b"b", final=False) + frame(0, b"c"))
    assert server.receive() == "abc"
    assert raw.recv(10) == b"\x8a\x01?"  # the answer to the ping
    server.ping()
    client.send(b"x")
    server.send(b"y")
    assert client.receive() == b"y"  # after it has answered the ping
    assert server.receive() == b"x"
    client.close()
    assert server.receive() is None
    assert client.receive() is None


def test_a_stream_of_bytes(ends):
    server, client = ends
    client.send(b"abcdef")
    client.send()
    client.send(b"ghi")
    view, out = bytearray(4), b""
    while len(out) < 9:
        out += view[: server.recv_into(view)]
    assert out == b"abcdefghi"
    client.close()
    assert server.recv_into(view) == 0


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (frame(2, b"abc", key=b""), "frames of clients are masked"),
        (frame(3, b""), "unknown byte"),
        (b"\xc2\x80\0\0\0\0", "unknown byte"),
        (frame(9, b"x" * 200), "control frame"),
        (frame(9, b"", final=False), "control frame"),
        (frame(0, b"x"), "continues without a beginning"),
        (frame(2, b"x", final=False) + frame(2, b"y"), "begins inside another"),
        (frame(1, b"\xff"), "not UTF-8"),
        (frame(2, b"", length=1 << 40), "more than 16,777,216 bytes"),
        (frame(2, b"x" * 99, final=False) + frame(0, b"", length=1 << 24), "more than 16,777,216 bytes"),
        (b"\x82\xff" + b"\xff" * 12, "63 bits"),
    ],
)
def test_what_breaks_the_protocol(sent, why, ends, pair):
    """It is refused before memory for it is allocated, and the other side receives the reason."""
    pair[1].sendall(sent)
    with pytest.raises(ProtocolError, match=why) as error:
        ends[0].receive()
    closed = pair[1].recv(200)
    assert closed[0] == 0x88 and struct.unpack(">H", closed[2:4])[0] == error.value.code


def test_an_end_inside_a_message(ends, pair):
    pair[1].sendall(frame(2, b"abc", length=100))
    pair[1].close()
    with pytest.raises(Closed):
        ends[0].receive()


def test_drawn_bytes_end_in_an_error_or_a_message(pair):
    """Bounded and seeded: none hangs, none takes more memory than it sent."""
    import random

    rng = random.Random(20261127)
    for _ in range(200):
        server, client = socket.socketpair()
        server.settimeout(SECONDS)
        data = bytearray(b"".join(frame(rng.choice([0, 1, 2, 8, 9]), rng.randbytes(rng.randrange(40)),
                                        rng.random() < 0.8) for _ in range(rng.randrange(1, 5))))  # fmt: skip
        for _ in range(rng.randrange(4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        end = WebSocket(server, Incoming(server), True, most=1000)
        with suppress(ProtocolError, Closed, BrokenPipeError):
            while end.receive() is not None:
                pass
        server.close()
        client.close()
