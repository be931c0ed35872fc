"""Flambeau: deep learning in Python on WebGPU; every operation is a WGSL shader."""

import os as _os
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import errors, functions
from .autodiff.backward import Gradients
from .autodiff.budget import memory_budget
from .autodiff.checkpoint import checkpoint
from .capture.jit import jit
from .core.autocast import autocast, get_autocast_dtype, is_autocast_enabled
from .core.dtype import (
    DType,
    bfloat16,
    bool_,
    can_cast,
    complex64,
    complex128,
    finfo,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    get_default_dtype,
    get_default_integer,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_integer,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.dtype import bool_ as bool
from .core.dtype import complex64 as cfloat
from .core.dtype import complex128 as cdouble
from .core.dtype import float16 as half
from .core.dtype import float32 as float
from .core.dtype import float64 as double
from .core.dtype import int16 as short
from .core.dtype import int32 as int
from .core.dtype import int64 as long
from .core.modes import (
    checkpointing,
    enable_grad,
    get_matmul_precision,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    set_matmul_precision,
)
from .core.op import Launch
from .core.version import __version__
from .custom import custom_op
from .device import AWAITED as _AWAITED
from .device import OPENED as _OPENED
from .device import device, get_default_device, open_device, set_default_device, set_default_dtype
from .errors import DeviceError, FlambeauError, KernelError, OutOfMemory
from .functions import *  # noqa: F403 - every op of the table, as a function
from .ops.random import Generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .subclass import UserTensor as _UserTensor
from .tensor import HostScalar, Tensor, tensor

if _TYPE_CHECKING:
    from . import (
        accelerator,
        amp,
        array_api,
        autograd,
        backends,
        cuda,
        data,
        debug,
        distributed,
        distributions,
        export,
        fft,
        func,
        hub,
        inspector,
        io,
        learner,
        linalg,
        masked,
        metrics,
        models,
        named,
        nn,
        onnx,
        optim,
        pictures,
        porting,
        profiling,
        remote,
        rl,
        sanitizer,
        selftest,
        signal,
        special,
        tabs,
        testing,
        tokenizers,
        utils,
        vision,
    )
    from .amp import GradScaler
    from .core.printing import get_printoptions, printoptions, set_printoptions
    from .export import SavedProgram, load_program, save_program
    from .func import grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, value_and_grad, vjp, vmap
    from .inspector import Inspection, inspect
    from .io.checkpoint import load, save
    from .learner import Learner
    from .profiling import Profile, profile
    from .sanitizer import check, sanitize, watch
    from .tune.autotune import autotune

# Imported when they are first used, so that a process starts sooner: modules, and names of modules.
_MODULES = (
    "accelerator amp array_api autograd backends cuda data debug distributed distributions export fft "
    "func hub inspector io learner linalg masked metrics models named nn onnx optim pictures porting "
    "profiling remote rl sanitizer selftest signal special tabs testing tokenizers utils vision"
)
_NAMES = {
    "amp": "GradScaler",
    "core.printing": "get_printoptions printoptions set_printoptions",
    "export": "SavedProgram load_program save_program",
    "func": "grad hessian hvp jacfwd jacobian jacrev jvp value_and_grad vjp vmap",
    "inspector": "Inspection inspect",
    "io.checkpoint": "load save",
    "learner": "Learner",
    "profiling": "Profile profile",
    "sanitizer": "check sanitize watch",
    "tune.autotune": "autotune",
}
_LATER: dict[str, tuple[str, str]] = {name: (name, "") for name in _MODULES.split()} | {
    name: (module, name) for module, names in _NAMES.items() for name in names.split()
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        if not name.startswith("__") and name in (forms := _import_module(".forms", __name__)).NAMES:
            return getattr(forms, name)
        from .core.torch_hints import UnknownName

        raise UnknownName(__name__, name, lambda: __all__)
    module_name, attribute = _LATER[name]
    module = _import_module(f".{module_name}", __name__)
    value = globals()[name] = getattr(module, attribute) if attribute else module
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _open_remote(kind: str, which: str) -> _Any:
    return _import_module(".remote.opening", __name__).open_named(kind, which)


async def _await_remote(kind: str, which: str) -> _Any:
    return await _import_module(".remote.opening", __name__).open_named_async(kind, which)


_OPENED.update(dict.fromkeys(("remote", "remotes"), _open_remote))
_AWAITED.update(dict.fromkeys(("remote", "remotes"), _await_remote))


def _array_namespace(self: Tensor, api_version: str | None = None) -> _Any:
    """The array API's functions for tensors: flambeau.array_api. ValueError for a version that is unknown."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        versions = "2021.12, 2022.12, 2023.12 or 2024.12"
        raise errors.ValueError(
            f"__array_namespace__(api_version={api_version!r}): unknown: use one of {versions}"
        )
    return _import_module(".array_api", __name__)


assert _UserTensor  # its module prepares users' subclasses of Tensor
setattr(Tensor, "__array_namespace__", _array_namespace)  # noqa: B010 - the namespace is made of tensors

# fmt: off
__all__ = [
    "DType",
    "DeviceError",
    "FlambeauError",
    "Generator",
    "GradScaler",
    "Gradients",
    "HostScalar",
    "Inspection",
    "KernelError",
    "Launch",
    "Learner",
    "OutOfMemory",
    "Profile",
    "SavedProgram",
    "Tensor",
    "accelerator",
    "amp",
    "array_api",
    "autocast",
    "autograd",
    "autotune",
    "backends",
    "bfloat16",
    "bool",
    "bool_",
    "can_cast",
    "cdouble",
    "cfloat",
    "check",
    "checkpoint",
    "checkpointing",
    "complex128",
    "complex64",
    "cuda",
    "custom_op",
    "data",
    "debug",
    "device",
    "distributed",
    "distributions",
    "double",
    "enable_grad",
    "errors",
    "export",
    "fft",
    "finfo",
    "float",
    "float16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float32",
    "float64",
    "func",
    "get_autocast_dtype",
    "get_default_device",
    "get_default_dtype",
    "get_default_integer",
    "get_matmul_precision",
    "get_printoptions",
    "get_rng_state",
    "grad",
    "half",
    "hessian",
    "hub",
    "hvp",
    "iinfo",
    "inference_mode",
    "initial_seed",
    "inspect",
    "inspector",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "io",
    "is_autocast_enabled",
    "is_grad_enabled",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "learner",
    "linalg",
    "load",
    "load_program",
    "long",
    "manual_seed",
    "masked",
    "memory_budget",
    "metrics",
    "models",
    "named",
    "nn",
    "no_grad",
    "onnx",
    "open_device",
    "optim",
    "pictures",
    "porting",
    "printoptions",
    "profile",
    "profiling",
    "promote_types",
    "remote",
    "rl",
    "sanitize",
    "sanitizer",
    "save",
    "save_program",
    "seed",
    "selftest",
    "set_default_device",
    "set_default_dtype",
    "set_default_integer",
    "set_grad_enabled",
    "set_matmul_precision",
    "set_printoptions",
    "set_rng_state",
    "short",
    "signal",
    "special",
    "tabs",
    "tensor",
    "testing",
    "tokenizers",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "utils",
    "value_and_grad",
    "vision",
    "vjp",
    "vmap",
    "watch",
]
# fmt: on
__all__ += functions.__all__
__all__.sort()  # pyright: ignore[reportUnsupportedDunderAll] - the names stay the same

if _os.environ.get("FLAMBEAU_TUNE") == "on":
    _import_module(".tune.autotune", __name__)  # tunes from its import on; it needs this package's names
