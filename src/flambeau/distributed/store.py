"""The store: keys and values for all workers, and the list of the living ones; in the launcher or rank 0."""

import contextlib
import json
import socket
import threading
import time
from typing import Any, NamedTuple

from ..core.version import __version__
from ..errors import DistributedError
from . import wire
from .wire import MAX_VALUE, STORE, FrameError

STRANGERS = 64  # connections that may be in their handshake at once
MAX_BYTES = 256 << 20  # of all values
JsonObject = dict[str, Any]


class Reply(NamedTuple):
    """An answer of the store."""

    fields: JsonObject
    value: bytes


def send_frame(connection: socket.socket, fields: JsonObject, value: bytes = b"") -> None:
    """Write one request or answer."""
    connection.sendall(wire.Header(STORE, length=len(value)).pack(json.dumps(fields).encode()) + value)


def read_frame(connection: socket.socket, deadline: float | None = None) -> Reply:
    """Read one request or answer. Raises FrameError for anything else, OSError if the connection ends."""
    header = wire.unpack(wire.read_exactly(connection, wire.HEADER.size, deadline), MAX_VALUE)
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

    def __init__(self, rank: int, info: JsonObject, generation: int):
        self.rank, self.info = rank, info
        self.generation = generation  # the one that it comes from; 0 for a new worker
        self.joined = 0.0  # when it asked for the next generation; 0 while it works
        self.answer: JsonObject | None = None


