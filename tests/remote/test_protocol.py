"""What breaks the protocol is refused with one error, and what others have is untouched."""

import random
import re
import socket
import struct
import time
from contextlib import suppress

import pytest
from helpers.raw_client import (
    KERNEL_NUMBER,
    PARAMS,
    SIZE,
    SOURCE,
    TARGET,
    TEXT,
    UNIFORM_SIZE,
    RawClient,
    copy,
    dispatch,
    kernel,
)

import flambeau as fb
from flambeau.errors import DeviceError
from flambeau.remote import messages as m
from flambeau.remote.client import limits_from
from flambeau.remote.objects import MOST_KEPT

NEW = 9  # a number that is free


def allocated(size, is_uniform=0):
    return m.ALLOCATED.pack(size, is_uniform)


def words(*numbers):
    return m.bytes_of(numbers)


def pairs(*numbers):
    return struct.pack(f"<{len(numbers)}Q", *numbers)


# (kind, id, payload, what its header says of its length, the error)
WRONG = {
    "an unknown kind": (99, 0, b"", None, "kind 99 are unknown"),
    "an answer": (m.DATA, 0, b"", None, "kind 34 are unknown"),
    "a second handshake": (m.HELLO, 0, b"{}", None, "kind 1 are unknown"),
    "a length of 2^60": (m.SUBMIT, 0, b"", 1 << 60, "bytes in a message of kind 10: at most"),
    "a long allocation": (m.ALLOC, NEW, b"", 1 << 20, "bytes in a message of kind 3: at most 4,096"),
    "a short allocation": (m.ALLOC, NEW, b"123", None, "a size and a usage"),
    "an odd size": (m.ALLOC, NEW, allocated(1001), None, "a buffer of 1,001 bytes"),
    "a small size": (m.ALLOC, NEW, allocated(128), None, "a buffer of 128 bytes"),
    "a size of 2^60": (m.ALLOC, NEW, allocated(1 << 60), None, "bytes: must be 256 to"),
    "large Params": (m.ALLOC, NEW, allocated(1 << 26, 1), None, "bytes: must be 256 to"),
    "a number twice": (m.ALLOC, SOURCE, allocated(SIZE), None, "buffer 2 already exists"),
    "the number 0": (m.ALLOC, 0, allocated(SIZE), None, "buffer 0 already exists"),
    "a write to nothing": (m.WRITE, NEW, b"1234", None, "no buffer has the number 9"),
    "a write beyond": (m.WRITE, SOURCE, b"", SIZE + 4, "1,028 bytes in a message of kind 4: at most 1,024"),
    "an odd write": (m.WRITE, SOURCE, b"123", None, "must be a multiple of 4"),
    "a patch of values": (m.PATCH, SOURCE, words(1, 1, 0), None, "holds no Params"),
    "a patch of nothing": (m.PATCH, PARAMS, words(1, 1, 0), None, "word 0 of a buffer of 0 bytes"),
    "a patch that ends": (m.PATCH, PARAMS, words(1, 5, 0), None, "ends inside a value"),
    "a torn patch": (m.PATCH, PARAMS, b"12345", None, "not a multiple of 4 bytes"),
    "a free of nothing": (m.FREE, 0, words(NEW), None, "no buffer has the number 9"),
    "a free twice": (m.FREE, 0, words(SOURCE, SOURCE), None, "no buffer has the number 2"),
    "a kernel without a head": (m.KERNEL, NEW, b"123", None, "has no header"),
    "a kernel in no letters": (m.KERNEL, NEW, kernel(b"\xff\xff"), None, "not UTF-8"),
    "a kernel without results": (m.KERNEL, NEW, kernel(outputs=0), None, "a kernel with 1 buffers"),
    "a kernel of many": (m.KERNEL, NEW, kernel(inputs=4000), None, "a kernel with 4,?001 buffers"),
    "a kernel twice": (m.KERNEL, KERNEL_NUMBER, kernel(), None, "kernel 4 already exists"),
    "faults in nothing": (m.KERNEL, NEW, kernel(faults=77), None, "no buffer has the number 77"),
    "faults in Params": (m.KERNEL, NEW, kernel(faults=PARAMS), None, "must not be a Params"),
    "no command": (m.SUBMIT, 0, words(7, 7, 7), None, "word 0 of 3 is not a command"),
    "a torn word": (m.SUBMIT, 0, b"123", None, "not a multiple of 4 bytes"),
    "a short dispatch": (m.SUBMIT, 0, dispatch()[:-4], None, "end inside a dispatch"),
    "a shorter dispatch": (m.SUBMIT, 0, dispatch()[:12], None, "end inside a dispatch"),
    "a short copy": (m.SUBMIT, 0, copy()[:-4], None, "is not a command"),
    "a short replay": (m.SUBMIT, 0, words(3), None, "is not a command"),
    "an unknown kernel": (m.SUBMIT, 0, dispatch(pipeline=NEW), None, "does not exist"),
    "unknown Params": (m.SUBMIT, 0, dispatch(params=NEW), None, "does not exist"),
    "values as Params": (m.SUBMIT, 0, dispatch(params=SOURCE), None, "does not exist"),
    "Params as values": (m.SUBMIT, 0, dispatch(buffers=(PARAMS, TARGET)), None, "or holds Params"),
    "an unknown buffer": (m.SUBMIT, 0, dispatch(buffers=(NEW, TARGET)), None, "9, which does not exist"),
    "a buffer too few": (m.SUBMIT, 0, dispatch(buffers=(TARGET,)), None, "a kernel needs 2 buffers, got 1"),
    "buffers too many": (m.SUBMIT, 0, dispatch(buffers=(SOURCE, SOURCE, TARGET)), None, "got 3"),
    "a result that is read": (m.SUBMIT, 0, dispatch(buffers=(TARGET, TARGET)), None, "reads and writes"),
    "an odd offset": (m.SUBMIT, 0, dispatch(offset=4), None, "Params at byte 4"),
    "an offset beyond": (m.SUBMIT, 0, dispatch(offset=512), None, "Params at byte 512 of a buffer of 1,280"),
    "a huge grid": (m.SUBMIT, 0, dispatch(grid=(1, 1 << 20, 1)), None, "the adapter's limit"),
    "a copy to itself": (m.SUBMIT, 0, copy(target=SOURCE), None, "within one buffer"),
    "a copy of Params": (m.SUBMIT, 0, copy(source=PARAMS), None, "involve Params"),
    "a copy beyond": (m.SUBMIT, 0, copy(n=SIZE + 4), None, "a copy of 1,028 bytes"),
    "an odd copy": (m.SUBMIT, 0, copy(n=3), None, "a copy of 3 bytes"),
    "a copy from nothing": (m.SUBMIT, 0, copy(source=NEW), None, "no buffer has the number 9"),
    "an unknown program": (m.SUBMIT, 0, words(3, NEW), None, "no program has the number 9"),
    "a program of itself": (m.PROGRAM, NEW, words(3, NEW), None, "no program has the number 9"),
    "a read beyond": (m.READ, 50, pairs(SOURCE, SIZE + 1), None, "1,025 bytes of buffer 2"),
    "a read of Params": (m.READ, 50, pairs(PARAMS, 4), None, "4 bytes of buffer 1"),
    "a read of nothing": (m.READ, 50, pairs(NEW, 4), None, "no buffer has the number 9"),
    "a read twice": (m.READ, 50, pairs(SOURCE, 4, SOURCE, 4), None, "two reads of a buffer overlap"),
    "a torn read": (m.READ, 50, pairs(SOURCE), None, "not pairs of 64-bit integers"),
    "a check of nothing": (m.CHECK, 50, words(NEW), None, "no kernel has the number 9"),
    "times of no command": (m.TIMES, 50, words(7), None, "is not a command"),
    "a long wait": (m.WAIT, 50, b"", 1 << 40, "bytes in a message of kind 12"),
}  # fmt: skip


