"""Protocols of Python, NumPy and the copy module: formats, numbers, copies, pickles."""

from typing import Any

from ..core import op as ops
from ..core.node import Node, describe
from ..core.op import OPS, apply
from ..errors import TypeError, ValueError
from . import run
from .exchange import leaf
from .state import thread


class Protocols:
    """The double-underscore methods of a tensor, except arithmetic."""

    __array_priority__ = 1000  # NumPy leaves `array + tensor` to the tensor

    def __float__(self: Any) -> float:
        return float(self.item())

    def __complex__(self: Any) -> complex:
        return complex(self.item())

    def __int__(self: Any) -> int:
        return int(self.item())

    def __bool__(self: Any) -> bool:
        if self.numel() != 1:
            rule = f"{self.numel()} elements are neither true nor false: use .any() or .all()"
            raise ValueError(f"bool({describe(self)}): {rule}")
        return bool(self.item())

    def __index__(self: Any) -> int:
        if self.numel() != 1 or self.dtype.is_float:
            rule = "only one integer is an index: use .int(), or .tolist() for several"
            raise TypeError(f"index({describe(self)}): {rule}")
        return int(self.item())

    def __round__(self: Any, ndigits: int | None = None) -> Any:
        return self.round(decimals=ndigits or 0)

    def __pos__(self: Any) -> Any:
        return self.positive()

    def __format__(self: Any, spec: str) -> str:
        """Formats one number. Several elements print as text and take no format."""
        # A recorded call must not read values: an f-string then shows shape and dtype only.
        if not spec and (self.ndim or thread.recorder is not None):
            return repr(self)
        if self.ndim:
            rule = "only one number has a format: take an element, or fb.printoptions(precision=...)"
            raise TypeError(f"format({describe(self)}, {spec!r}): {rule}")
        return format(self.item(), spec)

    def __contains__(self: Any, value: Any) -> bool:
        return bool((self == value).any())

    def __reversed__(self: Any) -> Any:
        return self.flip(0) if self.ndim else self

    def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """NumPy's functions of a tensor return a tensor on the same device."""
        return self.new_tensor(array, dtype=array.dtype)

    def __copy__(self: Any) -> Any:
        """A tensor that shares the elements: a write to one changes both."""
        return _as_class_of(self, self.reshape(*self.shape))

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        """An independent tensor with the same value; ValueError if gradients flow through it from others."""
        if self.requires_grad and not self.is_leaf:
            rule = "gradients flow through it to other tensors: copy .detach()"
            raise ValueError(f"deepcopy({describe(self)}): {rule}")
        copy = memo[id(self)] = _as_class_of(self, ops.Tensor(apply(OPS["detach"], (self.node,), {})))
        return copy.requires_grad_() if self.requires_grad else copy

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        """Values, shape, dtype, device, and whether it requires gradients."""
        raw = bytes(run.read([self])[0]) if self.device.holds_values else b""
        facts = self.shape, self.dtype, self.device, self.requires_grad and self.is_leaf
        return _unpickle, (type(self), raw, *facts)


def _as_class_of(x: Any, y: Any) -> Any:
    """y with the class and the attributes of x."""
    kind: type[Any] = x.__class__
    if kind is not y.__class__:
        y = _new(kind, y.node, y.link)
    y.__dict__.update({k: v for k, v in x.__dict__.items() if k != "node"})
    return y


def _new(kind: type[Any], node: Node, link: Any = None) -> Any:
    """A tensor of a class, without its __init__."""
    tensor: Any = object.__new__(kind)
    ops.Tensor.__init__(tensor, node)
    tensor.link = link
    return tensor


def _unpickle(kind: Any, raw: bytes, shape: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    tensor = _new(kind, leaf(raw, shape, dtype, device))
    return tensor.requires_grad_() if requires_grad else tensor