class StoreServer:
    """Serves one run. Each connection has a thread; a connection that ends is a worker that died.

    host, port: where to listen; 0 takes any free port. token: the secret of the run, needed beyond this
    machine.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, token: str = ""):
        self.token = token
        self._server = wire.listen(host, port, token)
        self.host, self.port = self._server.getsockname()[:2]
        self._changed = threading.Condition()  # guards all fields below
        self._values: dict[str, bytes] = {}
        self._members: dict[int, StoreMember] = {}  # by a number of its connection
        self._generation = 0
        self._strangers = 0
        self._connections: set[socket.socket] = set()
        self._closed = False
        threading.Thread(target=self._accept, name="flambeau-store", daemon=True).start()

    def _accept(self) -> None:
        number = 0
        while not self._closed:
            try:
                connection, _ = self._server.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.05)  # as when the process has no file descriptors left
                continue
            number += 1
            with self._changed:
                if self._strangers >= STRANGERS:
                    connection.close()
                    continue
                self._strangers += 1
                self._connections.add(wire.tune(connection))
            threading.Thread(target=self._serve, args=(number, connection), daemon=True).start()

    def _serve(self, number: int, connection: socket.socket) -> None:
        try:
            try:
                wire.handshake(connection, self.token, server=True)
            finally:
                with self._changed:
                    self._strangers -= 1
            while True:
                fields, value = read_frame(connection)
                try:
                    answer, value = self._answer(number, fields, value)
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
                self._members.pop(number, None)
                self._settle()
                self._changed.notify_all()

    def _answer(self, number: int, fields: JsonObject, value: bytes) -> tuple[JsonObject, bytes]:
        request = fields["request"]
        if request == "join":
            return self._join(number, fields), b""
        deadline = time.monotonic() + float(fields.get("timeout", 0))
        with self._changed:
            if request == "joiners":
                return {"count": sum(m.joined > 0 and not m.generation for m in self._members.values())}, b""
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
                return {}, self._get(key, deadline)
            else:
                raise DistributedError(f"the store has no request {request!r}")
            return {}, b""

    def _get(self, key: str, deadline: float) -> bytes:
        while key not in self._values:
            if (left := deadline - time.monotonic()) <= 0 or self._closed:
                raise DistributedError(f"get({key!r}): no rank set this key before the timeout")
            self._changed.wait(min(left, 3600))
        return self._values[key]

    def _set(self, key: str, value: bytes) -> None:
        size = sum(map(len, self._values.values())) - len(self._values.get(key, b"")) + len(value)
        if size > MAX_BYTES or len(self._values) > 100_000:
            raise DistributedError(f"set({key!r}): the store is full: it holds {MAX_BYTES >> 20} MiB")
        self._values[key] = value
        self._changed.notify_all()

    # Generations of workers

    def _join(self, number: int, fields: JsonObject) -> JsonObject:
        """Wait until all living workers ask for the next generation; its ranks, or why there is none."""
        if fields.get("version") != __version__:
            raise DistributedError(
                f"rank {fields.get('rank')} runs flambeau {fields.get('version')}, the store {__version__}:"
                " install the same version on all hosts"
            )
        rank, size, generation = int(fields["rank"]), int(fields["size"]), int(fields["generation"])
        info = dict(fields["info"])
        start, timeout = time.monotonic(), float(fields["timeout"])
        with self._changed:
            if not self._generation and rank >= 0:
                if rank >= size > 0:
                    raise DistributedError(f"rank {rank} is out of range: the world size is {size}")
                if any(m.rank == rank and m.joined for m in self._members.values()):
                    raise DistributedError(f"rank {rank} joined twice: give each worker its own RANK")
            if (
                known := next((m.info["size"] for m in self._members.values()), size)
            ) != size and not self._generation:
                raise DistributedError(f"rank {rank} has world size {size}, others have {known}")
            member = self._members[number] = StoreMember(rank, info | {"size": size}, generation)
            if generation != self._generation:
                member.generation = 0  # it missed a change of the members, so that it is new
            member.joined = time.monotonic()
            self._settle()
            while member.answer is None:
                left = start + timeout - time.monotonic()
                if left <= 0:
                    self._give_up(member, size, timeout)
                elif self._closed:
                    raise DistributedError("the store was closed")
                else:
                    self._changed.wait(min(left, 3600))
            return member.answer

    def _give_up(self, member: StoreMember, size: int, timeout: float) -> None:
        """A worker waited long enough: go on without the others, or fail if the run has not begun."""
        waiting = [m for m in self._members.values() if m.joined]
        if self._generation and member.generation:
            self._resolve(waiting)
            return
        member.joined = 0.0
        if self._generation:
            raise DistributedError(f"the workers did not reach a step boundary within {timeout:g} s")
        present = sorted(m.rank for m in waiting if m.rank >= 0)
        missing = [r for r in range(size) if r not in present]
        raise DistributedError(
            f"{len(waiting)} of {size} ranks arrived within {timeout:g} s: rank"
            f" {', '.join(map(str, missing))} did not: check that they were started and reach this address"
        )

    def _settle(self) -> None:
        """Form the next generation if all that it needs are here. The caller holds the lock."""
        waiting = [m for m in self._members.values() if m.joined and m.answer is None]
        if not waiting:
            return
        if self._generation:
            current = [m for m in self._members.values() if m.generation == self._generation]
            if all(m.joined for m in current):
                self._resolve(waiting)
        elif len(waiting) >= int(waiting[0].info["size"]):
            self._resolve(waiting)

    def _resolve(self, waiting: list[StoreMember]) -> None:
        taken = {m.rank for m in waiting}
        free = iter(r for r in range(len(waiting) + len(taken)) if r not in taken)
        for member in waiting:
            member.rank = next(free) if member.rank < 0 else member.rank
        waiting.sort(key=lambda m: (m.rank, not m.generation))
        self._generation += 1
        infos = [m.info | {"old": m.rank if m.generation else -1} for m in waiting]
        for rank, member in enumerate(waiting):
            member.rank, member.generation, member.joined = rank, self._generation, 0.0
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

    host, port, token: the server's. timeout: seconds to connect, and that `get` and `wait` wait for a key.
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
                reply = read_frame(self.connection, time.monotonic() + wait + 30.0)
            except OSError as e:
                raise DistributedError(
                    f"the store is gone ({e}): its process, the launcher or rank 0, ended"
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
