"""The store: keys and values for all workers, and the list of the living ones; in the launcher or rank 0."""

import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..core.version import __version__
from ..errors import DistributedError
from . import wire
from .wire import MAX_VALUE, STORE, FrameError

STRANGERS = 64  # the most connections in a handshake at the same time
MAX_BYTES = 256 << 20  # of all values
PATIENCE = 30.0  # seconds that a client waits for an answer, beside the request's own timeout
POLL = 1.0  # seconds after which the store looks whether a waiting client is still there
JsonObject = dict[str, Any]
# A worker's address for the others, and the block that shows whether they share memory.
INFO = {"address": str, "port": int, "pid": int, "host": str, "probe": int, "nonce": str}


class Reply(NamedTuple):
    """An answer of the store."""

    fields: JsonObject
    value: bytes


def send_frame(connection: socket.socket, fields: JsonObject, value: bytes = b"") -> None:
    """Write one request or answer."""
    connection.sendall(wire.Header(STORE, length=len(value)).pack(json.dumps(fields).encode()) + value)


def read_frame(connection: socket.socket, deadline: float | None = None) -> Reply:
    """Read one request or answer. Raises FrameError for anything else, OSError if the connection ends."""
    header = wire.unpack(wire.read_exactly(connection, wire.HEADER.size, deadline), MAX_VALUE, wire.MAX_TEXT)
    if header.kind != STORE:
        raise FrameError(f"a frame of kind {header.kind} came to the store")
    text = wire.read_exactly(connection, header.text, deadline)
    try:
        fields = json.loads(text)
    except ValueError as e:
        raise FrameError("a frame's text is not JSON") from e
    except RecursionError as e:
        raise FrameError("a frame's JSON is nested too deep") from e
    if not isinstance(fields, dict):
        raise FrameError("a frame's text is not a JSON object")
    return Reply(fields, bytes(wire.read_exactly(connection, header.length, deadline)))


class StoreMember:
    """A worker that is connected to the store."""

    def __init__(self, connection: socket.socket, rank: int, info: JsonObject, generation: int):
        self.connection, self.rank, self.info = connection, rank, info
        self.generation = generation  # its previous generation; 0 for a new worker
        self.has_joined = False  # whether it asked for the next generation
        self.answer: JsonObject | None = None


def is_gone(connection: socket.socket) -> bool:
    """Whether the other side, which waits for an answer, has closed the connection."""
    try:
        if not hasattr(socket, "MSG_DONTWAIT") and not select.select([connection], [], [], 0)[0]:
            return False
        return not connection.recv(1, socket.MSG_PEEK | getattr(socket, "MSG_DONTWAIT", 0))
    except BlockingIOError:
        return False
    except OSError:
        return True


