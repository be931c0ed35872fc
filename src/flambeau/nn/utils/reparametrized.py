"""The older weight norm and spectral norm, which a hook computes before each call."""

from collections.abc import Callable
from typing import Any

from ...errors import ValueError
from ...tensor import Tensor
from ..hooks import own_hooks
from ..module import Module
from ..parameter import Parameter
from .parametrizations import SpectralNorm, norm_except, usual_dim


class ComputedTensor:
    """A hook that sets a module's tensor before each forward, from parameters of other names."""

    def __init__(self, module: Module, name: str, kind: str, compute: Callable[[Module], Tensor]):
        self.name, self.kind, self.compute = name, kind, compute
        self.handle = module.register_forward_pre_hook(self)
        self(module, ())  # the tensor exists before the first call

    def __call__(self, module: Module, _args: tuple[Any, ...]) -> None:
        setattr(module, self.name, self.compute(module))


def _remove(module: Module, name: str, kind: str, others: tuple[str, ...]) -> Module:
    """Turn the tensor into a plain parameter again, and delete the others."""
    for hook in own_hooks(module, "forward_pre").values():
        computed: Any = hook.call
        if isinstance(computed, ComputedTensor) and (computed.name, computed.kind) == (name, kind):
            value = computed.compute(module).detach()
            computed.handle.remove()
            for other in others:
                delattr(module, f"{name}_{other}")
            delattr(module, name)
            module.register_parameter(name, Parameter(value))
            return module
    rule = f"{type(module).__name__} has none of that name: check the name"
    raise ValueError(f"remove_{kind}({name!r}): {rule}")


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight as norm NAME_g times direction NAME_v before each call; returns the module.
    parametrizations.weight_norm is the newer one.

    name: of the parameter. dim: each slice along it has its own norm; None: one norm for all.
    """
    weight = getattr(module, name)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight.detach(), dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))

    def compute(m: Any) -> Tensor:
        g, v = getattr(m, f"{name}_g"), getattr(m, f"{name}_v")
        return v * (g / norm_except(v, dim))  # ||w|| = g in direction v

    ComputedTensor(module, name, "weight_norm", compute)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Turn the tensor `name` of a module into a plain parameter with its current value. Returns the module.
    ValueError if it has no weight_norm."""
    return _remove(module, name, "weight_norm", ("g", "v"))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Compute a weight as NAME_orig divided by its largest singular value before each call; returns the
    module. parametrizations.spectral_norm is the newer one.

    name: of the parameter. n_power_iterations: iterations at each call in training. dim: the dim of the
    output channels.
    eps: a small number that keeps divisions from 0
    """
    weight = getattr(module, name)
    dim = usual_dim(module) if dim is None else dim
    norm: Any = SpectralNorm(weight, n_power_iterations, dim, eps, first=0)
    norm.v_first, norm.has_begun = True, False  # the older norm iterates in this order
    delattr(module, name)
    module.register_parameter(f"{name}_orig", Parameter(weight.detach()))
    module.register_buffer(f"{name}_u", norm._u)
    module.register_buffer(f"{name}_v", norm._v)

    def compute(m: Any) -> Tensor:
        # The buffers hold the vectors: load_state_dict and to() replace them there.
        norm._u, norm._v = getattr(m, f"{name}_u"), getattr(m, f"{name}_v")
        norm.training = m.training and norm.has_begun  # the first call is that of ComputedTensor
        norm.has_begun = True
        return norm(getattr(m, f"{name}_orig"))

    ComputedTensor(module, name, "spectral_norm", compute)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Turn the tensor `name` of a module into a plain parameter with its current value. Returns the module.
    ValueError if it has no spectral_norm."""
    return _remove(module, name, "spectral_norm", ("orig", "u", "v"))
