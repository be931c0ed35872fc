"""A client of a server of devices that sends whatever a test likes, after a handshake as it should be."""

import json
import socket
import struct

from flambeau.core.commands import Copy, Dispatch
from flambeau.remote.handshake import greet
from flambeau.remote.messages import (
    ALLOC,
    ALLOCATED,
    ERROR,
    HEADER,
    KERNEL,
    KERNEL_HEAD,
    PREFACE,
    Received,
    bytes_of,
)

SECONDS = 20
TEXT = """
@group(0) @binding(0) var<uniform> p: array<vec4u, 4>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) g: vec3u) { y[g.x] = x[g.x] + 1.0; }
"""
PARAMS, SOURCE, TARGET, KERNEL_NUMBER = 1, 2, 3, 4  # what `prepared` makes
UNIFORM_SIZE, SIZE = 1280, 1024


class RawClient:
    """A connection. It is admitted unless token or preface are wrong."""

    def __init__(self, server, token=None, preface=PREFACE):
        self.sock = socket.create_connection((server.host, server.port), SECONDS)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        steps = greet(token, "")
        sent = preface + next(steps)
        self.welcome = None
        try:
            while True:
                self.sock.sendall(sent)
                sent = steps.send(self.receive())
        except StopIteration as end:
            self.welcome = end.value

    def send(self, kind, id=0, payload=b"", length=None):
        """Send a message. length: what its header says."""
        n = len(payload) if length is None else length
        self.sock.sendall(HEADER.pack(n, kind, id) + payload)

    def receive(self) -> Received:
        n, kind, id = HEADER.unpack(self.exactly(HEADER.size))
        return Received(kind, id, self.exactly(n))

    def exactly(self, n):
        data = b""
        while len(data) < n:
            part = self.sock.recv(n - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def refusal(self) -> str:
        """The text with which the server ends the connection."""
        message = self.receive()
        while message.kind != ERROR or message.id:
            message = self.receive()
        text = json.loads(message.payload)["text"]
        try:
            self.exactly(1)
        except (EOFError, ConnectionError):
            return text
        raise AssertionError("the connection goes on")

    def prepared(self) -> "RawClient":
        """With a buffer of Params, two others and a kernel."""
        self.send(ALLOC, PARAMS, ALLOCATED.pack(UNIFORM_SIZE, 1))
        self.send(ALLOC, SOURCE, ALLOCATED.pack(SIZE, 0))
        self.send(ALLOC, TARGET, ALLOCATED.pack(SIZE, 0))
        self.send(KERNEL, KERNEL_NUMBER, kernel())
        return self

    def close(self):
        self.sock.close()

    def reset(self):
        """Die as a killed process does whose data were not read: without a farewell."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def kernel(text=TEXT, inputs=1, outputs=1, faults=0, label=b"k", proven=False) -> bytes:
    return (
        KERNEL_HEAD.pack(inputs, outputs, faults, proven, len(label))
        + label
        + (text if isinstance(text, bytes) else text.encode())
    )


def dispatch(
    pipeline=KERNEL_NUMBER, params=PARAMS, offset=0, grid=(1, 1, 1), buffers=(SOURCE, TARGET)
) -> bytes:
    return bytes_of(Dispatch(pipeline, params, offset, grid, buffers).words())


def copy(source=SOURCE, target=TARGET, n=SIZE) -> bytes:
    return bytes_of(Copy(source, target, n).words())
