"""GradScaler and autocast in torch's forms: the scaler takes optimisers, and unscales `.grad`."""

# Methods that replace those of a class use its private attributes.
# pyright: reportPrivateUsage=false

from typing import Any

from ..amp import FINITE, INFINITE, GradScaler, Scaled
from ..core.modes import no_grad
from ..errors import ValueError
from ..optim.optimizer import Optimizer
from . import grad_slots
from .stepping import overflow
from .switch import in_mode

plain_unscale, plain_scaler_step, plain_update = GradScaler.unscale_, GradScaler.step, GradScaler.update


def _overflows_of(scaler: Any) -> dict[int, Any]:
    """Whether each optimiser's gradients were finite since the last update, by the optimiser's id."""
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


__all__ = ["Scaled"]
