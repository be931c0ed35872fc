"""torch.library and torch.ops: operators by name, such as torch.ops.aten.relu, and those of libraries.

An operator that is defined in Python runs its function. Shapes for tracing (register_fake) are not needed.
"""

import importlib
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..autograd import Function
from ..tensor import Tensor
from .placeholders import MissingInTorch, refuse

Kernel = Callable[..., Any]
# keys of kernels that run here, the first that an operator has; those of autocast are torch's own rules
KEYS = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CPU", "CUDA", "Autograd", "")
# compiled libraries: the end of the file's name -> what their operators are here
COMPILED = {  # the folder and the stem of a library's file -> our module with its operators
    "torchvision/_C": ".torch.torchvision_ops",
    "lib/_torchaudio": ".torch.torchaudio_ops",
    "lib/libtorchaudio": ".torch.torchaudio_ops",
}
ATEN = ("aten", "prims")  # torch's own namespaces: a missing operator raises when it is called
ATEN_HOMES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")


class _Operator:
    """The kernels, the gradient and the schema of an operator."""

    def __init__(self) -> None:
        self.kernels: dict[str, Kernel] = {}
        self.backward: Kernel | None = None
        self.setup_context: Kernel | None = None
        self.schema = ""


_operators: dict[str, _Operator] = {}
_built_in: dict[str, Kernel] = {}


def _operator(name: str) -> _Operator:
    return _operators.setdefault(name, _Operator())


class OpOverload:
    """An operator that can be called: torch.ops.aten.relu or torch.ops.aten.relu.default."""

    def __init__(self, name: str):
        self._name = name
        self.__name__ = self._opname = name.rpartition("::")[2]
        self.namespace = name.partition("::")[0]
        self.tags: list[Any] = []

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return _call(self._name, args, kw)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self  # an overload, such as .default or .Tensor: there is one function for all

    op = property(lambda self: self)
    overloadpacket = property(lambda self: self)

    def overloads(self) -> list[str]:
        """The names of the operator's overloads."""
        return ["default"]

    def name(self) -> str:
        """The operator's name with its namespace."""
        return self._name

    def __repr__(self) -> str:
        return f"<OpOverload(op={self._name!r})>"


class _Namespace:
    """torch.ops.NAME: the operators of a library, which exist when they are looked up."""

    def __init__(self, name: str):
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.name}::{name}"
        if self.name not in ATEN and full not in _operators and full not in _built_in:
            raise AttributeError(f"'_OpNamespace' {self.name!r} object has no attribute {name!r}")
        value = OpOverload(full)
        setattr(self, name, value)
        return value


class _Ops:
    """torch.ops."""

    loaded_libraries: set[str] = set()
    _libraries = loaded_libraries

    def load_library(self, path: Any) -> None:
        """Find the operators of a compiled library. OSError for one that Flambeau has no operators for."""
        folder, name = Path(path).parts[-2:]
        end = f"{folder}/{name.partition('.')[0]}"
        if end not in COMPILED:
            call = f"torch.ops.load_library({str(path)!r})"
            raise MissingLibrary(f"{call}: compiled libraries do not load: {NATIVE}")
        module = importlib.import_module(f"{__name__.rpartition('.')[0].rpartition('.')[0]}{COMPILED[end]}")
        _built_in.update(module.OPERATORS)
        self.loaded_libraries.add(str(path))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        space = _Namespace(name)
        setattr(self, name, space)
        return space


NATIVE = "install the package's version without one, or write its operators with tensor operations"


class MissingLibrary(MissingInTorch, OSError):
    """A compiled library of operators can't be loaded."""


ops = _Ops()
classes = SimpleNamespace(loaded_libraries=set(), load_library=ops.load_library)


def _find_aten(name: str) -> Kernel | None:
    """The function of torch that computes an operator of the namespace aten."""
    space, _, last = name.partition("::")
    if space not in ATEN:
        return None
    for home in ATEN_HOMES:
        value = getattr(importlib.import_module(f"{__package__}{home.removeprefix('torch')}"), last, None)
        if callable(value) and not hasattr(value, "torch_name"):
            return value
    return getattr(Tensor, last, None)


