"""Differences of torch.nn.Module: state_dict shares tensors, and setting a parameter calls
register_parameter, which libraries replace."""

# Methods that replace those of a class use its private attributes.
# pyright: reportPrivateUsage=false

import threading
from typing import Any

from ..nn import state_dict
from ..nn.module import Module
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .switch import add_patch, in_mode

plain_setattr, plain_register = Module.__setattr__, Module.register_parameter


class _Registering(threading.local):
    """The names of parameters that this thread registers: the plain register_parameter sets an attribute."""

    def __init__(self) -> None:
        self.names: set[str] = set()


_registering = _Registering()


class _AfterMixins:
    """A method that torch.nn.Module does not have: a class that a module also inherits from may define the
    name, and a module without it may forward it by `__getattr__`.

    plain: the method. name: its name
    """

    def __init__(self, plain: Any, name: str):
        self.plain, self.name = plain, name

    def __get__(self, module: Any, cls: type) -> Any:
        others = (vars(k)[self.name] for k in cls.__mro__ if self.name in vars(k))
        inherited = next((value for value in others if value is not self), None)
        if inherited is not None:
            return inherited.__get__(module, cls) if hasattr(inherited, "__get__") else inherited
        if any("__getattr__" in vars(k) for k in cls.__mro__[: cls.__mro__.index(Module)]):
            raise AttributeError(self.name, name=self.name, obj=module)
        return self.plain.__get__(module, cls)


for _name in ("load", "num_parameters", "save"):
    add_patch(Module, _name, _AfterMixins(vars(Module)[_name], _name))

plain_init = Parameter.__init__


@in_mode(Parameter, "__init__")
def _init(self: Parameter, data: Any = None, requires_grad: bool = True, *, node: Any = None) -> None:
    """A parameter. node: ignored; libraries pass all of another parameter's attributes."""
    plain_init(self, data, requires_grad)


def _share(t: Tensor) -> Tensor:
    """The entry of a tensor in a state_dict: the same elements, so that writes reach the module."""
    return t.detach()


add_patch(state_dict, "present_value", _share)


@in_mode(Module, "__setattr__")
def _set(self: Module, name: str, value: Any) -> None:
    """Set an attribute; a parameter by register_parameter where somebody has replaced that."""
    register = type(self).register_parameter
    is_new = isinstance(value, Parameter) and name not in self._parameters and not hasattr(type(self), name)
    if register is plain_register or not is_new:
        plain_setattr(self, name, value)
        return
    if name in _registering.names:
        plain_setattr(self, name, value)
        return
    _registering.names.add(name)
    vars(self).pop(name, None)  # a plain attribute of that name
    try:
        register(self, name, value)
    finally:
        _registering.names.discard(name)