def left(server, remote) -> int:
    """The bytes of buffers on the server once all clients but one are gone, which computes and keeps none."""
    assert (fb.arange(4, device=remote) + 1).numpy().tolist() == [1, 2, 3, 4]
    remote.pool.trim()
    remote.wait()
    until = time.monotonic() + 60
    while len(server.sessions) > 1 and time.monotonic() < until:
        time.sleep(0.01)
    return server.used


def test_each_wrong_message_ends_one_connection(server, remote):
    """The others go on, and nothing stays behind."""
    before = left(server, remote)
    for what, (kind, id, payload, length, error) in WRONG.items():
        client = RawClient(server).prepared()
        client.send(kind, id, payload, length)
        text = client.refusal()
        assert text.startswith("remote: ") and re.search(error, text), (what, text)
        client.close()
    assert left(server, remote) == before


def test_right_messages_compute(server):
    client = RawClient(server).prepared()
    client.send(m.WRITE, SOURCE, struct.pack("<3f", 1, 2, 3))
    client.send(m.PROGRAM, NEW, dispatch(grid=(3, 1, 1)) + copy(TARGET, SOURCE, 12))
    client.send(m.SUBMIT, 0, words(3, NEW, 3, NEW))
    client.send(m.READ, 50, pairs(TARGET, 12))
    assert client.receive() == (m.DATA, 50, struct.pack("<3f", 3, 4, 5))
    client.send(m.FREE, 0, words(SOURCE))  # the program goes with it
    client.send(m.SUBMIT, 0, words(3, NEW))
    assert "or one of its buffers was freed" in client.refusal()
    client.close()


