"""Private names of torch that libraries call: flags of features that do not exist here, and _foreach
functions."""

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtype import DType
from ..core.tree import is_sequence, is_tuple
from ..tensor import Tensor
from . import gpus
from .devices import TorchDevice
from .module_tree import module_of

FOREACH = "_foreach_"


def log_api_usage_once(event: str) -> None:
    """Do nothing: no use is reported."""


def get_cpu_capability() -> str:
    """torch.backends.cpu: no vector instructions are asked for."""
    return "DEFAULT"


def get_node_type(tree: Any) -> Any:
    """The type under which torch.utils._pytree has the parts of a container."""
    is_named = is_tuple(tree) and hasattr(tree, "_fields")
    return namedtuple if is_named else tree.__class__


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device: torch.cpu or torch.cuda; None: that of the GPU if there is one."""
    kind = TorchDevice("cuda" if gpus.is_available() else "cpu") if device is None else TorchDevice(device)
    return module_of(f"torch.{kind.type}")


def mark_static(t: Any, index: Any = None) -> None:
    """Do nothing: recordings compare shapes themselves."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Do nothing: recordings watch tensors themselves."""


def mark_dynamic(t: Any, index: Any, *, min: Any = None, max: Any = None) -> None:
    """Do nothing: a recording is made for each shape."""


maybe_mark_dynamic = mark_unbacked = mark_dynamic


def parse_to(*args: Any, **kw: Any) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of the arguments of `to`, each None if it is not given."""
    device, dtype = kw.get("device"), kw.get("dtype")
    for value in (*args[:2], kw.get("tensor")):
        if isinstance(value, Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, DType):
            dtype = value
        elif value is not None and not isinstance(value, bool):
            device = value
    device = TorchDevice(device) if isinstance(device, str | int) else device
    return device, dtype, bool(kw.get("non_blocking", False)), kw.get("memory_format")


def sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Draw from Dirichlet distributions. generator: accepted and ignored. [..., n] -> [..., n]"""
    return module_of("torch.distributions").Dirichlet(input).sample()


class _VariableType(type):
    """isinstance(x, Variable) is true for tensors."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __call__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_VariableType):
    """The tensor with gradients of PyTorch before 0.4: a view of `data`, with requires_grad."""


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """False: no tensor wraps others."""
    return False


def _foreach(name: str) -> Callable[..., Any]:
    """torch._foreach_NAME: a tensor's method for each of a list of tensors.

    Arguments that are lists have one value for each tensor; others are the same for all.
    """
    is_inplace = name.endswith("_")

    def for_each(tensors: Sequence[Tensor], *args: Any, **kw: Any) -> list[Tensor] | None:
        method = getattr(Tensor, name)

        def part(value: Any, i: int) -> Any:
            return value[i] if is_sequence(value) else value

        results = [
            method(t, *(part(a, i) for a in args), **{k: part(v, i) for k, v in kw.items()})
            for i, t in enumerate(tensors)
        ]
        return None if is_inplace else results

    for_each.__name__ = for_each.__qualname__ = FOREACH + name
    return for_each


def foreach_norm(tensors: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> list[Tensor]:
    """The norm of each tensor. -> []"""
    return [t.norm(ord, dtype=dtype) for t in tensors]


def foreach_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The largest element of each tensor. -> []"""
    return [t.max() for t in tensors]


def foreach_zero(tensors: Sequence[Tensor]) -> None:
    """Set each tensor to zeros."""
    for t in tensors:
        t.zero_()


def foreach_copy(tensors: Sequence[Tensor], source: Sequence[Tensor], non_blocking: bool = False) -> None:
    """Copy each tensor of `source` to its place. non_blocking: accepted and ignored."""
    for t, s in zip(tensors, source, strict=True):
        t.copy_(s)


SPECIAL = {"norm": foreach_norm, "max": foreach_max, "zero_": foreach_zero, "copy_": foreach_copy}


def __getattr__(name: str) -> Any:
    """A _foreach function of any method of tensors."""
    method = name.removeprefix(FOREACH)
    if method == name or not hasattr(Tensor, method):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return SPECIAL.get(method) or _foreach(method)
