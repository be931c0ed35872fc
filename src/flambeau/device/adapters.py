"""Adapters: lists the machine's GPUs through WebGPU, and finds one by name."""

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import DeviceError
from . import FORKED, cffi_header, dawn, diagnose, forks

RANK = {"DiscreteGPU": 0, "IntegratedGPU": 1, "Unknown": 2, "CPU": 3}
BACKENDS = {"vulkan": "Vulkan", "gl": "OpenGL", "metal": "Metal", "dx12": "D3D12"}
# Vulkan before GL: GL lists the same card again, with fewer features.
API_RANK = {"Vulkan": 0, "Metal": 0, "D3D12": 1, "OpenGL": 2, "OpenGLES": 3}
INSTALL = {"wgpu": "pip install wgpu", "dawn": "pip install 'flambeau[dawn]'"}  # by provider
REINSTALL = "pip install --force-reinstall wgpu, with pip 21 or newer"
_process = 0  # the process that lists the adapters, which are useless in its forks
_adapter_types: set[type[Any]] = set()


class Refused(DeviceError):
    """A driver failed to open an adapter that it listed."""


class Adapter(NamedTuple):
    """A GPU as seen through one API: the card, the API and the provider's object."""

    name: str
    type: str
    backend: str
    driver: str
    raw: Any

    @property
    def is_software(self) -> bool:
        return self.type == "CPU"

    def __str__(self) -> str:
        return f"{self.name} ({self.backend})"


@cache
def provider() -> Any:
    """Import wgpu, or with FLAMBEAU_WEBGPU=dawn wgpudawn, which has the same API."""
    setting = os.environ.get("FLAMBEAU_WEBGPU", "wgpu")
    # Mesa's EGL prints warnings on machines without a display
    os.environ.setdefault("EGL_LOG_LEVEL", "fatal")
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp" if os.name == "posix" else "")
    if setting not in INSTALL:
        raise DeviceError(f"FLAMBEAU_WEBGPU={setting}: unknown provider", "use 'wgpu' or 'dawn'")
    try:
        if setting == "dawn":
            import wgpudawn  # type: ignore[import-not-found]

            dawn.switch_on(wgpudawn)
            return wgpudawn
        with cffi_header.parsed_once():
            wgpu = import_module("wgpu")
            native: Any = import_module("wgpu.backends.wgpu_native")

        cffi_header.name_types_quickly(native.ffi)
        return wgpu
    except (ImportError, OSError) as e:
        problem = f"device: {setting} can't be loaded ({e})"
        is_broken = setting == "wgpu" and not isinstance(e, ModuleNotFoundError)
        raise DeviceError(problem, REINSTALL if is_broken else INSTALL[setting]) from e


@cache
def adapters() -> tuple[Adapter, ...]:
    """List all adapters, best first: discrete, integrated, software. FLAMBEAU_BACKEND selects one API."""
    backend = os.environ.get("FLAMBEAU_BACKEND", "").lower()
    if backend and backend not in BACKENDS:
        raise DeviceError(f"FLAMBEAU_BACKEND={backend}: unknown backend", f"use one of {', '.join(BACKENDS)}")
    global _process
    _refuse_fork("gpu")
    library = provider()
    if not _process:  # before the driver's first call: a fork may happen during it
        _process = os.getpid()
        forks.skip_drivers(_adapter_types)
    with quiet_stderr():
        all_adapters = [_describe(a) for a in library.gpu.enumerate_adapters_sync()]
    listed: set[type[Any]] = {type(a.raw) for a in all_adapters}
    _adapter_types.update(listed)
    selected = [a for a in all_adapters if not backend or a.backend == BACKENDS[backend]]
    return tuple(sorted(selected, key=lambda a: (RANK.get(a.type, 2), API_RANK.get(a.backend, 9))))


def _describe(raw: Any) -> Adapter:
    info = raw.info
    name = info.get("device") or info.get("description") or "unknown"
    return Adapter(
        name,
        info.get("adapter_type", "Unknown"),
        info.get("backend_type", "?"),
        info.get("description", ""),
        raw,
    )


def _refuse_fork(name: str) -> None:
    """Raise DeviceError in a fork of the process that lists the adapters."""
    if _process not in (0, os.getpid()):
        raise DeviceError(f"device({name!r}): {FORKED}")


def choose(which: str) -> Adapter:
    """Find the adapter of "" (the best), a number or a part of a name. DeviceError lists the adapters."""
    _refuse_fork(f"gpu:{which}" if which else "gpu")
    all_adapters = adapters()
    if not all_adapters:
        raise DeviceError(f"no WebGPU adapter found: {advice()}")
    if not which:
        return all_adapters[0]
    if which.isdigit():
        if int(which) < len(all_adapters):
            return all_adapters[int(which)]
    else:
        near = [a for a in all_adapters if which.lower() in str(a).lower()]
        if near:
            return near[0]
    listed = ", ".join(f"gpu:{i} {a}" for i, a in enumerate(all_adapters))
    raise DeviceError(f"device('gpu:{which}'): no such adapter: the adapters are {listed}")


def open_adapter(which: str, open_one: Callable[[Adapter], Any]) -> Any:
    """Open the adapter of a name by `open_one`. For "" it tries adapters from the best on, and reports on
    stderr those that a driver failed to open."""
    best = choose(which)
    for adapter, other in pairwise(adapters() if not which else ()):
        try:
            return open_one(adapter)
        except Refused as e:
            print(f"flambeau: {e}; trying {other}", file=sys.stderr)
            best = other
    return open_one(best)


def advice() -> str:
    """Return the most likely fix, in one line, if no adapter is found."""
    return f"{diagnose.likely_fix(diagnose.facts())}, or run 'flambeau doctor'"


class quiet_stderr:
    """Suppress the driver's output (libEGL warnings, MESA notes) while adapters are listed."""

    def __enter__(self):
        self._saved = None
        if sys.stderr is None:  # closed before Python started: descriptor 2 may be another file
            return
        try:
            sys.stderr.flush()
            self._saved = os.dup(2)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
        except OSError:
            pass  # no stderr to silence

    def __exit__(self, *_):
        if self._saved is not None:
            os.dup2(self._saved, 2)
            os.close(self._saved)