def _call(name: str, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    if (built_in := _built_in.get(name)) is not None:
        return built_in(*args, **kw)
    operator = _operators.get(name)
    kernels = {} if operator is None else operator.kernels
    kernel = next((kernels[k] for k in KEYS if k in kernels), None)
    if kernel is None and (kernel := _find_aten(name)) is None:
        raise refuse(f"torch.ops.{name.replace('::', '.')}")
    if operator is None or operator.backward is None:
        return kernel(*args, **kw)
    return _differentiable(operator, kernel, args, kw)


def _differentiable(operator: _Operator, kernel: Kernel, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """A call whose gradient is what register_autograd gave."""
    values = list(inspect.signature(kernel).bind(*args, **kw).arguments.values()) if kw else list(args)

    class OperatorCall(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            output = kernel(*inputs)
            if operator.setup_context is not None:
                operator.setup_context(ctx, inputs, output)
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            assert operator.backward is not None
            return operator.backward(ctx, *grads)

    return OperatorCall.apply(*values)


def _full_name(op: Any) -> str:
    if isinstance(op, str):
        return op
    if isinstance(op, OpOverload):
        return op.name()
    name = getattr(op, "_qualname", None)
    if not isinstance(name, str):
        raise RuntimeError(f"torch.library: {op!r} is not an operator: pass its name, such as 'mylib::sin'")
    return name


def _register(name: str, key: str, function: Kernel | None) -> Any:
    def register(f: Kernel) -> Kernel:
        _operator(name).kernels[key] = f
        return f

    return register if function is None else register(function)


class Library:
    """The operators of a namespace: torch.library.Library("mylib", "DEF").

    ns: the namespace. kind: "DEF", "IMPL" or "FRAGMENT". dispatch_key: the default key of kernels.
    """

    def __init__(self, ns: str, kind: str = "DEF", dispatch_key: str = ""):
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Name an operator by its schema, "sin(Tensor x) -> Tensor"; returns the name."""
        name = schema.partition("(")[0].partition(".")[0].strip()
        _operator(f"{self.ns}::{name}").schema = schema
        return name

    def impl(
        self,
        op_name: Any,
        fn: Kernel,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Set the function that computes an operator."""
        name = op_name if isinstance(op_name, str) else _full_name(op_name)
        full = name if "::" in name else f"{self.ns}::{name}"
        _register(full.partition(".")[0], dispatch_key or self.dispatch_key, fn)

    def fallback(self, fn: Kernel, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Do nothing: no operator falls back."""


def define(qualname: str, schema: Any = "", *, lib: Any = None, tags: Any = ()) -> Any:
    """Name an operator, "mylib::sin"; as a decorator, without a schema, the function computes it."""
    _operator(qualname).schema = schema if isinstance(schema, str) else ""
    return partial(_register, qualname, "") if not schema else None


def impl(qualname: str, types: Any = "", func: Any = None, *, lib: Any = None) -> Any:
    """Set the function that computes an operator on these types of devices; also a decorator."""
    return _register(qualname, "CPU" if types else "", func)


def register_kernel(op: Any, device_types: Any = None, func: Any = None, /, *, lib: Any = None) -> Any:
    """Set the function that computes an operator on these types of devices; also a decorator."""
    return _register(_full_name(op), "CPU", func)


def _unchanged(function: Any) -> Any:
    return function


def register_fake(op: Any, func: Any = None, /, **_options: Any) -> Any:
    """Return the function: shapes are those of the results."""
    return _unchanged if func is None else func


impl_abstract = register_vmap = register_torch_dispatch = register_fake


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Do nothing: an operator's parts follow the rules of autocast."""


def register_autograd(op: Any, backward: Kernel, /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Set the gradient of an operator: backward(ctx, *grads), after setup_context(ctx, inputs, output)."""
    operator = _operator(_full_name(op))
    operator.backward, operator.setup_context = backward, setup_context


class CustomOpDef:
    """An operator that custom_op has made; call it as the function."""

    def __init__(self, name: str, function: Kernel):
        self._qualname, self._init_fn = name, function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._opoverload = OpOverload(name)
        _register(name, "", function)

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return _call(self._qualname, args, kw)

    def register_fake(self, fn: Kernel, /) -> Kernel:
        """Return the function: shapes are those of the results."""
        return fn

    register_vmap = register_torch_dispatch = register_fake

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """Set the function that computes it on these types of devices; also a decorator."""
        return register_kernel(self, device_types, fn)

    def register_autograd(self, backward: Kernel, /, *, setup_context: Any = None) -> None:
        """Set its gradient: backward(ctx, *grads), after setup_context(ctx, inputs, output)."""
        register_autograd(self, backward, setup_context=setup_context)


def custom_op(
    name: str,
    fn: Any = None,
    /,
    *,
    mutates_args: Any = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator of a function: "mylib::sin"; also a decorator."""

    def make(f: Kernel) -> CustomOpDef:
        return CustomOpDef(name, f)

    return make if fn is None else make(fn)


triton_op = custom_op


def wrap_triton(kernel: Any, /) -> Any:
    """The kernel itself."""
    return kernel


def infer_schema(prototype_function: Kernel, /, *, mutates_args: Any = (), op_name: str | None = None) -> str:
    """A text with the names of a function's arguments."""
    names = ", ".join(inspect.signature(prototype_function).parameters)
    return f"{op_name or ''}({names}) -> Any"


def fallthrough_kernel(*_: Any) -> None:
    """Never called: kernels are found by KEYS."""
    raise RuntimeError("fallthrough_kernel(): no operator falls through: register a kernel")
