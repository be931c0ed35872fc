"""GradScaler and autocast in torch's forms: the scaler takes optimisers, and unscales `.grad`; autocast
accepts the types of devices that torch knows."""

# Methods that replace those of a class use its private attributes.
# pyright: reportPrivateUsage=false

import warnings
from typing import Any

from ..amp import FINITE, INFINITE, GradScaler, Scaled
from ..core import autocast as core
from ..core.dtype import DType, bfloat16, float16
from ..core.modes import no_grad
from ..errors import ValueError
from ..optim.optimizer import Optimizer
from . import grad_slots
from .stepping import overflow
from .switch import in_mode

plain_unscale, plain_scaler_step, plain_update = GradScaler.unscale_, GradScaler.step, GradScaler.update

# types of devices that torch knows and Flambeau has none of -> the dtype that products have there
OTHERS = {
    "hpu": bfloat16,
    "ipu": float16,
    "maia": bfloat16,
    "mtia": float16,
    "privateuseone": float16,
    "xla": bfloat16,
    "xpu": float16,
}


class TorchAutocast(core.autocast):
    """Autocast with torch's rules: it is off for types of devices that do not exist here, and for dtypes
    other than float16 and bfloat16, with a warning."""

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ):
        if enabled and dtype not in (None, float16, bfloat16):
            warnings.warn(f"autocast: {dtype} is not supported: autocast stays off", stacklevel=2)
            dtype, enabled = None, False
        super().__init__(None if device_type in OTHERS else device_type, dtype, enabled, cache_enabled)
        self.kinds = () if device_type in OTHERS else self.kinds
        self.arguments = device_type, dtype, enabled


autocast = TorchAutocast
TorchAutocast.__name__ = TorchAutocast.__qualname__ = "autocast"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a type of devices."""
    return device_type not in OTHERS and core.is_autocast_enabled(device_type)


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype of products under autocast on a type of devices."""
    return OTHERS[device_type] if device_type in OTHERS else core.get_autocast_dtype(device_type)


def is_autocast_available(device_type: str) -> bool:
    """Whether torch knows autocast for a type of devices."""
    return device_type in OTHERS or device_type in core.KINDS


def _overflows_of(scaler: Any) -> dict[int, Any]:
    """Whether each optimiser's gradients overflowed since the last update, as tensors [], by the
    optimiser's id."""
    attributes: dict[str, Any] = scaler.__dict__
    return attributes.setdefault("_overflows", {})


@in_mode(GradScaler)
def unscale_(self: GradScaler, optimizer: Any) -> None:
    """Divide `.grad` of the optimiser's parameters by the scale, and record whether all are finite.

    ValueError if they are unscaled already since the last update.
    """
    if not isinstance(optimizer, Optimizer):
        return plain_unscale(self, optimizer)
    if not self.is_enabled():
        return
    by_optimizer = _overflows_of(self)
    if id(optimizer) in by_optimizer:
        raise ValueError("unscale_() has already been called on this optimizer since the last update().")
    with no_grad():
        pairs = [(p, g) for p in optimizer.params if (g := grad_slots.read(p)) is not None]
        if not pairs:
            return
        self._move_to(pairs[0][1].device)
        # On the device: reading it here would wait for the backward pass.
        bad: Any = sum(g.isfinite().where(0.0, 1.0).sum() for _, g in pairs)
        inverse = 1.0 / self._scale
        for _, g in pairs:
            g.assign_((g.float() * inverse).to(g.dtype))
        by_optimizer[id(optimizer)] = bad > 0.0
        self._status.assign_(self._status.maximum(by_optimizer[id(optimizer)].where(INFINITE, FINITE)))


@in_mode(GradScaler, "step")
def _step(self: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
    """optimizer.step(), which changes nothing if a gradient is not finite. args, kwargs: more for it."""
    if not self.is_enabled():
        return optimizer.step(*args, **kwargs)
    by_optimizer = _overflows_of(self)
    if id(optimizer) not in by_optimizer:
        self.unscale_(optimizer)
    overflow.inf = by_optimizer.get(id(optimizer))
    try:
        return optimizer.step(*args, **kwargs)
    finally:
        overflow.inf = None


@in_mode(GradScaler)
def update(self: GradScaler, new_scale: Any = None) -> None:
    """Compute the next scale, after the steps of all optimisers; or set it to new_scale."""
    plain_update(self, new_scale)
    _overflows_of(self).clear()


__all__ = ["Scaled", "autocast", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled"]
