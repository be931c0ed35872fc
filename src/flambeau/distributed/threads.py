"""Ranks as threads of one process, over the same sockets and shared memory as processes."""

import os
import socket
import threading
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .group import TIMEOUT, ProcessGroup
from .memory import host_key
from .mesh import Mesh
from .rendezvous import Worker
from .store import Store, StoreServer

# The group of a thread that is a rank; other threads have the group of init_process_group.
thread_group: ContextVar[ProcessGroup | None] = ContextVar("thread_group", default=None)


def connect_threads(
    size: int, shared_memory: bool | None = None, timeout: float = TIMEOUT
) -> list[ProcessGroup]:
    """Return the groups of `size` ranks of this process, connected by sockets. Each belongs to one thread.

    shared_memory: whether large payloads go through it; None where the system has it
    timeout: seconds that a call waits for the other ranks
    """
    if shared_memory is None:
        shared_memory = bool(host_key())
    sockets: list[dict[int, socket.socket]] = [{} for _ in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            sockets[i][j], sockets[j][i] = socket.socketpair()
    pids = [{r: os.getpid() for r in s} if shared_memory else None for s in sockets]
    return [
        ProcessGroup(Mesh(rank, s, p), timeout=timeout)
        for rank, (s, p) in enumerate(zip(sockets, pids, strict=True))
    ]


def join_threads(
    count: int, store: StoreServer, timeout: float = TIMEOUT, *, first: int = 0, size: int | None = None
) -> list[ProcessGroup]:
    """The groups of `count` new ranks of this process that join the run of a store, as processes do.

    first: the first one's rank, -1 for any ranks. size: the initial number of workers, None for `count`.
    """
    groups: dict[int, ProcessGroup] = {}

    def join(number: int) -> None:
        client = Store(store.host, store.port, store.token, timeout)
        rank = first + number if first >= 0 else -1
        groups[number] = Worker(client, store.token, rank, size or count).join(timeout)

    threads = [threading.Thread(target=join, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [groups[n] for n in range(count)]


@contextmanager
def as_rank(group: ProcessGroup):
    """Let the functions of flambeau.distributed use this group in this thread, inside the block."""
    token = thread_group.set(group)
    try:
        yield group
    finally:
        thread_group.reset(token)


def run_threads(
    size: int,
    function: Callable[[ProcessGroup], Any],
    *,
    shared_memory: bool | None = None,
    timeout: float = 60.0,
) -> list[Any]:
    """Call function(group) in `size` threads, each one rank; returns their results in order.

    The first error of a rank stops the others and is raised.
    shared_memory: whether large payloads go through it; None where the system has it
    timeout: seconds, of each collective
    """
    groups = connect_threads(size, shared_memory, timeout)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        with as_rank(groups[rank]):
            try:
                results[rank] = function(groups[rank])
            except BaseException as e:
                errors.append(e)
                # The others stop now, not at their timeout.
                groups[rank].abort(f"{type(e).__name__}: {e}")

    threads = [threading.Thread(target=run, args=(r,), name=f"rank {r}", daemon=True) for r in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for group in groups:
        group.close(goodbye=False)
    if errors:
        raise errors[0]
    return results
