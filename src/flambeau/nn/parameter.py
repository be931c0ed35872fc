"""Tensors that modules own: parameters, buffers, and uninitialised ones, whose shape the first call sets."""

from typing import Any, cast

from ..core.dtype import get_default_dtype
from ..errors import ValueError
from ..runtime.state import with_next_run
from ..tensor import Tensor, own


class Parameter(Tensor):
    """A tensor that a module owns and that has gradients. [...] -> [...]

    data: the first value
    """

    def __init__(self, data: Tensor, requires_grad: bool = True):
        # A parameter is a leaf: the value of a tensor with gradients is detached from its graph.
        super().__init__(own(data.node) if data.requires_grad else data.node)
        self.requires_grad_(requires_grad)
        with_next_run(self)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that is state of a module, but not a parameter. [...] -> [...]

    data: the tensor. persistent: whether state_dict has it.
    """

    def __init__(self, data: Tensor, persistent: bool = True):
        super().__init__(data.node)
        self.persistent = persistent


class _Uninitialized:
    """Base of tensors that have no shape yet."""

    _becomes: type
    _device: Any
    _dtype: Any
    _requires_grad: bool

    @property
    def shape(self) -> Any:
        """Raises ValueError: the tensor has no values yet."""
        rule = "a lazy layer gets its sizes from its first input: call the model once, or load a state_dict"
        raise ValueError(f"{type(self).__name__}.shape: is not known yet: {rule}")

    def move_to(self, device: Any, dtype: Any) -> None:
        """Set where and in which dtype the tensor will be; None changes nothing."""
        self._device, self._dtype = device or self._device, dtype or self._dtype

    def materialize(self, shape: tuple[int, ...], device: Any = None, dtype: Any = None) -> None:
        """Become zeros of that shape, with the device and dtype of the constructor's arguments."""
        tensor, kind = cast(Any, self), self._becomes
        device, dtype = device or self._device, dtype or self._dtype or get_default_dtype()
        tensor.node = Tensor.zeros(*shape, dtype=dtype, device=device).node
        # The class changes in place: modules and optimisers keep the object.
        tensor.__class__ = kind
        if kind is Parameter:
            tensor.requires_grad_(tensor._requires_grad)
        with_next_run(tensor)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known yet: materialize(shape) sets it. -> [...]"""

    _becomes = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None):
        # a placeholder without elements
        Tensor.__init__(self, Tensor.zeros(0, dtype=dtype, device=device).node)
        self._requires_grad, self._device, self._dtype = requires_grad, device, dtype


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose shape is not known yet: materialize(shape) sets it. -> [...]

    persistent: whether state_dict has it.
    """

    _becomes = Buffer

    def __init__(self, persistent: bool = True, device: Any = None, dtype: Any = None):
        Tensor.__init__(self, Tensor.zeros(0, dtype=dtype, device=device).node)
        self.persistent, self._device, self._dtype = persistent, device, dtype


def is_lazy(t: Any) -> bool:
    """Whether a parameter or a buffer has no shape yet."""
    return isinstance(t, _Uninitialized)
