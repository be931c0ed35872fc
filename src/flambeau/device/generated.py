"""Reads the code that Dawn generates for a driver (SPIR-V, MSL or HLSL) from Dawn's log."""

import ctypes
import re
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ..errors import DeviceError, KernelError
from . import dawn

DUMPED = re.compile(r"\s*(?:/\*|//) Dumped (?:generated )?(SPIRV|MSL|HLSL)\b[^\n]*\n")
NAMES = {"SPIRV": "SPIR-V", "MSL": "MSL", "HLSL": "HLSL"}
FEATURES = ("shader-f16", "subgroups", dawn.MATRICES)
SETTER = b"wgpuDeviceSetLoggingCallback"


class Generated(NamedTuple):
    """A kernel in the language of an adapter's driver."""

    language: str
    text: str


class _Message(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Callback(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("chain", "callback", "first", "second"))


_Log = ctypes.CFUNCTYPE(None, ctypes.c_uint32, _Message, ctypes.c_void_p, ctypes.c_void_p)
_Set = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _Callback)


class DawnCompiler:
    """A device of Dawn that logs the code it compiles; nothing runs on it."""

    def __init__(self, adapter: Any):
        limits = {name: value for name, value in adapter.limits.items() if "compute" in name}
        features = [f for f in FEATURES if f in adapter.features]
        options = {"required_features": features, "required_limits": limits}
        self.device = dawn.open_device(adapter, False, ("dump_shaders",), **options)
        self.texts: list[str] = []
        self.by_wgsl: dict[str, Generated] = {}
        # Kept alive, because Dawn calls it during the device's lifetime.
        self._log = _Log(self._collect_message)
        self._listen()

    def _collect_message(self, kind: int, message: Any, *_: Any) -> None:
        self.texts.append(ctypes.string_at(message.data, message.length).decode("utf-8", "replace"))

    def _listen(self) -> None:
        module: Any = import_module("wgpudawn.backends.dawn._ffi")
        ffi, lib = module.ffi, module.lib
        name = ffi.new("WGPUStringView *")
        letters = ffi.from_buffer(SETTER)
        name.data, name.length = ffi.cast("char *", letters), len(SETTER)
        setter = lib.wgpuGetProcAddress(name[0])
        if setter == ffi.NULL:
            raise DeviceError("this version of Dawn has no log", "install another version of wgpudawn")
        set_callback = _Set(int(ffi.cast("uintptr_t", setter)))
        set_callback(
            int(ffi.cast("uintptr_t", self.device._internal)),
            _Callback(None, ctypes.cast(self._log, ctypes.c_void_p)),
        )

    def compile(self, wgsl: str) -> Generated:
        """Return the code that the driver receives; KernelError if it does not compile."""
        if wgsl not in self.by_wgsl:
            self.texts.clear()
            try:
                module = self.device.create_shader_module(code=wgsl)
                self.device.create_compute_pipeline(
                    layout="auto", compute={"module": module, "entry_point": "main"}
                )
            except Exception as e:
                raise KernelError(f"Dawn does not compile it: {e}") from None
            outputs = [(m[1], text[m.end() :]) for text in self.texts if (m := DUMPED.match(text))]
            if not outputs:
                raise KernelError("Dawn logged no compiled code")
            self.by_wgsl[wgsl] = Generated(NAMES[outputs[-1][0]], outputs[-1][1].rstrip("\n\0 ") + "\n")
        return self.by_wgsl[wgsl]


@cache
def dawn_compiler(name: str) -> DawnCompiler:
    """Open the compiler for the adapter of a name, or for the best. DeviceError if wgpudawn is not
    installed, or finds no adapter."""
    try:
        import wgpudawn  # type: ignore[import-not-found]
    except (ImportError, OSError):
        raise DeviceError("wgpudawn is not installed", "pip install wgpudawn") from None
    dawn.switch_on(wgpudawn)
    adapters = wgpudawn.gpu.enumerate_adapters_sync()
    if not adapters:
        raise DeviceError("Dawn reports no adapter: run flambeau doctor for the reason")
    return DawnCompiler(
        next((a for a in adapters if dict[str, Any](a.info).get("device") == name), adapters[0])
    )