class StoreServer:
    """Serves one run. Each connection has a thread; a connection that ends is a worker that died.

    host, port: where to listen; 0 takes any free port
    token: the secret of the run, needed beyond this machine

    Raises DistributedError if the port is in use, or other machines can connect without a token.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, token: str = ""):
        self.token = token
        self._server = wire.listen(host, port, token)
        self.host, self.port = self._server.getsockname()[:2]
        self._changed = threading.Condition()  # guards all fields below
        self._values: dict[str, bytes] = {}
        self._members: dict[socket.socket, StoreMember] = {}
        self._generation = 0
        self._strangers = 0
        self._connections: set[socket.socket] = set()
        self._closed = False
        threading.Thread(target=self._accept, name="flambeau-store", daemon=True).start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._server.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.05)  # as when the process has no file descriptors left
                continue
            with self._changed:
                if self._strangers >= STRANGERS:
                    connection.close()
                    continue
                self._strangers += 1
                self._connections.add(wire.tune(connection))
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            try:
                wire.handshake(connection, self.token, server=True)
            finally:
                with self._changed:
                    self._strangers -= 1
            while True:
                fields, value = read_frame(connection)
                try:
                    answer, value = self._answer(connection, fields, value)
                except DistributedError as e:
                    answer, value = {"error": str(e)}, b""
                except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as e:
                    answer, value = {"error": f"the store does not understand the request: {e!r}"}, b""
                send_frame(connection, answer, value)
        except (OSError, DistributedError):
            pass  # a stranger, or a worker that ended
        finally:
            connection.close()
            with self._changed:
                self._connections.discard(connection)
                self._members.pop(connection, None)
                self._settle()
                self._changed.notify_all()

    def _answer(
        self, connection: socket.socket, fields: JsonObject, value: bytes
    ) -> tuple[JsonObject, bytes]:
        request = fields["request"]
        if request == "join":
            return self._join(connection, fields), b""
        with self._changed:
            if request in ("joiners", "living"):
                return {"count": self._count(request, int(fields["generation"]))}, b""
            key = str(fields["key"])
            if request == "set":
                self._set(key, value)
            elif request == "add":
                total = int(self._values.get(key, b"0")) + int(fields["amount"])
                self._set(key, str(total).encode())
                return {"value": total}, b""
            elif request == "delete":
                return {"existed": self._values.pop(key, None) is not None}, b""
            elif request == "get":
                return {}, self._get(connection, key, time.monotonic() + float(fields["timeout"]))
            else:
                raise DistributedError(f"the store has no request {request!r}")
            return {}, b""

    def _count(self, request: str, generation: int) -> int:
        """The number of waiting new workers, or of a generation's live workers."""
        members = [m for m in self._members.values() if not (m.has_joined and is_gone(m.connection))]
        if request == "joiners":
            return sum(m.has_joined and not m.generation for m in members)
        return sum(m.generation == generation for m in members)

    def _get(self, connection: socket.socket, key: str, deadline: float) -> bytes:
        def late() -> None:
            raise DistributedError(f"get({key!r}): no rank set this key before the timeout")

        while key not in self._values:
            self._wait(connection, deadline, late)
        return self._values[key]

    def _set(self, key: str, value: bytes) -> None:
        size = sum(map(len, self._values.values())) - len(self._values.get(key, b"")) + len(value)
        if size > MAX_BYTES or len(self._values) > 100_000:
            raise DistributedError(f"set({key!r}): the store is full: it holds {MAX_BYTES >> 20} MiB")
        self._values[key] = value
        self._changed.notify_all()

    # Generations of workers

    def _join(self, connection: socket.socket, fields: JsonObject) -> JsonObject:
        """Wait until all live workers request the next generation; returns its ranks, or why none begins."""
        if fields.get("version") != __version__:
            raise DistributedError(
                f"rank {fields.get('rank')} runs flambeau {fields.get('version')}, the store {__version__}:"
                " install the same version on all hosts"
            )
        info: JsonObject = {name: kind(fields["info"][name]) for name, kind in INFO.items()}
        info["size"] = int(fields["size"])
        member = StoreMember(connection, int(fields["rank"]), info, int(fields["generation"]))
        timeout = float(fields["timeout"])
        deadline = time.monotonic() + timeout
        with self._changed:
            if not self._generation:
                self._check_first(member)
            if member.generation != self._generation:
                member.generation = 0  # it missed a change of the members, so that it is new
            self._members[connection] = member
            member.has_joined = True
            self._settle()
            while member.answer is None:
                self._wait(connection, deadline, partial(self._give_up, member, timeout))
            return member.answer

    def _check_first(self, member: StoreMember) -> None:
        """Check the rank and the world size that a worker of the first generation reports."""
        rank, size = member.rank, member.info["size"]
        others = list(self._members.values())
        if not -1 <= rank < size:
            raise DistributedError(f"rank {rank} is out of range: the world size is {size}")
        if any(m.rank == rank >= 0 and m.has_joined for m in others):
            raise DistributedError(f"rank {rank} joined twice: give each worker its own RANK")
        if any(m.info["size"] != size for m in others):
            raise DistributedError(f"rank {rank} has world size {size}, others {others[0].info['size']}")

    def _wait(self, connection: socket.socket, deadline: float, late: Callable[[], None]) -> None:
        """Wait for a change; call `late` at the deadline. The caller holds the lock."""
        if self._closed:
            raise DistributedError("the store was closed")
        left = deadline - time.monotonic()
        if left > 0:
            self._changed.wait(min(left, POLL))
            if is_gone(connection):
                raise ConnectionError("the client ended")
        else:
            late()

    def _give_up(self, member: StoreMember, timeout: float) -> None:
        """A worker waited long enough: continue without the others, or fail if the run has not begun."""
        waiting = [m for m in self._members.values() if m.has_joined]
        if self._generation and member.generation:
            self._resolve(waiting)
            return
        member.has_joined = False
        if self._generation:
            raise DistributedError(f"the workers did not finish a step within {timeout:.3g} s")
        size, present = member.info["size"], {m.rank for m in waiting}
        missing = ", ".join(str(r) for r in range(size) if r not in present)
        raise DistributedError(
            f"{len(waiting)} of {size} ranks arrived within {timeout:.3g} s: rank {missing} did not: check"
            " that they were started and reach this address"
        )

    def _settle(self) -> None:
        """Form the next generation if all that it needs are here. The caller holds the lock."""
        # A worker that died while it waited is noticed here, so that nobody connects to it.
        waiting = [m for m in self._members.values() if m.has_joined and not is_gone(m.connection)]
        working = [m for m in self._members.values() if m.generation == self._generation and not m.has_joined]
        # The first generation waits for the number that its workers name, later ones for those that live.
        needed = 1 if self._generation else max((m.info["size"] for m in waiting), default=1)
        if len(waiting) >= needed and not (self._generation and working):
            self._resolve(waiting)

    def _resolve(self, waiting: list[StoreMember]) -> None:
        taken = {m.rank for m in waiting}
        free = iter(r for r in range(len(waiting) + len(taken)) if r not in taken)
        # A worker keeps its rank, or gets the requested one; others get the lowest free ranks.
        for member in waiting:
            member.rank = next(free) if member.rank < 0 else member.rank
        # Living workers keep their order, before a new one that asked for the same rank.
        waiting.sort(key=lambda m: (m.rank, not m.generation))
        self._generation += 1
        infos = [m.info | {"old": m.rank if m.generation else -1} for m in waiting]
        for rank, member in enumerate(waiting):
            member.rank, member.generation, member.has_joined = rank, self._generation, False
            member.answer = {"rank": rank, "generation": self._generation, "members": infos}
        self._changed.notify_all()

    @property
    def generation(self) -> int:
        """How often the members changed; 0 before all arrived."""
        return self._generation

    def close(self) -> None:
        """End all connections."""
        with self._changed:
            self._closed = True
            connections = list(self._connections)
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._server.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Store:
    """A client of the store. Values are bytes; torch's names.

    host, port, token: the server's
    timeout: seconds to connect, and that `get` and `wait` wait for a key

    Raises DistributedError if no server answers within `timeout`, or the tokens or the protocols differ.
    """

    def __init__(self, host: str, port: int, token: str = "", timeout: float = 300.0):
        self.timeout = timeout
        self._lock = threading.Lock()
        self.connection = wire.connect(host, port, token, timeout)

    def request(self, fields: JsonObject, value: bytes = b"", wait: float = 0.0) -> Reply:
        """One request. Raises DistributedError with the store's reason, or if the store is gone."""
        if len(value) > MAX_VALUE:
            raise DistributedError(f"a value of {len(value)} bytes is too large: at most {MAX_VALUE} fit")
        with self._lock:
            try:
                send_frame(self.connection, fields, value)
                reply = read_frame(self.connection, time.monotonic() + wait + PATIENCE)
            except (OSError, FrameError) as e:
                self.connection.close()  # a late answer must not be taken for the next request's
                raise DistributedError(
                    f"the store has closed ({e}): its process, the launcher or rank 0, has ended"
                ) from e
        if "error" in reply.fields:
            raise DistributedError(str(reply.fields["error"]))
        return reply

    def set(self, key: str, value: bytes | str) -> None:
        """Store a value."""
        self.request({"request": "set", "key": key}, value.encode() if isinstance(value, str) else value)

    def get(self, key: str, timeout: float | None = None) -> bytes:
        """The value of a key; waits until a rank sets it. Raises DistributedError after the timeout."""
        seconds = self.timeout if timeout is None else timeout
        return self.request({"request": "get", "key": key, "timeout": seconds}, wait=seconds).value

    def add(self, key: str, amount: int) -> int:
        """Add to a counter that begins at 0. Returns the sum."""
        return int(self.request({"request": "add", "key": key, "amount": amount}).fields["value"])

    def wait(self, keys: list[str], timeout: float | None = None) -> None:
        """Wait until all keys are set. Raises DistributedError after the timeout."""
        for key in keys:
            self.get(key, timeout)

    def delete_key(self, key: str) -> bool:
        """Remove a key. Returns whether it existed."""
        return bool(self.request({"request": "delete", "key": key}).fields["existed"])

    def close(self) -> None:
        """End the connection; the store counts this worker as gone."""
        self.connection.close()
