"""Flambeau: deep learning in Python on WebGPU; every operation is a WGSL shader."""

from . import data, errors, nn, optim
from .device import open_device
from .dtype import DType, bool_, float32, int32, uint32
from .dtype import bool_ as bool
from .errors import DeviceError, FlambeauError, KernelError
from .functions import *  # noqa: F403 - every op of the table, as a function
from .functions import __all__ as _functions
from .grad import Gradients
from .io.safetensors import load_file as load
from .io.safetensors import save_file as save
from .op import no_grad
from .ops.random import Generator, manual_seed
from .program import jit
from .tensor import HostScalar, Tensor, tensor

__version__ = "0.1.0"
__all__ = sorted(
    {
        "DType", "DeviceError", "FlambeauError", "Generator", "Gradients", "HostScalar", "KernelError",
        "Tensor", "bool", "bool_", "data", "errors", "float32", "int32", "jit", "load", "manual_seed", "nn",
        "no_grad", "open_device", "optim", "save", "tensor", "uint32",
        *_functions,
    }
)  # fmt: skip
