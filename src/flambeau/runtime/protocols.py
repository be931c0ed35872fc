"""What Python, NumPy and the copy module ask of a tensor: formats, numbers, copies, pickles."""

from typing import Any

from ..core import op as ops
from ..core.node import describe
from ..core.op import OPS, apply
from ..errors import TypeError, ValueError
from . import readback
from .exchange import leaf
from .state import thread


class Protocols:
    """The methods of a tensor that have two underscores, beside arithmetic."""

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
        """A number's format; that of several elements is their text, and takes no digits."""
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
        """What NumPy's functions give of a tensor: a tensor beside it."""
        return self.new_tensor(array, dtype=array.dtype)

    def __copy__(self: Any) -> Any:
        """A tensor of the same elements: what is written to one is written to both."""
        return _taken(self, self.reshape(*self.shape))

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        """A tensor of its own with the same value; ValueError where gradients flow through it from others."""
        if self.requires_grad and not self.is_leaf:
            rule = "gradients flow through it from what it was made of: copy .detach()"
            raise ValueError(f"deepcopy({describe(self)}): {rule}")
        made = memo[id(self)] = _taken(self, ops.Tensor(apply(OPS["detach"], (self.node,), {})))
        return made.requires_grad_() if self.requires_grad else made

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        """Values, shape and dtype, on which device, and whether gradients are taken by it."""
        raw = bytes(readback.read([self])[0])
        facts = self.shape, self.dtype, self.device, self.requires_grad and self.is_leaf
        return _unpickled, (type(self), raw, *facts)


def _taken(x: Any, made: Any) -> Any:
    """A tensor's node and views as one of the class of another, with its attributes."""
    if type(x) is not type(made):
        node, link = made.node, made.link
        made = object.__new__(type(x))
        ops.Tensor.__init__(made, node)
        made.link = link
    vars(made).update({k: v for k, v in vars(x).items() if k != "node"})
    return made


def _unpickled(kind: type, raw: bytes, shape: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    made = object.__new__(kind)
    ops.Tensor.__init__(made, leaf(raw, shape, dtype, device))
    return made.requires_grad_() if requires_grad else made
