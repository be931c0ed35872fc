"""torch.func: derivatives of functions, and vectorisation of functions over a batch."""

from typing import Any

from ..errors import suggest
from .derivatives import (
    grad,
    grad_and_value,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from .modules import functional_call, stack_module_state
from .vectorize import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau.func has no {name!r}{suggest(name, __all__)}")
