"""torch.FloatTensor and the other types of tensors, torch.cuda.FloatTensor, and their names."""

from typing import Any

from ..core import dtype as dt
from ..core.node import describe
from ..core.tree import is_tuple
from ..errors import TypeError
from ..tensor import Tensor, tensor
from .devices import TorchDevice

# The names of types without "Tensor", in torch's spelling, with their dtypes.
TYPES: dict[str, dt.DType] = {
    "Float": dt.float32,
    "Double": dt.float64,
    "Half": dt.float16,
    "BFloat16": dt.bfloat16,
    "Byte": dt.uint8,
    "Char": dt.int8,
    "Short": dt.int16,
    "Int": dt.int32,
    "Long": dt.int64,
    "Bool": dt.bool_,
    "ComplexFloat": dt.complex64,
    "ComplexDouble": dt.complex128,
}
NAMES = {dtype: name for name, dtype in TYPES.items()}


class LegacyType(type):
    """The class of legacy tensor types: a call makes a tensor, isinstance compares dtype and device."""

    dtype: dt.DType
    is_cuda: bool

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        """A tensor of these sizes, without set values, or of this data."""
        where: Any = device or TorchDevice("cuda" if cls.is_cuda else "cpu")
        if not args or all(isinstance(a, int) for a in args):
            return Tensor.zeros(*(args or (0,)), dtype=cls.dtype, device=where)
        data: Any = args[0]
        if is_tuple(data) and data.__class__ is not tuple:  # a torch.Size
            return Tensor.zeros(*data, dtype=cls.dtype, device=where)
        return tensor(data, dtype=cls.dtype, device=where)

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, Tensor) or instance.dtype is not cls.dtype:
            return False
        return (instance.device.kind == "gpu") == cls.is_cuda


def _build(name: str, dtype: dt.DType, is_cuda: bool) -> Any:
    module = "torch.cuda" if is_cuda else "torch"
    space = {"dtype": dtype, "is_cuda": is_cuda, "__module__": module, "is_sparse": False}
    return LegacyType(f"{name}Tensor", (), {**space, "__doc__": f"Tensors of {dtype.name}."})


ON_CPU = {f"{name}Tensor": _build(name, dtype, False) for name, dtype in TYPES.items()}
ON_GPU = {f"{name}Tensor": _build(name, dtype, True) for name, dtype in TYPES.items()}


def legacy_name(dtype: dt.DType, is_cuda: bool) -> str:
    """The name of a tensor's type, such as torch.cuda.FloatTensor."""
    name = NAMES.get(dtype, dtype.name.capitalize())
    return f"torch.{'cuda.' if is_cuda else ''}{name}Tensor"


def dtype_and_device(kind: Any) -> tuple[Any, Any]:
    """The dtype of a type, its name or a dtype, and its device; None for the device of a dtype."""
    if isinstance(kind, LegacyType):
        return kind.dtype, TorchDevice("cuda" if kind.is_cuda else "cpu")
    if isinstance(kind, str):
        where, _, name = kind.rpartition(".")
        types = {"torch": ON_CPU, "torch.cuda": ON_GPU}.get(where, {})
        if name not in types:
            rule = "unknown type: use a dtype, or a name such as 'torch.FloatTensor'"
            raise TypeError(f"type({kind!r}): {rule}")
        return dtype_and_device(types[name])
    if not isinstance(kind, dt.DType | type):
        raise TypeError(f"type({describe(kind)}): takes a dtype, or a name such as 'torch.FloatTensor'")
    return dt.as_dtype(kind), None


def __getattr__(name: str) -> Any:
    """The types of torch: torch.FloatTensor."""
    if name in ON_CPU:
        return ON_CPU[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
