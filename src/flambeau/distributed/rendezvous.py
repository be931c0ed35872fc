"""Joins the workers of a run: the store lists them, and each connects to all others."""

import contextlib
import os
import secrets
import socket
import threading
import time

from ..core.version import __version__
from ..errors import DistributedError
from . import wire
from .group import ProcessGroup
from .memory import can_map, host_key, make_block
from .mesh import Mesh
from .store import STRANGERS, JsonObject, Store, read_frame, send_frame

TICK = 0.02  # seconds of a wait for a connection
CHECK_SECONDS = 0.2  # between questions to the store whether all workers live


class MemberDied(DistributedError):
    """A worker of a new generation died before all were connected."""

    def __init__(self, generation: int):
        super().__init__("a worker died while the others connected to it")
        self.generation = generation


class Reception:
    """Accepts the connections of the ranks above this one; strangers are disconnected.

    hello: this worker's description, which must equal the others' except for the rank.
    """

    def __init__(self, server: socket.socket, token: str, hello: JsonObject):
        self.server, self.token, self.hello = server, token, hello
        self.sockets: dict[int, socket.socket] = {}
        self._lock = threading.Lock()
        self._greeters = threading.Semaphore(STRANGERS)

    def accept(self) -> None:
        """Accept a connection if one comes within some milliseconds; a thread greets it."""
        self.server.settimeout(TICK)
        with contextlib.suppress(TimeoutError):
            connection, _ = self.server.accept()
            if self._greeters.acquire(blocking=False):
                threading.Thread(target=self._greet, args=(connection,), daemon=True).start()
            else:
                connection.close()

    def _greet(self, connection: socket.socket) -> None:
        try:
            wire.handshake(connection, self.token, server=True)
            fields = read_frame(connection, time.monotonic() + wire.HANDSHAKE_SECONDS).fields
            connection.settimeout(None)
            rank = fields.pop("rank", None)
            with self._lock:
                is_valid = isinstance(rank, int) and rank > self.hello["rank"] and rank not in self.sockets
                if is_valid and fields == {"generation": self.hello["generation"]}:
                    self.sockets[rank] = wire.tune(connection)
                    return
            connection.close()
        except (OSError, DistributedError):
            connection.close()
        finally:
            self._greeters.release()


class Worker:
    """This worker's place in a run: its connection to the store, which counts it as alive while it lasts.

    store: the run's. token: the secret of the run. rank: the requested one, -1 for any. size: the initial
    number of workers. shared_memory: whether to use it with ranks of the same host.
    """

    def __init__(self, store: Store, token: str, rank: int, size: int, shared_memory: bool = True):
        self.store, self.token, self.rank, self.size = store, token, rank, size
        self.host = host_key() if shared_memory else ""
        # Peers try to read this block: where they cannot, payloads go through sockets.
        self.nonce, self.probe = secrets.token_hex(16), make_block() if self.host else None
        if self.probe is None:
            self.host = ""
        else:
            self.probe.memory[: len(self.nonce)] = self.nonce.encode()
        self.old_ranks: list[int] = []  # of the current members in the generation before, -1 for new ones

    def join(self, timeout: float, generation: int = 0) -> ProcessGroup:
        """Wait for the other workers and connect to them. Raises DistributedError after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self._join(max(deadline - time.monotonic(), 0.0), generation)
            except MemberDied as e:
                generation = e.generation  # a worker died between the store's answer and our connection to it

    def _join(self, timeout: float, generation: int) -> ProcessGroup:
        local = self.store.connection.getsockname()[0]
        server = wire.listen(local, 0, self.token)
        try:
            info: JsonObject = {
                "address": local, "port": server.getsockname()[1], "pid": os.getpid(), "host": self.host,
                "probe": self.probe.file if self.probe else -1, "nonce": self.nonce,
            }  # fmt: skip
            fields = {
                "request": "join", "rank": self.rank, "size": self.size, "generation": generation,
                "timeout": timeout, "version": __version__, "info": info,
            }  # fmt: skip
            answer = self.store.request(fields, wait=timeout).fields
            self.rank = answer["rank"]
            members, generation = answer["members"], answer["generation"]
            self.old_ranks = [m["old"] for m in members]
            sockets = self._connect(server, members, generation, time.monotonic() + timeout)
        finally:
            server.close()
        others = {r: m for r, m in enumerate(members) if r != self.rank}
        neighbours = {r: m for r, m in others.items() if m["host"] and m["host"] == self.host}
        pids = {r: m["pid"] for r, m in neighbours.items() if can_map(m["pid"], m["probe"], m["nonce"])}
        group = ProcessGroup(Mesh(self.rank, sockets, pids, generation), timeout=timeout)
        group.elastic = self
        return group

    def _connect(
        self, server: socket.socket, members: list[JsonObject], generation: int, deadline: float
    ) -> dict[int, socket.socket]:
        """Connect to the ranks below and accept those above."""
        own, hello = self.rank, {"rank": self.rank, "generation": generation}
        reception = Reception(server, self.token, hello)
        sockets, checked = reception.sockets, time.monotonic()
        try:
            for rank, place in enumerate(members[:own]):
                # Its port is open since before it joined: no retries.
                sockets[rank] = wire.connect(place["address"], place["port"], self.token, 5.0, retry=False)
                send_frame(sockets[rank], hello)
            while missing := [r for r in range(len(members)) if r != own and r not in sockets]:
                reception.accept()
                if time.monotonic() > checked + CHECK_SECONDS:
                    self._check_living(len(members), generation)
                    checked = time.monotonic()
                if checked > deadline:
                    raise DistributedError(f"rank {missing[0]} did not connect to rank {own} in time")
        except (OSError, DistributedError) as e:
            for connection in sockets.values():
                connection.close()
            tries = 0 if isinstance(e, MemberDied) else 10  # the store may hear of a death a little later
            for _ in range(tries):
                self._check_living(len(members), generation)
                time.sleep(TICK)
            raise
        return sockets

    def _check_living(self, count: int, generation: int) -> None:
        """Raises MemberDied if one of `count` workers of a generation has died since the store answered."""
        living = self.store.request({"request": "living", "generation": generation}).fields["count"]
        if living < count:
            raise MemberDied(generation)

    def regroup(self, group: ProcessGroup, timeout: float) -> ProcessGroup:
        """The next generation of a group that has been closed."""
        if group.size != group.mesh.size:
            raise DistributedError(
                "reconfigure: call it on the group of all ranks, then create the other groups again"
            )
        following = self.join(timeout, group.generation)
        following.timeout = group.timeout
        return following

    def joiners(self) -> int:
        """How many new workers wait for the next generation."""
        return int(self.store.request({"request": "joiners", "generation": 0}).fields["count"])

    def close(self) -> None:
        """Leave the run."""
        self.store.close()
        if self.probe is not None:
            os.close(self.probe.file)
            self.probe = None


def new_token() -> str:
    """Return a random secret for one run."""
    return secrets.token_hex(16)