def test_many_reads_at_once_are_answered_in_order(server):
    client = RawClient(server).prepared()
    client.send(m.WRITE, SOURCE, bytes(range(256)) * 4)
    for i in range(100):
        client.send(m.READ, 50 + i, pairs(SOURCE, 4 + i))
    for i in range(100):
        assert client.receive() == (m.DATA, 50 + i, bytes(range(4 + i)))
    client.close()


def test_programs_that_double_themselves_are_limited(server):
    client = RawClient(server).prepared()
    client.send(m.PROGRAM, 100, copy() * 1000)
    for i in range(101, 140):
        client.send(m.PROGRAM, i, words(3, i - 1, 3, i - 1))
    assert f"the limit for a client is {MOST_KEPT:,}" in client.refusal()
    client.close()


def changed(*pairs) -> str:
    text = TEXT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


REFUSED_TEXTS = {
    "more than a buffer has": changed(("x: array<f32>", "x: array<array<f32, 5000>>"), ("x[", "x[0][")),
    "more Params than are bound": changed(("vec4u, 4>", "vec4u, 500>"), ("+ 1.0", "+ f32(p[499].x)")),
    "another binding": TEXT.replace("@binding(2)", "@binding(5)"),
    "a workgroup of 65,536": TEXT.replace("workgroup_size(1)", "workgroup_size(256, 256)"),
    "another entry": TEXT.replace("main", "other"),
    "no WGSL": "\0 fn \U0001f600 {{{",
    "nothing": "",
    "a write to what is read": TEXT.replace("y[g.x] = ", "x[g.x] = y[g.x]; y[g.x] = "),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED_TEXTS)
def test_a_text_that_the_driver_refuses_makes_its_values_bad(what, server):
    """wgpu-native would end the process at the dispatch of the first two."""
    client = RawClient(server).prepared()
    client.send(m.KERNEL, NEW, kernel(REFUSED_TEXTS[what]))
    client.send(m.SUBMIT, 0, dispatch(NEW) + copy(TARGET, SOURCE))
    client.send(m.READ, 50, pairs(SOURCE, 4))
    message = client.receive()
    assert (message.kind, message.id) == (m.ERROR, 50) and b"does not compile" in message.payload
    client.send(m.WRITE, SOURCE, b"good")
    client.send(m.READ, 51, pairs(SOURCE, 4))
    assert client.receive() == (m.DATA, 51, b"good")
    client.close()


def test_new_memory_is_zero(server):
    """Whatever another client wrote there before."""
    for content in (b"\xff" * SIZE, None):
        client = RawClient(server).prepared()
        client.send(m.READ, 50, pairs(SOURCE, SIZE))
        assert client.receive().payload == bytes(SIZE)
        if content:
            client.send(m.WRITE, SOURCE, content)
            client.send(m.WAIT, 51)
            client.receive()
        client.close()


