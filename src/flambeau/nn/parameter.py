"""Tensors that modules own: parameters, buffers, and uninitialised ones, whose shape the first call sets."""

from typing import Any, cast

from ..core.dtype import DTypeLike, get_default_dtype
from ..core.overrides import disabled_torch_function
from ..device import DeviceLike
from ..errors import ValueError
from ..runtime.state import with_next_run
from ..subclass import BASES, UserTensor
from ..tensor import Tensor, own


class ParameterType(type):
    """The class of Parameter: a tensor of a user's subclass becomes a parameter and keeps its class."""

    def __call__(cls, *args: Any, **kw: Any) -> Any:
        data = args[0] if args else kw.get("data")
        if cls is not Parameter or not isinstance(data, UserTensor) or isinstance(data, Parameter):
            return type.__call__(cls, *args, **kw)
        tensor: Any = data.detach().requires_grad_(
            args[1] if len(args) > 1 else kw.get("requires_grad", True)
        )
        tensor._is_param = True
        with_next_run(tensor)
        return tensor

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance) or cls is not Parameter:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, UserTensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=ParameterType):
    """A tensor that a module owns and that has gradients. [...] -> [...]

    data: the first value; None: no elements
    """

    # results of operations are plain tensors
    __torch_function__ = disabled_torch_function  # pyright: ignore[reportAssignmentType] - as PyTorch has it

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True):
        data = Tensor() if data is None else data
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

    __torch_function__ = disabled_torch_function  # pyright: ignore[reportAssignmentType] - as PyTorch has it

    def __init__(self, data: Tensor, persistent: bool = True):
        super().__init__(data.node)
        self.persistent = persistent


class UserParameter(Parameter):
    """The class between Parameter and users' subclasses: `__new__` builds the parameter."""

    def __new__(cls, data: Any = None, requires_grad: bool = True, *_: Any, **__: Any) -> Any:
        parameter = object.__new__(cls)
        Parameter.__init__(parameter, data, requires_grad)
        return parameter

    def __init__(self, *args: Any, **kw: Any):
        """Do nothing: `__new__` has built the parameter."""


class UserBuffer(Buffer):
    """The class between Buffer and users' subclasses: `__new__` builds the buffer."""

    def __new__(cls, data: Any = None, persistent: bool = True, *_: Any, **__: Any) -> Any:
        buffer = object.__new__(cls)
        Buffer.__init__(buffer, Tensor() if data is None else data, persistent)
        return buffer

    def __init__(self, *args: Any, **kw: Any):
        """Do nothing: `__new__` has built the buffer."""


BASES.update({Parameter: UserParameter, Buffer: UserBuffer})


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

    def move_to(self, device: DeviceLike | None, dtype: DTypeLike) -> None:
        """Set the device and the dtype of the tensor to be; None changes nothing."""
        self._device, self._dtype = device or self._device, dtype or self._dtype

    def materialize(
        self, shape: tuple[int, ...], device: DeviceLike | None = None, dtype: DTypeLike | None = None
    ) -> None:
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

    def __init__(
        self, requires_grad: bool = True, device: DeviceLike | None = None, dtype: DTypeLike | None = None
    ):
        # a placeholder without elements
        Tensor.__init__(self, Tensor.zeros(0, dtype=dtype, device=device).node)
        self._requires_grad, self._device, self._dtype = requires_grad, device, dtype


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose shape is not known yet: materialize(shape) sets it. -> [...]

    persistent: whether state_dict has it.
    """

    _becomes = Buffer

    def __init__(
        self, persistent: bool = True, device: DeviceLike | None = None, dtype: DTypeLike | None = None
    ):
        Tensor.__init__(self, Tensor.zeros(0, dtype=dtype, device=device).node)
        self.persistent, self._device, self._dtype = persistent, device, dtype


def is_lazy(t: Any) -> bool:
    """Whether a parameter or a buffer has no shape yet."""
    return isinstance(t, _Uninitialized)


def has_lazy(model: Any) -> bool:
    """Whether a parameter or a buffer of a model has no shape yet."""
    return any(map(is_lazy, model.parameters())) or any(map(is_lazy, model.buffers()))
