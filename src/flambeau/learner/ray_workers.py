"""Workers of `fit(devices=..., engine="ray")`: actors of a Ray cluster, which places and restarts them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..distributed import StoreServer
from ..distributed.wire import TOKEN
from ..errors import FlambeauError
from .worker_task import work

END_SECONDS = 10.0  # seconds within which workers end after the training


def _ray() -> Any:
    return import_module("ray")


def run_task(data: bytes, name: str, device: str, address: tuple[str, int], rank: int, size: int) -> None:
    """Do a task in an actor. device: used unless Ray assigned a GPU, whose number it replaces."""
    numbers: Any = _ray().get_gpu_ids()
    own = f"gpu:{numbers[0]}" if numbers and device.startswith("gpu") else device
    work(data, name, own, address, rank, size)


class RayWorkers:
    """Actors of a Ray cluster: the running one, the one that RAY_ADDRESS names, or one of this machine.

    data: the packed task; name: of the device of its tensors. names: the devices of the workers. server: of
    the group. FlambeauError if Ray is not installed, or has no room for the workers.
    """

    def __init__(self, data: bytes, name: str, names: Sequence[str], server: StoreServer):
        ray = _ray()
        self._names, self._server, self._name = list(names), server, name
        self._data: Any = ray.put(data)
        self._is_over = threading.Event()
        total: dict[str, float] = ray.cluster_resources()
        gpus = any(n.startswith("gpu") for n in names) and total.get("GPU", 0) >= len(names)
        self._needs = {"num_gpus": 1} if gpus else {"num_cpus": 1}
        room = total.get("GPU" if gpus else "CPU", 0)
        if room < len(names):
            rule = "add nodes, or pass fewer devices"
            raise FlambeauError(f"fit(engine='ray'): {len(names)} workers, room for {room:g}: {rule}")
        self.results: list[Any] = [self._start(i) for i in range(len(names))]
        self._is_begun = threading.Event()
        threading.Thread(target=self._watch_begin, daemon=True).start()

    @staticmethod
    def dumps(value: Any) -> bytes:
        """Pickle a value, with classes and functions of a script or a notebook."""
        return _ray().cloudpickle.dumps(value)

    @staticmethod
    def begin() -> None:
        """Connect to a cluster, or start one."""
        if find_spec("ray") is None:
            raise FlambeauError("fit(engine='ray'): Ray is not installed: pip install flambeau[ray]")
        ray = _ray()
        if not ray.is_initialized():
            ray.init(include_dashboard=False)

    @staticmethod
    def address() -> str:
        """Return the address of this node, which workers on other nodes reach."""
        ray = _ray()
        return ray.util.get_node_ip_address()

    def _start(self, place: int) -> Any:
        ray = _ray()
        paths = os.pathsep.join(p for p in sys.path if p)  # modules of the script's folder
        # The bits of NumPy's matrix products depend on its threads; Ray would set another number.
        threads = os.environ.get("OMP_NUM_THREADS", str(os.cpu_count() or 1))
        variables = {TOKEN: os.environ[TOKEN], "PYTHONPATH": paths, "OMP_NUM_THREADS": threads}
        task = ray.remote(**self._needs, max_retries=0, runtime_env={"env_vars": variables})(run_task)
        address = (self._server.host, self._server.port)
        args = (self._name, self._names[place], address, place + 1, len(self._names) + 1)
        return task.remote(self._data, *args)

    def _errors(self) -> dict[int, Exception]:
        """Return the errors of failed workers, by their numbers."""
        ray = _ray()
        errors: dict[int, Exception] = {}
        for place, result in enumerate(self.results):
            try:
                if ray.wait([result], timeout=0)[0]:
                    ray.get(result)
            except Exception as e:
                errors[place] = e
        return errors

    def _watch_begin(self) -> None:
        """Stop waiting for workers if one has ended."""
        while not self._is_begun.wait(0.2) and not self._is_over.is_set():
            if self._errors():
                self._server.close()
                return

    def explain(self, error: str) -> str:
        """Return the text of an error of the group's beginning."""
        failed = next(iter(self._errors().items()), None)
        return error if failed is None else f"fit(engine='ray'): worker {failed[0] + 1} failed: {failed[1]}"

    def watch(self, restarts: int) -> None:
        """Replace up to `restarts` workers that died."""
        self._is_begun.set()
        if restarts:
            threading.Thread(target=self._replace, args=(restarts,), daemon=True).start()

    def _replace(self, restarts: int) -> None:
        ray = _ray()
        while restarts and not self._is_over.wait(0.2):
            for place, error in self._errors().items():
                if restarts and isinstance(error, ray.exceptions.WorkerCrashedError):
                    self.results[place] = self._start(place)
                    restarts -= 1

    def end(self) -> None:
        """End the workers."""
        ray = _ray()
        self._is_over.set()
        if self.results:
            _, running = ray.wait(self.results, num_returns=len(self.results), timeout=END_SECONDS)
            for result in running:
                ray.cancel(result, force=True)
