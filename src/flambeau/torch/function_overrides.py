"""torch.overrides: helpers for classes that define `__torch_function__`. The mechanism is core/overrides."""

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
from typing import Any

from ..core import overrides
from ..core.op import COMPOSED, OPS, Op
from ..core.overrides import BaseTorchFunctionMode as BaseTorchFunctionMode
from ..core.overrides import DisableTorchFunction as DisableTorchFunction
from ..core.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ..core.overrides import TorchFunctionMode as TorchFunctionMode
from ..errors import TypeError
from ..tensor import Tensor
from .module_tree import root as torch


def has_torch_function(args: Iterable[Any]) -> bool:
    """Whether an argument's class overrides operations, or a mode is active."""
    return overrides.is_overridden(args)


def has_torch_function_unary(arg: Any) -> bool:
    """has_torch_function of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """has_torch_function of the arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """The result of public_api from the mode or class that overrides it.

    relevant_args: the arguments whose classes may override the call. TypeError if none of them has it.
    """
    result = overrides.dispatch(public_api, args, kwargs, relevant_args)
    if result is overrides.NOT_TAKEN:
        name = getattr(public_api, "__name__", public_api)
        raise TypeError(
            f"handle_torch_function({name}): no argument overrides it: check has_torch_function first"
        )
    return result


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """A decorator that lets classes override a function. dispatcher: gives its relevant arguments."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor or has a `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method, or the getter of a property, of tensors."""
    name = getattr(func, "__name__", "")
    return name == "__get__" or getattr(Tensor, name, None) is func


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that `__torch_function__` can override, by module or class."""
    methods = [getattr(Tensor, n) for n in dir(Tensor) if not n.startswith("_")]
    spaces = {
        torch: None,
        torch.functional: None,
        torch.nn.functional: None,
        torch.linalg: None,
        torch.fft: None,
    }
    operations = {id(f) for f in (*OPS.values(), *COMPOSED.values())}
    overridable: dict[Any, list[Any]] = {
        space: [f for n in dir(space) if id(f := getattr(space, n, None)) in operations] for space in spaces
    }
    overridable[Tensor] = [m for m in methods if isinstance(m, Op | FunctionType)]
    return overridable


def get_ignored_functions() -> set[Any]:
    """Functions that nothing overrides: those that create tensors of data."""
    return {torch.tensor, torch.as_tensor, torch.from_numpy, torch.manual_seed, torch.is_tensor}


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results never get a subclass: empty here."""
    return set()


def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """Each function that can be overridden with one that takes any arguments and returns -1."""
    return {f: _minus_one for functions in get_overridable_functions().values() for f in functions}


def _minus_one(*_: Any, **__: Any) -> int:
    return -1


def resolve_name(f: Any) -> str | None:
    """The name of a function with its module or class; None if it can't be overridden."""
    if isinstance(f, Op | FunctionType):
        owner = "torch.Tensor" if is_tensor_method_or_property(f) else "torch"
        return f"{owner}.{getattr(f, '__name__', '')}"
    return None


@contextmanager
def enable_reentrant_dispatch() -> Any:
    """Do nothing: calls inside an override are overridden as all others."""
    yield
