"""The task of a worker of `fit(devices=...)`: it builds the same Learner and trains with the others."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..device import Device, get_device
from ..distributed import ParallelOptions, Store, destroy_process_group, init_process_group
from ..distributed.wire import TOKEN
from ..errors import TypeError

BEGIN_SECONDS = 300.0  # seconds within which all workers must have joined


@dataclass
class FitTask:
    """A worker's task: the options of its Learner, and the arguments of `fit`."""

    kind: type[Any]  # Learner
    options: dict[str, Any]
    loaders: dict[str, Any]
    epochs: int
    resume: bool
    parallel: ParallelOptions

    def pack(self, dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
        """Return the task as a pickle; TypeError names the value that can't be sent to another process.

        dumps: makes it. cloudpickle's also takes classes and functions of a script, a notebook or a shell.
        """
        try:
            data = dumps(self)
        except Exception as e:
            parts = {**self.options, **{f"{split}_loader": v for split, v in self.loaders.items()}}
            problems = {n: x for n, v in parts.items() if (x := _problem(v, dumps)) is not None}
            name, error = next(iter(problems.items()), ("it", e))
            rule = "define its classes and functions at the top of a module"
            raise TypeError(
                f"fit(devices=...): {name} can't be sent to another process ({error}): {rule}"
            ) from e
        is_shell = dumps is pickle.dumps and not hasattr(sys.modules["__main__"], "__file__")
        if is_shell and "__main__" in _modules_in(data):
            rule = "define the model in a module that other processes can import"
            raise TypeError(f"fit(devices=...): it uses classes of a notebook or a shell: {rule}")
        return data


def _problem(value: Any, dumps: Callable[[Any], bytes]) -> Exception | None:
    try:
        dumps(value)
    except Exception as e:
        return e
    return None


def _modules_in(data: bytes) -> set[str]:
    """Return the strings of a pickle; the modules of its classes are among them."""
    return {arg for _, arg, _ in pickletools.genops(data) if isinstance(arg, str)}


class _Unpickler(pickle.Unpickler):
    """Puts the tensors of one device on another, without opening the first."""

    def __init__(self, data: bytes, name: str, device: Device):
        super().__init__(io.BytesIO(data))
        self._name, self._device = name, device

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        value = super().find_class(module_name, global_name)
        if (module_name, global_name) != ("flambeau.device", "reopen"):
            return value

        def reopen(name: str) -> Any:
            return self._device if name == self._name else value(name)

        return reopen


def work(data: bytes, name: str, device_name: str, address: tuple[str, int], rank: int, size: int) -> None:
    """Do a task as one of its workers.

    data: the packed task; name: of the device of its tensors; address: of the group's store.
    """
    device = get_device(device_name)
    task: FitTask = _Unpickler(data, name, device).load()
    store = Store(*address, os.environ.get(TOKEN, ""), BEGIN_SECONDS)
    init_process_group(store=store, rank=rank, world_size=size, timeout=BEGIN_SECONDS)
    try:
        learner = task.kind(**task.options, renderers=(), device=device)
        # After Ctrl-C the process that called `fit` raises it.
        with suppress(KeyboardInterrupt):
            learner.fit_in_group(task.loaders, task.epochs, task.resume, task.parallel)
    finally:
        destroy_process_group()