@pytest.mark.parametrize("proven", [False, True])
def test_indices_stay_in_their_buffer(proven, server):
    """Also those of a text that a client falsely says is proven."""
    far = TEXT.replace("y[g.x] = x[g.x] + 1.0", "y[g.x] = x[g.x + 1000000u]; y[g.x + 1000000u] = 7.0")
    client, other = RawClient(server).prepared(), RawClient(server).prepared()
    ours, theirs = struct.pack("<256f", *[2.0] * 256), struct.pack("<256f", *[5.0] * 256)
    for end, content in ((client, ours), (other, theirs)):
        end.send(m.WRITE, SOURCE, content)
        end.send(m.WRITE, TARGET, content)
    client.send(m.KERNEL, NEW, kernel(far, proven=proven))
    client.send(m.SUBMIT, 0, dispatch(NEW, grid=(256, 1, 1)))
    client.send(m.READ, 50, pairs(TARGET, SIZE))
    assert {*struct.unpack("<256f", client.receive().payload)} <= {0.0, 2.0, 7.0}
    other.send(m.READ, 50, pairs(SOURCE, SIZE, TARGET, SIZE))
    assert other.receive().payload == theirs + theirs
    client.close(), other.close()


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_client_that_dies_inside_a_message(how, server, remote):
    before = left(server, remote)
    for payload in (b"", b"x" * 100):
        client = RawClient(server).prepared()
        client.send(m.WRITE, SOURCE, payload, SIZE)
        getattr(client, how)()
    assert left(server, remote) == before


# a session in messages: what the fuzzer changes
SESSION = [
    (m.ALLOC, PARAMS, allocated(UNIFORM_SIZE, 1)),
    (m.ALLOC, SOURCE, allocated(SIZE)),
    (m.ALLOC, TARGET, allocated(SIZE)),
    (m.KERNEL, KERNEL_NUMBER, kernel()),
    (m.WRITE, PARAMS, bytes(256)),
    (m.PATCH, PARAMS, words(5, 2, 1, 2)),
    (m.WRITE, SOURCE, bytes(64)),
    (m.PROGRAM, 5, dispatch() + copy()),
    (m.SUBMIT, 0, words(3, 5) + dispatch(grid=(4, 1, 1))),
    (m.SUBMIT, 60, words(3, 5)),
    (m.READ, 61, pairs(TARGET, SIZE)),
    (m.CHECK, 62, words(KERNEL_NUMBER)),
    (m.FORGET, 0, words(5)),
    (m.FREE, 0, words(TARGET)),
    (m.WAIT, 63, b""),
]


def drawn(rng) -> bytes:
    """The bytes of a session, with messages in another order, words changed, and maybe without the end."""
    sent = list(SESSION)
    for _ in range(rng.randrange(3)):
        i, j = rng.randrange(len(sent)), rng.randrange(len(sent))
        sent[i], sent[j] = sent[j], sent[i]
    for _ in range(rng.randrange(3)):
        sent.insert(rng.randrange(len(sent)), sent.pop(rng.randrange(len(sent))))
    data = bytearray(b"".join(m.encode(*message) for message in sent))
    for _ in range(rng.randrange(4)):
        at = rng.randrange(0, len(data) - 4, 4)
        value = rng.choice(
            [0, 1, 2, 3, 4, 5, 255, 256, 1 << 16, 1 << 31, (1 << 32) - 1, rng.randrange(1 << 32)]
        )
        data[at : at + 4] = value.to_bytes(4, "little")
    return bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])


def fuzz(server, seed, count) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        client = RawClient(server)
        with suppress(OSError):  # refused while we send
            client.sock.sendall(drawn(rng))
            client.sock.shutdown(socket.SHUT_WR)
            client.sock.settimeout(10)
            while client.sock.recv(1 << 16):
                pass
        client.close()


def test_drawn_sessions_harm_nobody(server, remote):
    """Bounded and seeded: 60 sessions of changed bytes; a server that ends would end this process."""
    before = left(server, remote)
    fuzz(server, 20261127, 60)
    assert left(server, remote) == before


@pytest.mark.parametrize(
    "first", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01", b"flambeau" + bytes(64)]
)
def test_other_protocols_are_ended(first, server):
    sock = socket.create_connection((server.host, server.port), 10)
    sock.sendall(first)
    answer = b""
    with suppress(ConnectionError):
        while part := sock.recv(1000):
            answer += part
    assert b"flambeau" not in answer.lower() or b"remote: " in answer
    sock.close()


@pytest.mark.parametrize(
    ("described", "error"),
    [
        ({}, "KeyError"),
        ({"limits": {"groups": "many", "pace": [1, 1], "matrix": []}}, "TypeError"),
        ({"limits": {"unknown": 1, "pace": [1, 1], "matrix": []}}, "AttributeError|not understood"),
        ({"limits": 5}, "TypeError"),
    ],
)
def test_a_device_that_is_not_understood(described, error):
    with pytest.raises(DeviceError, match=error):
        limits_from(described)
