"""Flambeau: deep learning in Python on WebGPU; every operation is a WGSL shader."""

from . import (
    autograd,
    data,
    errors,
    fft,
    func,
    linalg,
    nn,
    optim,
    signal,
    special,
    testing,
)
from .autotune import autotune
from .budget import memory_budget
from .custom import custom_op
from .device import open_device
from .dtype import (
    DType,
    bfloat16,
    bool_,
    can_cast,
    finfo,
    float16,
    float32,
    iinfo,
    int8,
    int32,
    promote_types,
    uint8,
    uint32,
)
from .dtype import bool_ as bool
from .dtype import float16 as half
from .dtype import float32 as float
from .dtype import int32 as int
from .errors import DeviceError, FlambeauError, KernelError, OutOfMemory
from .func import grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, value_and_grad, vjp
from .functions import *  # noqa: F403 - every op of the table, as a function
from .functions import __all__ as _functions
from .gradmode import checkpointing, enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .io.safetensors import load_file as load
from .io.safetensors import save_file as save
from .jit import jit
from .op import Launch
from .ops.random import Generator, manual_seed
from .profiling import Profile, profile
from .recompute import checkpoint
from .reverse import Gradients
from .saved import SavedProgram, load_program, save_program
from .tensor import HostScalar, Tensor, tensor

__version__ = "0.1.0"
# fmt: off
__all__ = sorted(
    {
        "DType",
        "DeviceError",
        "FlambeauError",
        "Generator",
        "Gradients",
        "HostScalar",
        "KernelError",
        "Launch",
        "OutOfMemory",
        "Profile",
        "SavedProgram",
        "Tensor",
        "autograd",
        "autotune",
        "bfloat16",
        "bool",
        "bool_",
        "can_cast",
        "checkpoint",
        "checkpointing",
        "custom_op",
        "data",
        "enable_grad",
        "errors",
        "fft",
        "finfo",
        "float",
        "float16",
        "float32",
        "func",
        "grad",
        "half",
        "hessian",
        "hvp",
        "iinfo",
        "inference_mode",
        "int",
        "int32",
        "int8",
        "is_grad_enabled",
        "jacfwd",
        "jacobian",
        "jacrev",
        "jit",
        "jvp",
        "linalg",
        "load",
        "load_program",
        "manual_seed",
        "memory_budget",
        "nn",
        "no_grad",
        "open_device",
        "optim",
        "profile",
        "promote_types",
        "save",
        "save_program",
        "set_grad_enabled",
        "signal",
        "special",
        "tensor",
        "testing",
        "uint32",
        "uint8",
        "value_and_grad",
        "vjp",
        *_functions,
    }
)
# fmt: on
