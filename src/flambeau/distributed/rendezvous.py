"""Joins the workers of a run: the store lists them, and each connects to all others."""

import contextlib
import os
import secrets
import socket
import threading
import time
from typing import Any

from ..core.version import __version__
from ..errors import DistributedError
from . import wire
from .group import ProcessGroup
from .memory import host_key
from .mesh import Mesh
from .store import JsonObject, Store, read_frame, send_frame
from .wire import FrameError


class Worker:
    """This worker's place in a run: its connection to the store, which counts it as alive while it lasts.

    store: the run's. token: the secret of the run. rank: the wanted one, -1 for any. size: how many workers
    the run begins with. shared_memory: whether to use it with ranks of the same host.
    """

    def __init__(self, store: Store, token: str, rank: int, size: int, shared_memory: bool = True):
        self.store, self.token, self.rank, self.size = store, token, rank, size
        self.host = host_key() if shared_memory else ""
        self.old_ranks: list[int] = []  # of the current members in the generation before, -1 for new ones

    def join(self, timeout: float, generation: int = 0, rank: int | None = None) -> ProcessGroup:
        """Wait for the other workers and connect to them. Raises DistributedError after `timeout` seconds."""
        local = self.store.connection.getsockname()[0]
        server = wire.listen(local, 0, self.token)
        try:
            info: JsonObject = {
                "address": local, "port": server.getsockname()[1], "pid": os.getpid(), "host": self.host,
            }  # fmt: skip
            fields = {
                "request": "join", "rank": self.rank if rank is None else rank, "size": self.size,
                "generation": generation, "timeout": timeout, "version": __version__, "info": info,
            }  # fmt: skip
            answer = self.store.request(fields, wait=timeout).fields
            own, members, number = answer["rank"], answer["members"], answer["generation"]
            sockets = self._connect(server, own, members, number, time.monotonic() + timeout)
        finally:
            server.close()
        self.rank = own
        self.old_ranks = [m["old"] for m in members]
        pids = {
            r: m["pid"] for r, m in enumerate(members) if r != own and m["host"] and m["host"] == self.host
        }
        group = ProcessGroup(Mesh(own, sockets, pids, number), timeout=timeout)
        group.elastic = self
        return group

    def _connect(
        self, server: socket.socket, own: int, members: list[JsonObject], generation: int, deadline: float
    ) -> dict[int, socket.socket]:
        """Connect to the ranks below and accept those above."""
        sockets: dict[int, socket.socket] = {}
        hello = {"rank": own, "generation": generation}
        for rank in range(own):
            place = members[rank]
            connection = wire.connect(
                place["address"], place["port"], self.token, max(deadline - time.monotonic(), 0.1)
            )
            send_frame(connection, hello)
            sockets[rank] = connection
        arrived = threading.Condition()

        def greet(connection: socket.socket) -> None:
            with contextlib.suppress(OSError, DistributedError):
                wire.handshake(connection, self.token, server=True)
                rank = _check_hello(
                    read_frame(connection, time.monotonic() + wire.HANDSHAKE_SECONDS).fields, hello
                )
                connection.settimeout(None)
                with arrived:
                    if own < rank < len(members) and rank not in sockets:
                        sockets[rank] = wire.tune(connection)
                        arrived.notify_all()
                        return
            connection.close()

        while True:
            with arrived:
                missing = [r for r in range(len(members)) if r != own and r not in sockets]
            if not missing:
                return sockets
            if time.monotonic() > deadline:
                for connection in sockets.values():
                    connection.close()
                raise DistributedError(f"rank {missing[0]} did not connect to rank {own} before the timeout")
            server.settimeout(0.02)
            with contextlib.suppress(TimeoutError):
                connection, _ = server.accept()
                threading.Thread(target=greet, args=(connection,), daemon=True).start()

    def regroup(self, group: ProcessGroup, timeout: float) -> ProcessGroup:
        """The next generation of a group that has been closed."""
        if group.size != group.mesh.size:
            raise DistributedError(
                "reconfigure: call it on the group of all ranks, then make the others again"
            )
        following = self.join(timeout, group.generation, group.rank)
        following.timeout = group.timeout
        return following

    def joiners(self) -> int:
        """How many new workers wait for the next generation."""
        return int(self.store.request({"request": "joiners"}).fields["count"])

    def close(self) -> None:
        """Leave the run."""
        self.store.close()


def _check_hello(fields: dict[str, Any], own: JsonObject) -> int:
    if fields.get("generation") != own["generation"] or not isinstance(fields.get("rank"), int):
        raise FrameError("a worker of another generation connected")
    return fields["rank"]


def new_token() -> str:
    """A secret for one run."""
    return secrets.token_hex(16)
