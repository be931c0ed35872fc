"""Starts the other workers of `fit(devices=...)`, and joins their group."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

from ..device import Device, get_device
from ..device.adapters import adapters
from ..distributed import (
    ParallelOptions,
    Store,
    StoreServer,
    destroy_process_group,
    init_process_group,
    is_initialized,
    new_token,
)
from ..distributed.wire import TOKEN
from ..errors import DistributedError, FlambeauError, ValueError
from .ray_workers import RayWorkers
from .worker_task import BEGIN_SECONDS, FitTask, work

END_SECONDS = 10.0  # seconds within which they end after the training


def device_names(device: Device, devices: int | Sequence[str]) -> list[str]:
    """Return the device of each worker, the first that of this process. ValueError for fewer than one."""
    if not isinstance(devices, int):
        names = list(devices)
        if not names or get_device(names[0]) is not device:
            rule = f"the first device must be the learner's, {device.name!r}"
            raise ValueError(f"fit(devices={names}): {rule}: pass it first, or Learner(device=...)")
        return names
    if devices < 1:
        raise ValueError(f"fit(devices={devices}): must be at least 1: pass the number of workers")
    if device.kind == "cpu":
        return [device.name] * devices
    own: Any = device.adapter  # a GPU of this machine has one
    alike = [
        f"gpu:{i}"
        for i, a in enumerate(adapters())
        if (a.backend, a.is_software) == (own.backend, own.is_software)
    ]
    first = alike.index(f"gpu:{device.index}")
    return [alike[(first + i) % len(alike)] for i in range(devices)]


def options_of(engine: str | ParallelOptions) -> ParallelOptions:
    """Return the options that `engine` stands for."""
    return ParallelOptions(engine=engine) if isinstance(engine, str) else engine


def begin_launched() -> None:
    """Join the group of the script that `flambeau launch` started, unless this process has a group."""
    if not is_initialized():
        init_process_group()


@contextmanager
def workers(task: FitTask, device: Device, devices: int | Sequence[str]) -> Generator[None]:
    """Start the workers of a task, and join their group as rank 0 in this block."""
    engine = task.parallel.engine
    if engine not in ENGINES:
        raise ValueError(f"fit(engine={engine!r}): is unknown: use one of {', '.join(map(repr, ENGINES))}")
    if is_initialized():
        rule = "this process belongs to a group already: leave devices out"
        raise ValueError(f"fit(devices={devices!r}): {rule}")
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        rule = "a worker imports this script: put the training below `if __name__ == '__main__':`"
        raise FlambeauError(f"fit(devices={devices!r}): {rule}")
    names = device_names(device, devices)
    kind = ENGINES[engine]
    kind.begin()
    data = task.pack(kind.dumps) if len(names) > 1 else b""
    before = os.environ.get(TOKEN)
    token = os.environ[TOKEN] = before or new_token()
    server = StoreServer(kind.address(), token=token)
    started = None
    try:
        started = kind(data, device.name, names[1:], server)
        try:
            store = Store(server.host, server.port, token, BEGIN_SECONDS)
            init_process_group(store=store, rank=0, world_size=len(names), timeout=BEGIN_SECONDS)
        except DistributedError as e:
            raise DistributedError(started.explain(str(e))) from None
        started.watch(task.parallel.restarts)
        yield
    finally:
        destroy_process_group()
        if started is not None:
            started.end()
        server.close()
        if before is None:
            os.environ.pop(TOKEN, None)


class LocalWorkers:
    """Processes of this machine.

    data: the packed task; name: of the device of its tensors. names: the devices of the workers. server: of
    the group.
    """

    dumps = staticmethod(pickle.dumps)

    @staticmethod
    def begin() -> None:
        """Nothing has to run before."""

    @staticmethod
    def address() -> str:
        """Return the address of the group's store."""
        return "127.0.0.1"

    def __init__(self, data: bytes, name: str, names: Sequence[str], server: StoreServer):
        self._context = multiprocessing.get_context("spawn")
        self._common, self._server, self._size = (data, name), server, len(names) + 1
        self._names = list(names)
        self._is_over = threading.Event()
        self.processes = [self._start(i, i + 1) for i in range(len(names))]
        self._joining = threading.Thread(target=self._watch_begin, daemon=True)
        self._is_begun = threading.Event()
        self._joining.start()

    def _start(self, place: int, rank: int) -> BaseProcess:
        address = (self._server.host, self._server.port)
        args = (*self._common, self._names[place], address, rank, self._size)
        # Not a daemon: those can't have the processes of a DataLoader.
        process = self._context.Process(target=work, args=args, name=f"flambeau-worker-{place + 1}")
        process.start()
        return process

    def _failed_processes(self) -> list[BaseProcess]:
        return [p for p in self.processes if p.exitcode not in (None, 0)]

    def _watch_begin(self) -> None:
        """Stop waiting for workers if one has ended."""
        while not self._is_begun.wait(0.05) and not self._is_over.is_set():
            if self._failed_processes():
                self._server.close()
                return

    def explain(self, error: str) -> str:
        """Return the text of an error of the group's beginning."""
        failed = self._failed_processes()
        if not failed:
            return error
        rule = "its error is above"
        return f"fit(devices={self._size}): worker {self.processes.index(failed[0]) + 1} failed: {rule}"

    def watch(self, restarts: int) -> None:
        """Replace up to `restarts` workers that a signal killed."""
        self._is_begun.set()
        if restarts:
            threading.Thread(target=self._replace, args=(restarts,), daemon=True).start()

    def _replace(self, restarts: int) -> None:
        while restarts and not self._is_over.wait(0.05):
            for place, process in enumerate(self.processes):
                if restarts and process.exitcode is not None and process.exitcode < 0:
                    self.processes[place] = self._start(place, place + 1)
                    restarts -= 1

    def end(self) -> None:
        """End the processes."""
        self._is_over.set()
        for process in self.processes:
            process.join(END_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()


ENGINES: dict[str, Any] = {"local": LocalWorkers, "ray": RayWorkers}
