"""Random and damaged bytes to each port and connection: no hang, no crash, little memory."""

import json
import socket
import struct
import threading
import time
import tracemalloc

import numpy as np
import pytest
from helpers.draws import draws, some

from flambeau.distributed import DistributedError, Store, StoreServer, connect_threads, wire
from flambeau.distributed.memory import PLACE
from flambeau.distributed.rendezvous import Worker
from flambeau.distributed.wire import COLLECTIVE, POINT, SHARED, STORE, Header

GREETING = wire.GREETING.pack(wire.MAGIC, wire.PROTOCOL, bytes(32))
ANSWER = wire.ANSWER.pack(wire.MAGIC, wire.PROTOCOL, bytes(32), bytes(32))


def damage(rng, data: bytes) -> bytes:
    """The same bytes with some changed, cut off or repeated."""
    changed = bytearray(data)
    for _ in range(some(rng, 1, 4)):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    kind = int(rng.integers(4))
    end = int(rng.integers(1, len(changed)))
    return bytes([changed, changed[:end], changed + changed[:end], rng.bytes(end)][kind])


def frame(fields, value: bytes = b"") -> bytes:
    return Header(STORE, length=len(value)).pack(json.dumps(fields).encode()) + value


def drain(connection: socket.socket) -> None:
    """Read until the other side has closed the connection. TimeoutError if it hangs."""
    connection.settimeout(5)
    try:
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass
    except TimeoutError:
        raise
    except OSError:
        pass  # reset: unread bytes were left at the other side


JOIN = {"request": "join", "rank": 0, "size": 1, "generation": 0, "timeout": 0.05, "version": "0.1.0"}
INFO = {"address": "127.0.0.1", "port": 1, "pid": 1, "host": "", "probe": -1, "nonce": ""}
REQUESTS = [
    frame({"request": "set", "key": "k"}, b"value"),
    frame({"request": "get", "key": "n", "timeout": 0.01}),
    frame({"request": "add", "key": "k", "amount": 1}),
    frame(JOIN | {"info": INFO, "size": 2}),
    frame({"request": "joiners", "generation": 0}),
    *(frame(JOIN | {name: value}) for name, value in (("rank", "x"), ("size", -1), ("info", []))),
    frame(JOIN | {"info": INFO, "size": 2, "timeout": float("nan")}),
    frame([1]),
    frame({"request": "set", "key": ["k"]}),
    Header(STORE, length=1 << 60).pack(b"{}"),
    struct.pack("<4sBBHIQIIIQ", b"FLMB", STORE, 0, 0, 0, 0, 0, 0, 0xFFFFFFFF, 0),
    Header(STORE).pack(b"[" * 100_000),
    Header(STORE).pack(b"\xff\xfe{}"),
]


def test_strangers_at_the_store():
    """Before the handshake nothing is believed; after it the store answers what it understands."""
    server = StoreServer(token="secret")
    tracemalloc.start()
    for _, rng in draws("bytes to the store", 30):
        with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
            connection.sendall(damage(rng, ANSWER + REQUESTS[0]))
            drain(connection)
    for _, rng in draws("requests to the store", 40):
        client = Store("127.0.0.1", server.port, "secret", 5)
        request = REQUESTS[int(rng.integers(len(REQUESTS)))]
        client.connection.sendall(request if rng.integers(2) else damage(rng, request))
        drain(client.connection)
        client.close()
    assert tracemalloc.get_traced_memory()[1] < 40 << 20  # a value of 16 MiB may be announced
    tracemalloc.stop()
    client = Store("127.0.0.1", server.port, "secret", 5)
    client.set("still", b"here")
    assert client.get("still") == b"here"
    server.close()


def test_strangers_at_a_worker():
    """A worker that waits for its peers ignores connections that are none."""
    server = StoreServer(token="secret")
    ports = []
    plain_listen = wire.listen

    def listen(*arguments):
        ports.append(plain_listen(*arguments))
        return ports[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "listen", listen)

        groups = {}

        def join(rank):
            client = Store("127.0.0.1", server.port, "secret", 5)
            groups[rank] = Worker(client, "secret", rank, 2).join(20)

        first = threading.Thread(target=join, args=(0,))
        first.start()
        while not ports:
            time.sleep(0.005)
        for _, rng in draws("bytes to a worker", 20):
            with socket.create_connection(ports[0].getsockname(), 5) as connection:
                connection.sendall(damage(rng, ANSWER + frame({"rank": 1, "generation": 1})))
        second = threading.Thread(target=join, args=(1,))
        second.start()
        first.join(20)
        second.join(20)
    assert sorted((g.rank, g.size) for g in groups.values()) == [(0, 2), (1, 2)]
    for group in groups.values():
        group.close(goodbye=False)
    server.close()


def test_damaged_frames_of_a_peer():
    """All ranks get one error; none waits for bytes that a length promised."""
    frames = [
        Header(COLLECTIVE, seq=0, length=12).pack(b"all_reduce(sum, float32, [3])") + bytes(12),
        Header(COLLECTIVE, seq=0, length=24, flags=SHARED).pack(b"x") + PLACE.pack(5, 0, 1 << 40),
        Header(COLLECTIVE, seq=0, length=24, flags=SHARED).pack(b"x") + PLACE.pack(2**63, 2**63, 8),
        Header(COLLECTIVE, seq=0, length=1 << 50).pack(),
        Header(POINT, length=4).pack(b"send(int8, [4])") + b"abcd",
        Header(wire.FREE, seq=3).pack(),
        Header(STORE).pack(b"{}"),
        Header(wire.ABORT).pack(b"\xff" * 100),
        Header(COLLECTIVE, generation=9).pack(b"y"),
    ]
    for i, (_, rng) in enumerate(draws("frames of a peer", 3 * len(frames))):
        first, second = connect_threads(2, timeout=0.2)
        message = frames[i % len(frames)]
        second.mesh.peers[0].socket.send(message if i < len(frames) else damage(rng, message))
        began = time.monotonic()
        with pytest.raises(DistributedError):
            first.all_reduce(np.ones(4, "f4"))
            first.barrier()
        assert time.monotonic() - began < 30
        for group in (first, second):
            group.close(goodbye=False)


def test_lengths_are_checked_before_memory_is_taken():
    with pytest.raises(DistributedError, match="claims 0 bytes of text and 4194305 of payload: at most"):
        wire.unpack(Header(COLLECTIVE, length=wire.PIECE + 1).pack(), wire.PIECE, 10)
    with pytest.raises(DistributedError, match="not Flambeau's protocol"):
        wire.unpack(b"GET / HTTP/1.1\r\n" + bytes(40)[: wire.HEADER.size - 16], 1, 1)


def test_the_token_is_never_sent_and_both_sides_prove_it():
    """A false server learns nothing that it can use, and a client refuses a server without the token."""
    listener = socket.create_server(("127.0.0.1", 0))

    seen = []

    def serve():
        connection, _ = listener.accept()
        connection.sendall(GREETING)
        seen.append(bytes(wire.read_exactly(connection, wire.ANSWER.size)))
        connection.sendall(wire.VERDICT.pack(0, bytes(32)))
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(DistributedError, match="the tokens differ"):
        Store("127.0.0.1", listener.getsockname()[1], "secret", 5)
    thread.join()
    assert b"secret" not in seen[0]
    listener.close()
