"""Adapters: which GPUs the machine shows through WebGPU, and which of them a name means."""

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import DeviceError
from . import FORKED, cffi_header, dawn, diagnose

RANK = {"DiscreteGPU": 0, "IntegratedGPU": 1, "Unknown": 2, "CPU": 3}
BACKENDS = {"vulkan": "Vulkan", "gl": "OpenGL", "metal": "Metal", "dx12": "D3D12"}
# Vulkan before GL on the same card: GL shows it a second time, with fewer abilities.
API_RANK = {"Vulkan": 0, "Metal": 0, "D3D12": 1, "OpenGL": 2, "OpenGLES": 3}
INSTALL = {"wgpu": "pip install wgpu", "dawn": "pip install 'flambeau[dawn]'"}  # by provider
REINSTALL = "pip install --force-reinstall wgpu, with pip 21 or newer"
_process = 0  # that listed the adapters: what it holds is of no use in a fork of it


class Refused(DeviceError):
    """A driver does not open an adapter that it listed."""


class Adapter(NamedTuple):
    """One way to a GPU: the card, the API it is reached by and the provider's own object."""

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
    """wgpu, or with FLAMBEAU_WEBGPU=dawn wgpudawn, which has the same API."""
    wanted = os.environ.get("FLAMBEAU_WEBGPU", "wgpu")
    os.environ.setdefault("EGL_LOG_LEVEL", "fatal")  # Mesa's EGL complains on machines without a screen
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp" if os.name == "posix" else "")
    if wanted not in INSTALL:
        raise DeviceError(f"FLAMBEAU_WEBGPU={wanted}: unknown provider", "use 'wgpu' or 'dawn'")
    try:
        if wanted == "dawn":
            import wgpudawn  # type: ignore[import-not-found]

            dawn.switch_on(wgpudawn)
            return wgpudawn
        with cffi_header.parsed_once():
            wgpu = import_module("wgpu")
            native: Any = import_module("wgpu.backends.wgpu_native")

        cffi_header.name_types_quickly(native.ffi)
        return wgpu
    except (ImportError, OSError) as e:
        problem = f"device: {wanted} can't be loaded ({e})"
        is_broken = wanted == "wgpu" and not isinstance(e, ModuleNotFoundError)
        raise DeviceError(problem, REINSTALL if is_broken else INSTALL[wanted]) from e


@cache
def adapters() -> tuple[Adapter, ...]:
    """Every adapter, best first: discrete, integrated, software; FLAMBEAU_BACKEND keeps one API."""
    wanted = os.environ.get("FLAMBEAU_BACKEND", "").lower()
    if wanted and wanted not in BACKENDS:
        raise DeviceError(f"FLAMBEAU_BACKEND={wanted}: unknown backend", f"use one of {', '.join(BACKENDS)}")
    global _process
    _process = os.getpid()
    with quiet_stderr():
        every = [_describe(a) for a in provider().gpu.enumerate_adapters_sync()]
    kept = [a for a in every if not wanted or a.backend == BACKENDS[wanted]]
    return tuple(sorted(kept, key=lambda a: (RANK.get(a.type, 2), API_RANK.get(a.backend, 9))))


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


def choose(which: str) -> Adapter:
    """The adapter that "", "1" or part of a name means; DeviceError says what there is."""
    every = adapters()
    if os.getpid() != _process:
        name = f"gpu:{which}" if which else "gpu"
        raise DeviceError(f"device({name!r}): {FORKED}")
    if not every:
        raise DeviceError(f"no WebGPU adapter found: {advice()}")
    if not which:
        return every[0]
    if which.isdigit():
        if int(which) < len(every):
            return every[int(which)]
    else:
        near = [a for a in every if which.lower() in str(a).lower()]
        if near:
            return near[0]
    there = ", ".join(f"gpu:{i} {a}" for i, a in enumerate(every))
    raise DeviceError(f"device('gpu:{which}'): no such adapter: the adapters are {there}")


def open_adapter(which: str, open_one: Callable[[Adapter], Any]) -> Any:
    """What is made of the adapter that a name means; "" is the best that its driver does not refuse, and a
    line tells of those before it."""
    best = choose(which)
    for adapter, other in pairwise(adapters() if not which else ()):
        try:
            return open_one(adapter)
        except Refused as e:
            print(f"flambeau: {e}; trying {other}", file=sys.stderr)
            best = other
    return open_one(best)


def advice() -> str:
    """The most likely fix where no adapter is found, in one line."""
    return f"{diagnose.likely_fix(diagnose.facts())}, or run 'flambeau doctor'"


class quiet_stderr:
    """Silence the driver's own chatter (libEGL warnings, MESA notes) while adapters are listed."""

    def __enter__(self):
        self._saved = None
        if sys.stderr is None:  # closed before Python began: 2 may be any file now
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
