"""One client of a server: its thread receives messages, runs them and answers."""

import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.node import has_run
from ..errors import FlambeauError
from . import messages as wire
from . import websocket
from .handshake import admit
from .objects import KernelText, Objects
from .streams import Closed, Incoming, Socket, TlsSocket, keep_alive, sends

if TYPE_CHECKING:
    from .server import Server

STALLED = 30.0  # seconds without bytes inside a message, or without a reader, after which a client is dropped
GREETING = 10.0  # the same before it is admitted
ADMITTED = 20.0  # seconds within which a client must be admitted
QUIET = 2.0  # seconds of computing after which a sign of life is sent
SPIN, NAP, LONGEST = 100e-6, 50e-6, 1e-3  # seconds: as reads on a local device wait
PENDING = 16  # reads that wait for the GPU, each with a copy: no more messages are received meanwhile
IDLE = 60.0  # seconds between two looks whether the connection is still there


class Pending(NamedTuple):
    """A read whose copy was submitted."""

    id: int
    fetch: Any
    is_read: bool  # else it only reports that everything is done


class ClientSession:
    """One client. `device` and `objects` are set after the handshake."""

    def __init__(self, server: "Server", sock: Any, peer: str):
        self.server, self.peer = server, peer
        self._raw = sock
        self._sock: Socket = sock
        self._incoming: Any = None
        self._objects: Objects | None = None
        self.pending: deque[Pending] = deque()
        self._sending = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"flambeau remote {peer}", daemon=True)
        self._busy_since = 0.0  # when it began to compute; 0 while it waits for the client
        self._computed = 0.0  # seconds of earlier messages
        self._answered, self._began = 0.0, time.monotonic()  # when it last sent something; connected

    @property
    def used(self) -> int:
        """The bytes of its buffers."""
        return self._objects.used if self._objects is not None else 0

    def start(self) -> None:
        """Serve the client in a thread."""
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread."""
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def end(self, why: str = "") -> None:
        """End the connection, from another thread, with a reason."""
        if why:
            self._say(wire.encode_error(0, wire.Rejected(why)), QUIET)
        with suppress(OSError):
            self._raw.shutdown(2)

    def look(self, seconds: float | None) -> None:
        """Send a sign of life while it computes; end it after `seconds` of computing in all."""
        now, since = time.monotonic(), self._busy_since
        if self._objects is None and now - self._began > ADMITTED:
            return self.end()
        computed = self._computed + (now - since if since else 0.0)
        if seconds is not None and computed > seconds:
            self.end(f"remote: this server lets a client compute for {seconds:g} s: ask for more, --seconds")
        elif since and now - max(since, self._answered) > QUIET:
            self._say(wire.encode(wire.ALIVE, 0), 0.0)

    def _say(self, message: bytes, seconds: float) -> None:
        """Send a message from another thread, unless the client's own sends for longer."""
        if self._sending.acquire(timeout=seconds):
            try:
                with suppress(OSError, ValueError):
                    sends(self._sock, (message,))
            finally:
                self._sending.release()

    # --- the thread ---

    def _run(self) -> None:
        try:
            self._greet()
            self._serve()
        except wire.Rejected as e:
            self.answer(wire.encode_error(0, e))
        except FlambeauError as e:  # the device was lost
            self.answer(wire.encode_error(0, e))
        except (OSError, ssl.SSLError):
            pass  # the client is gone, or broke the protocol of WebSockets
        except Exception as e:
            self.answer(
                wire.encode_error(0, wire.Rejected(f"remote: the server failed: {type(e).__name__}: {e}"))
            )
            raise
        finally:
            self._free()

    def _free(self) -> None:
        self.pending.clear()
        if self._objects is not None:
            with self._objects.device.lock, suppress(FlambeauError):
                self._objects.free_all()
        with suppress(OSError):
            self._raw.settimeout(QUIET)
            self._sock.close()
        with suppress(OSError):
            self._raw.close()
        self.server.ended(self)

    def answer(self, *parts: Any) -> None:
        """Send a message. If the client is gone, or does not receive, the next receive fails."""
        self._answered = time.monotonic()
        with self._sending:
            try:
                sends(self._sock, parts)
            except (OSError, ValueError):
                self.end()  # half a message may have been sent

    def _greet(self) -> None:
        """TLS, a WebSocket where one is asked for, and the handshake."""
        keep_alive(self._raw, STALLED)
        self._raw.settimeout(GREETING)
        if self.server.tls is not None:
            self._sock = TlsSocket(self._raw, self.server.tls)
        incoming = Incoming(self._sock)
        first = incoming.exactly(len(wire.PREFACE))
        if first != wire.PREFACE:
            incoming = self._upgrade(incoming, first)
        steps = admit(self.server.token)
        next(steps)
        try:
            while True:
                n, kind, id = wire.HEADER.unpack(incoming.exactly(wire.HEADER.size))
                if n > wire.SMALL:
                    raise wire.Rejected(
                        f"remote: a message of {n:,} bytes came before the end of the handshake"
                    )
                self.answer(steps.send(wire.Received(kind, id, incoming.exactly(n))))
        except StopIteration as end:
            name, proof = end.value
        device = self.server.device_of(name)
        if device is None:
            raise wire.Rejected(
                f"remote: no device {name[:40]!r} here: {', '.join(self.server.devices)} are served"
            )
        self._raw.settimeout(STALLED)
        self._incoming = incoming
        self._objects = Objects(device, self.server.memory)
        welcome = {"proof": proof, "device": device.describe(), "memory": self.server.memory}
        self.answer(wire.encode_json(wire.WELCOME, 0, welcome))

    def _upgrade(self, incoming: Incoming, first: bytes) -> Incoming:
        """A page's connection: a WebSocket whose messages are one stream of bytes."""
        if first[:4] != b"GET ":
            raise wire.Rejected("remote: the first bytes are not from a Flambeau client: does it use TLS?")
        incoming.unread(first)
        request = websocket.read_request(incoming)
        if self.server.token is None and not websocket.is_local(request):
            websocket.refuse(self._sock, 403, "pages of other hosts need a server with a token")
            raise Closed("a page of another host")
        end = websocket.upgrade(self._sock, incoming, request)
        self._sock = end
        incoming = Incoming(end)
        if incoming.exactly(len(wire.PREFACE)) != wire.PREFACE:
            raise wire.Rejected("remote: the first bytes are not from a Flambeau client")
        return incoming

    def _serve(self) -> None:
        incoming, objects = self._incoming, self._objects
        assert objects is not None
        began, nap = time.perf_counter(), NAP
        while True:
            if self.pending:
                if self._answer_ready():
                    continue
                waited = time.perf_counter() - began
                nap = 0.0 if waited < SPIN else min(max(1.2 * nap, NAP), LONGEST)
                if len(self.pending) >= PENDING:
                    time.sleep(nap)
                    continue
                if not incoming.ready(nap):
                    continue
            elif not incoming.ready(0):
                self._count_time()
                if not incoming.ready(IDLE):
                    continue
                self._busy_since = time.monotonic()
            n, kind, id = wire.HEADER.unpack(incoming.exactly(wire.HEADER.size))
            self._message(objects, kind, id, n)
            began = time.perf_counter()

    def _count_time(self) -> None:
        """Count the time that it computed, before it waits for the client."""
        if self._busy_since:
            self._computed += time.monotonic() - self._busy_since
            self._busy_since = 0.0

    def _answer_ready(self) -> bool:
        """Answer the oldest read if its values have arrived."""
        pending = self.pending[0]
        if not pending.fetch.is_done():
            return False
        parts = pending.fetch.wait()
        self.pending.popleft()
        if pending.is_read:
            n = sum(len(part) for part in parts)
            self.answer(wire.HEADER.pack(n, wire.DATA, pending.id), *parts)
        else:
            self.answer(wire.encode(wire.DONE, pending.id))
        return True

    def _message(self, objects: Objects, kind: int, id: int, n: int) -> None:
        """Receive a payload, whose length is checked before, and handle the message."""
        handler = HANDLERS.get(kind)
        if handler is None:
            raise wire.Rejected(f"remote: messages of kind {kind} are unknown")
        most = objects.buffer(id).size if kind == wire.WRITE else wire.SMALL if kind in SHORT else wire.MOST
        if n > most:
            raise wire.Rejected(f"remote: {n:,} bytes in a message of kind {kind}: at most {most:,}")
        payload = bytearray(n)
        self._incoming.into(memoryview(payload))
        handler(self, objects, id, payload)


