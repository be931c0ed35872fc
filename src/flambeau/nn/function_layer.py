"""The base of layers that are functions of their inputs, with their settings as attributes."""

from inspect import signature

from ..tensor import Tensor
from .module import Module


class FunctionLayer(Module):
    """A layer without parameters: `forward` calls a function with the settings."""

    shows_all = False  # PyTorch prints the default settings of some layers as well
    shown: tuple[str, ...] = ()  # the settings that PyTorch prints, if these are not those that differ

    def __init__(self) -> None:
        pass  # a layer with settings has its own __init__

    def extra_repr(self) -> str:
        """The settings, as `repr` shows them."""
        if self.shown:
            return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.shown)
        shown: list[str] = []
        for p in list(signature(type(self)).parameters.values()):
            if not hasattr(self, p.name):  # the argument of a user's subclass
                continue
            value = getattr(self, p.name)
            if isinstance(value, Tensor):  # such as class weights: printing them would read the device
                continue
            # as PyTorch prints them: changed settings, or all but `inplace`
            if value != p.default or (self.shows_all and p.name != "inplace"):
                shown.append(f"{p.name}={value!r}")
        return ", ".join(shown)
