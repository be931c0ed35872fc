"""Functions of the module torch itself that Flambeau's own package does not have, or has in another form."""

from typing import Any

from ..core import dtype as dt
from ..tensor import Tensor, tensor
from .derivatives import backward_of as _backward_of

assert _backward_of


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


class _Typed(type):
    """The class of legacy tensor types: calls make tensors, isinstance looks at the dtype."""

    _dtype: dt.DType

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if args and all(isinstance(a, int) for a in args):
            return Tensor.zeros(*args, dtype=cls._dtype, device=device)
        if not args:
            return Tensor.zeros(0, dtype=cls._dtype, device=device)
        return tensor(args[0], dtype=cls._dtype, device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls._dtype


def _typed(name: str, dtype: dt.DType) -> Any:
    space = {"_dtype": dtype, "dtype": dtype, "__module__": "torch", "__doc__": f"Tensors of {dtype.name}."}
    return _Typed(name, (), space)


FloatTensor = _typed("FloatTensor", dt.float32)
DoubleTensor = _typed("DoubleTensor", dt.float64)
HalfTensor = _typed("HalfTensor", dt.float16)
BFloat16Tensor = _typed("BFloat16Tensor", dt.bfloat16)
ByteTensor = _typed("ByteTensor", dt.uint8)
CharTensor = _typed("CharTensor", dt.int8)
ShortTensor = _typed("ShortTensor", dt.int16)
IntTensor = _typed("IntTensor", dt.int32)
LongTensor = _typed("LongTensor", dt.int64)
BoolTensor = _typed("BoolTensor", dt.bool_)
