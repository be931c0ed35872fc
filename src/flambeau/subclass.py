"""Users' subclasses of tensors: built by `__new__` as in PyTorch, with methods that they may override."""

from types import FunctionType
from typing import Any

from .core import overrides
from .core.node import describe
from .core.op import COMPOSED
from .errors import TypeError
from .tensor import Tensor, on_subclass

# double-underscore methods that `__torch_function__` overrides
_NAMES = "array bool complex contains float format getitem index int iter len repr setitem"
_WRITES = "iadd iand ifloordiv ilshift imod imul ior ipow irshift isub itruediv ixor"
_SPECIAL = [f"__{name}__" for name in f"{_NAMES} {_WRITES}".split()]


def is_ours(cls: type) -> bool:
    """Whether a class is Flambeau's own."""
    return cls.__module__.partition(".")[0] == "flambeau"


class UserTensor(Tensor):
    """The class between Tensor and users' subclasses. `__new__` builds the tensor, as PyTorch's does, so that
    a subclass may define `__new__`, or an `__init__` that does not call Tensor's."""

    def __new__(cls, *args: Any, **kw: Any) -> Any:
        data = args[:1] or tuple(kw[name] for name in ("data",) if name in kw)
        if data and isinstance(data[0], Tensor):
            return _make_subclass(cls, data[0])
        tensor = Tensor(*args) if data and isinstance(data[0], int) else Tensor(*data)
        tensor.__class__ = cls
        return tensor

    def __init__(self, *args: Any, **kw: Any):
        """Do nothing: `__new__` has built the tensor."""


def as_subclass(self: Tensor, cls: type) -> Any:
    """A tensor of a subclass with the same elements and gradients. TypeError for another class."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):  # pyright: ignore[reportUnnecessaryIsInstance] # users' arguments
        raise TypeError(f"as_subclass({describe(self)}, {cls!r}): takes a subclass of Tensor")
    with overrides.DisableTorchFunction():
        view = self.reshape(*self.node.shape)
    view.__class__ = cls
    return view


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, *_: Any, **__: Any) -> Any:
    """A tensor of a subclass with the elements of `data`; a leaf that may require gradients."""
    with overrides.DisableTorchFunction():
        tensor = data.detach()
        tensor.__class__ = cls
        return tensor.requires_grad_() if require_grad else tensor


def _make_wrapper_subclass(cls: type, *_: Any, **__: Any) -> Any:
    """Raise TypeError: such tensors override kernels by __torch_dispatch__."""
    rule = "classes override operations by __torch_function__, not kernels by __torch_dispatch__"
    raise TypeError(f"{cls.__name__}._make_wrapper_subclass(...): {rule}: wrap a tensor with _make_subclass")


BASES: dict[type, type] = {Tensor: UserTensor}  # a class of ours -> that between it and users' classes


def adopt(cls: type) -> None:
    """Prepare a new subclass of Tensor: users' classes get the class between, and overrides are turned on if
    they take part."""
    if is_ours(cls):
        return
    if any(base in BASES for base in cls.__bases__):
        cls.__bases__ = tuple(BASES.get(base, base) for base in cls.__bases__)
        for between in BASES.values():
            if "item" not in vars(between):  # the first class of a process
                _add_methods(between)
    if overrides.override_of(cls) is not None:
        overrides.add_class()


def _add_methods(cls: type) -> None:
    """Let `__torch_function__` override the methods of Tensor that are not operations."""
    operations = {id(f) for f in COMPOSED.values()}
    for name in dir(Tensor):
        value = getattr(Tensor, name, None)
        is_method = isinstance(value, FunctionType) and id(value) not in operations
        if is_method and (name in _SPECIAL or not name.startswith("_")) and name not in _BUILDERS:
            setattr(cls, name, overrides.overridable(name))


_BUILDERS = {"as_subclass"}
setattr(Tensor, "as_subclass", as_subclass)  # noqa: B010 - Tensor's module can't import this one
setattr(Tensor, "_make_subclass", staticmethod(_make_subclass))  # noqa: B010
setattr(Tensor, "_make_wrapper_subclass", staticmethod(_make_wrapper_subclass))  # noqa: B010
on_subclass.append(adopt)