# --- handlers of messages ---


def allocate(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    if len(payload) != wire.ALLOCATED.size:
        raise wire.Rejected("remote: an allocation needs a size and a usage")
    size, is_uniform = wire.ALLOCATED.unpack(payload)
    with objects.device.lock:
        objects.alloc(id, size, bool(is_uniform))


def write(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    if len(payload) % 4:
        raise wire.Rejected(f"remote: {len(payload):,} bytes to write: must be a multiple of 4")
    with objects.device.lock:
        objects.write(id, payload)


def patch(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    with objects.device.lock:
        objects.patch(id, wire.words_of(payload))


def free(session: ClientSession, objects: Objects, _id: int, payload: bytearray) -> None:
    with objects.device.lock:
        objects.free(wire.words_of(payload))


def forget(session: ClientSession, objects: Objects, _id: int, payload: bytearray) -> None:
    with objects.device.lock:
        objects.forget(wire.words_of(payload))


def add_kernel(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    if len(payload) < wire.KERNEL_HEAD.size:
        raise wire.Rejected("remote: a kernel has no header")
    inputs, outputs, faults, proven, n = wire.KERNEL_HEAD.unpack_from(payload)
    rest = payload[wire.KERNEL_HEAD.size :]
    try:
        label, text = rest[:n].decode(), rest[n:].decode()
    except UnicodeDecodeError:
        raise wire.Rejected("remote: a kernel's text is not UTF-8") from None
    with objects.device.lock:
        objects.add_kernel(id, KernelText(text, label, inputs, outputs, faults, bool(proven)))


def add_program(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    with objects.device.lock:
        objects.add_program(id, wire.words_of(payload))


def submit(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    with objects.device.lock:
        objects.submit(wire.words_of(payload))
    objects.device.keep_pace()
    if id:
        session.answer(wire.encode(wire.DONE, id))


def read(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    requested = wire.pairs_of(payload)
    if len(set(requested)) < len(requested):
        raise wire.Rejected("remote: two reads of a buffer overlap")
    try:
        with objects.device.lock:
            session.pending.append(Pending(id, objects.device.fetch(objects.readable(requested)), True))
    except wire.Rejected:
        raise
    except FlambeauError as e:
        objects.device.check()
        session.answer(wire.encode_error(id, e))
    has_run()  # several clients' threads: then waits do not block the others


def wait_for_all(session: ClientSession, objects: Objects, id: int, _payload: bytearray) -> None:
    with objects.device.lock:
        session.pending.append(Pending(id, objects.device.fetch_nothing(), False))


def check_kernels(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    wrong: dict[int, str] = {}
    for number in wire.words_of(payload):
        if (kernel := objects.kernels.get(number)) is None:
            raise wire.Rejected(f"remote: no kernel has the number {number:,}")
        try:
            if kernel.error is not None:
                raise kernel.error
            objects.device.compiled(kernel.number)
        except wire.Rejected:
            raise
        except FlambeauError as e:
            wrong[number] = str(e)
    session.answer(wire.encode_json(wire.DONE, id, wrong))


def times(session: ClientSession, objects: Objects, id: int, payload: bytearray) -> None:
    try:
        with objects.device.lock:
            stamps = objects.timestamps(wire.words_of(payload))
        session.answer(wire.encode_json(wire.DONE, id, {"times": stamps.wait()}))
    except wire.Rejected:
        raise
    except FlambeauError as e:
        session.answer(wire.encode_error(id, e))


Handler = Callable[[ClientSession, Objects, int, bytearray], None]
HANDLERS: dict[int, Handler] = {
    wire.ALLOC: allocate,
    wire.WRITE: write,
    wire.PATCH: patch,
    wire.FREE: free,
    wire.FORGET: forget,
    wire.KERNEL: add_kernel,
    wire.PROGRAM: add_program,
    wire.SUBMIT: submit,
    wire.READ: read,
    wire.WAIT: wait_for_all,
    wire.CHECK: check_kernels,
    wire.TIMES: times,
}
SHORT = (wire.ALLOC, wire.WAIT)
