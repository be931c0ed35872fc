"""Starts the workers of one host, runs their store, and ends all of them together."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from ..device.adapters import adapters
from ..errors import DeviceError, DistributedError, ValueError
from . import wire
from .rendezvous import new_token
from .store import StoreServer

MASTER_PORT = 29500  # of several hosts that name none, as torchrun's
GRACE = 5.0  # seconds that the other workers have to end after one failed
KEPT_LINES = 200  # of each worker's errors, to print the first traceback last
PARENT = "FLAMBEAU_PARENT"  # a pipe's descriptor: a worker ends when the launcher's end closes
Environment = dict[str, str]


@dataclass
class LaunchPlan:
    """What runs where.

    command: each worker's. workers: the number on this host. hosts: their number. host: this host's number.
    address: host 0's, with the store; port 0 chooses a free one, or 29500 with several hosts. restarts: how
    often a failed run
    (or, in an elastic run, a worker) is restarted. elastic: whether the others continue if a worker fails.
    """

    command: Sequence[str]
    workers: int
    hosts: int = 1
    host: int = 0
    address: str = "127.0.0.1"
    port: int = 0
    restarts: int = 0
    elastic: bool = False
    environment: Environment = field(default_factory=dict[str, str])


class Child:
    """One worker: its process, and the threads that copy its output."""

    def __init__(self, rank: int, command: Sequence[str], environment: Environment):
        self.rank, self.errors = rank, deque[str](maxlen=KEPT_LINES)
        self.ended = 0.0
        # A process group for each worker: signals reach the data loaders that it started. Ctrl-C then does
        # not reach the workers by itself; `_watch` passes it on.
        pipes: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {}
        # The worker holds the reading end of a pipe that nobody writes to: it ends when the launcher does,
        # even by kill -9. See `end_with_parent`.
        self._parent_end = -1
        if os.name == "posix":
            read, self._parent_end = os.pipe()
            environment = environment | {PARENT: str(read)}
            pipes["pass_fds"] = (read,)
        try:
            self.process = subprocess.Popen[str](
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                encoding="utf-8", errors="replace", **pipes,
            )  # fmt: skip
        finally:
            if os.name == "posix":
                os.close(read)
        streams = ((self.process.stdout, sys.stdout, False), (self.process.stderr, sys.stderr, True))
        self._threads = [threading.Thread(target=self._copy, args=row, daemon=True) for row in streams]
        for thread in self._threads:
            thread.start()

    def _copy(self, source: Any, target: TextIO, keep: bool) -> None:
        for line in source:
            if keep:
                self.errors.append(line)
            with contextlib.suppress(BrokenPipeError):
                target.write(f"[{self.rank}] {line if line.endswith(chr(10)) else line + chr(10)}")
                target.flush()

    @property
    def code(self) -> int | None:
        """The exit code, 128 + the number for a signal, None while it runs."""
        code = self.process.poll()
        if code is not None and not self.ended:
            self.ended = time.monotonic()
        return code if code is None or code >= 0 else 128 - code

    def signal(self, number: int) -> None:
        """Send a signal to the worker and the processes that it started."""
        with contextlib.suppress(OSError):
            if self.process.poll() is None and os.name == "posix":
                os.killpg(self.process.pid, number)
            elif self.process.poll() is None:
                self.process.terminate()

    def finish(self) -> None:
        """Read the rest of the output."""
        for thread in self._threads:
            thread.join(1.0)
        if self._parent_end >= 0:
            os.close(self._parent_end)
            self._parent_end = -1

    def traceback(self) -> str:
        """The last traceback that it printed, or ""."""
        text = "".join(self.errors)
        start = text.rfind("Traceback (most recent call last):")
        return text[start:] if start >= 0 else ""

    def is_follower(self) -> bool:
        """Whether it failed because another worker did."""
        # The line after the last indented line of a traceback names the exception.
        return "DistributedError: " in self.traceback().rpartition("\n  ")[2]


class Launcher:
    """Runs a plan. say: prints a line about the run."""

    def __init__(
        self, plan: LaunchPlan, say: Callable[[str], None] = lambda line: print(line, file=sys.stderr)
    ):
        if plan.workers < 1 or not 0 <= plan.host < plan.hosts:
            raise ValueError(
                f"launch(devices={plan.workers}, hosts={plan.hosts}, rank={plan.host}): devices must be at"
                " least 1, and host ranks count from 0"
            )
        if plan.hosts > 1:
            plan.port = plan.port or MASTER_PORT
        self.plan, self.say = plan, say
        self.token = os.environ.get(wire.TOKEN, "")
        if plan.hosts > 1 and not self.token:
            raise DistributedError(
                f"several hosts need a token: set {wire.TOKEN} to the same secret on all of them"
            )
        self.token = self.token or new_token()
        self.stopped = 0  # by which signal

    def run(self) -> int:
        """Run the workers to their end; 0, or the exit code of the first that failed."""
        previous: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            numbers = (signal.SIGINT, signal.SIGTERM)
            previous = {number: signal.signal(number, self._stop) for number in numbers}
        code = 0
        try:
            for attempt in range(self.plan.restarts + 1):
                code = self._run_once(attempt)
                if not code or self.stopped or self.plan.elastic:
                    break
                if attempt < self.plan.restarts:
                    self.say(f"launch: restart {attempt + 1} of {self.plan.restarts}")
            return code
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _stop(self, number: int, _frame: Any) -> None:
        self.stopped = number

    def _run_once(self, attempt: int) -> int:
        plan, store = self.plan, None
        if plan.host == 0:
            store = StoreServer(plan.address, plan.port, self.token)
        environments = self._environments(store.port if store else plan.port, attempt)
        workers: list[Child] = []
        try:
            workers = [Child(int(e["RANK"]), plan.command, e) for e in environments]
            return self._watch(workers, environments)
        finally:
            self._end(workers)
            if store is not None:
                store.close()

    def _environments(self, port: int, attempt: int) -> list[Environment]:
        """The environment of each worker of this host: torchrun's names, and the device."""
        plan = self.plan
        common: dict[str, Any] = {
            "WORLD_SIZE": plan.workers * plan.hosts, "LOCAL_WORLD_SIZE": plan.workers,
            "GROUP_RANK": plan.host, "MASTER_ADDR": plan.address, "MASTER_PORT": port,
            wire.TOKEN: self.token, "FLAMBEAU_STORE": 1, "PYTHONUNBUFFERED": 1,
            "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": plan.restarts,
        }  # fmt: skip
        base = dict(os.environ) | plan.environment
        devices = self._devices() if "FLAMBEAU_DEVICE" not in base else []
        # NumPy's matrix products differ in their last bits with the number of threads: it must not depend on
        # the number of workers where they compute by NumPy. Else workers do not compete for the cores.
        is_numpy = (base.get("FLAMBEAU_DEVICE") or devices[0]) == "cpu"
        threads = 1 if is_numpy else max((os.cpu_count() or 1) // plan.workers, 1)
        base = {"OMP_NUM_THREADS": str(threads)} | base
        rows: list[Environment] = []
        for local in range(plan.workers):
            own: dict[str, Any] = {"LOCAL_RANK": local, "RANK": plan.host * plan.workers + local}
            if devices:
                own |= {"FLAMBEAU_DEVICE": devices[local % len(devices)]}
            rows.append(base | {k: str(v) for k, v in (common | own).items()})
        return rows

    def _devices(self) -> list[str]:
        """The adapters to share out: those like the best one, through one API."""
        try:
            listed = adapters()
        except DeviceError:
            listed = ()
        if not listed:
            self.say("launch: no adapter: all workers compute on the CPU by NumPy")
            return ["cpu"]
        best = listed[0]
        alike = [
            i for i, a in enumerate(listed) if (a.backend, a.is_software) == (best.backend, best.is_software)
        ]
        if best.is_software:
            self.say(
                f"launch: {best} is a software adapter: this tests a script, and is no faster than one worker"
            )
        elif len(alike) < self.plan.workers:
            self.say(f"launch: {self.plan.workers} workers share {len(alike)} adapter{'s'[: len(alike) > 1]}")
        return [f"gpu:{i}" for i in alike]

    def _watch(self, workers: list[Child], environments: list[Environment]) -> int:
        """Wait for all workers; the exit code of the run."""
        restarts = self.plan.restarts if self.plan.elastic else 0
        ended: list[Child] = []
        while not self.stopped:
            for place, worker in enumerate(workers):
                if not worker.code or worker in ended:
                    continue
                ended.append(worker)
                if not self.plan.elastic:
                    return self._fail(workers)
                self.say(f"launch: rank {worker.rank} ended with code {worker.code}: the others go on")
                if restarts:
                    restarts -= 1
                    workers[place] = Child(worker.rank, self.plan.command, environments[place])
            if all(worker.code is not None for worker in workers):
                codes = [worker.code or 0 for worker in workers]
                # An elastic run has succeeded if one worker completed it.
                return min(codes) if self.plan.elastic else max(codes)
            time.sleep(0.02)
        for worker in workers:
            worker.signal(self.stopped)
        self._wait(workers)
        return 128 + self.stopped

    def _wait(self, workers: Sequence[Child]) -> None:
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and any(worker.code is None for worker in workers):
            time.sleep(0.02)

    def _fail(self, workers: Sequence[Child]) -> int:
        """One worker failed: the others notice and end. Print the traceback of the cause last."""
        self._wait(workers)
        self._end(workers)
        failed = [worker for worker in workers if worker.code]
        # The times alone do not tell which worker failed first: the others end within milliseconds.
        first = min(failed, key=lambda worker: (worker.is_follower(), worker.ended))
        text = first.traceback()
        self.say(f"launch: rank {first.rank} failed with exit code {first.code}{':' if text else ''}")
        if text:
            self.say(text.rstrip("\n"))
        return first.code or 1

    def _end(self, workers: Sequence[Child]) -> None:
        """End the workers that still run."""
        if any(worker.code is None for worker in workers):
            for worker in workers:
                worker.signal(signal.SIGTERM)
            self._wait(workers)
        for worker in workers:
            worker.signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            worker.process.wait()
            worker.finish()


def end_with_parent() -> None:
    """In a worker: end the process when the launcher has ended, even by kill -9."""
    descriptor = os.environ.pop(PARENT, "")
    if not descriptor.isdigit():
        return

    def watch() -> None:
        with contextlib.suppress(OSError):
            os.set_inheritable(int(descriptor), False)
            os.read(int(descriptor), 1)  # returns when the launcher's end closes
            os._exit(1)

    threading.Thread(target=watch, name="flambeau-parent", daemon=True).start()
