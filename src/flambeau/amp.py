"""Mixed precision under PyTorch's names: autocast, and a scale that keeps 16-bit gradients in range."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from .autodiff.backward import Gradients
from .core.autocast import autocast, get_autocast_dtype, is_autocast_enabled, kind_of
from .core.dtype import float32
from .core.modes import no_grad
from .core.node import describe
from .core.overrides import disabled_torch_function
from .core.tree import is_sequence, rebuild
from .device import DeviceLike, get_device
from .errors import DeviceError
from .ops.join import stack
from .runtime.exchange import add_up, transfer
from .runtime.run import realize
from .tensor import Tensor

if TYPE_CHECKING:
    from .optim.optimizer import Optimizer

UNSEEN, FINITE, INFINITE = -1, 0, 1  # what unscale_ found since the last update; the maximum counts
OPTIONS = ("growth_factor", "backoff_factor", "growth_interval")


class Scaled(Tensor):
    """A loss times the scale. It keeps the loss itself, which is computed with the step and may be read
    later.
    """

    # the sum of two is a plain tensor
    __torch_function__ = disabled_torch_function  # pyright: ignore[reportAssignmentType] - as PyTorch has it
    unscaled: Tensor


class GradScaler:
    """Scales losses so that float16 gradients do not vanish, skips steps whose gradients are not finite, and
    adjusts the scale: after a skipped step it is multiplied by `backoff_factor`, and after `growth_interval`
    other steps in a row by `growth_factor`. It begins at `init_scale`. If it is not `enabled`, it changes
    nothing.

    All of this happens on the device without waiting, and recorded steps (`fb.jit`) decide again at each
    replay. `device` is where losses are. ValueError for factors and intervals out of range.
    """

    def __init__(
        self,
        device: DeviceLike | None = None,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self._enabled = bool(enabled)
        self._options: dict[str, Any] = dict(
            zip(OPTIONS, (growth_factor, backoff_factor, growth_interval), strict=True)
        )
        for name, value in {"init_scale": init_scale, **self._options}.items():
            _check(name, value)
        if self._enabled:
            to = get_device(device)
            self._scale = Tensor.full((), float(init_scale), float32, device=to)
            self._tracker = Tensor.full((), 0.0, float32, device=to)  # steps in a row that were made
            self._status = Tensor.full((), float(UNSEEN), float32, device=to)
            realize(self._scale, self._tracker, self._status)

    def scale(self, outputs: Any) -> Any:
        """A loss times the scale, or several, in a list or tuple. Call `backward` on the result.

        TypeError for other objects. outputs: the loss, or several.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            self._move_to(outputs.device)  # the scale follows the losses, as in PyTorch
            loss = Scaled((outputs * self._scale).node)
            loss.unscaled = outputs
            return loss
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, cast("Iterable[Any]", outputs))
            return rebuild(outputs, scaled) if is_sequence(outputs) else scaled
        raise TypeError(f"GradScaler.scale({describe(outputs)}): takes a tensor or a list of tensors")

    def unscale_(self, grads: Gradients) -> None:
        """Divide gradients by the scale in place, and record whether all are finite: call it before clipping
        them. `step` calls it otherwise.

        They become float32. TypeError if `grads` is not the result of backward, ValueError if it is already
        unscaled.
        """
        if not _are_gradients(grads):
            rule = "pass the result of backward: grads = scaler.scale(loss).backward(), then unscale_(grads)"
            raise TypeError(f"GradScaler.unscale_({describe(grads)}): {rule}")
        if not self._enabled:
            return
        if grads.found_inf is not None:
            raise ValueError(
                f"GradScaler.unscale_({len(grads)} gradients): they are already unscaled: call it once a step"
            )
        if not len(grads):
            rule = "the container is empty: check that the loss depends on a parameter"
            raise ValueError(f"GradScaler.unscale_(0 gradients): {rule}")
        with no_grad():
            # counted on the device: a test on the host would wait for the backward pass
            home = self._scale.device
            found_inf = add_up((g.isfinite().where(0.0, 1.0).sum() for g in grads), home) > 0.0
            # in float32: a small float16 gradient divided by the scale would become 0
            inverse = 1.0 / self._scale
            grads.map_(lambda g: g.float() * transfer(inverse, g.device))
            loss = grads.loss
            grads.loss = loss.unscaled if isinstance(loss, Scaled) else loss * transfer(inverse, loss.device)
            grads.found_inf = found_inf
            # one infinity in any optimiser's gradients counts for the update
            self._status.assign_(self._status.maximum(found_inf.where(INFINITE, FINITE)))

    def step(self, optimizer: "Optimizer", grads: Gradients, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(grads); if a gradient is not finite, nothing changes.

        TypeError if `grads` is a function, since an optimizer evaluates it several times and each result
        needs the scale. args, kwargs: more for optimizer.step.
        """
        if self._enabled and (not _are_gradients(grads) or grads.found_inf is None):
            self.unscale_(grads)
        return optimizer.step(grads, *args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Compute the next scale, after the steps of all optimisers; or set it to a number or a tensor.

        If nothing was unscaled since the last call, the scale stays.
        """
        if not self._enabled:
            return
        with no_grad():
            if new_scale is not None:
                self._set(new_scale)
            else:
                self._update()
            self._status.assign_(Tensor.full((), float(UNSEEN), float32, device=self._scale.device))
        realize(self._scale, self._tracker, self._status)

    def _update(self) -> None:
        # PyTorch's rule: multiply by backoff after an infinity, by growth after `interval` finite steps in a
        # row.
        growth, backoff, interval = self._options.values()
        is_bad, tracker = self._status == INFINITE, self._tracker + (self._status == FINITE).float()
        is_due = tracker >= interval
        grown = self._scale * growth
        # as in PyTorch, the scale never grows to infinity
        larger = (is_due & grown.isfinite()).where(grown, self._scale)
        self._tracker.assign_((is_bad | is_due).where(0.0, tracker))
        self._scale.assign_(is_bad.where(self._scale * backoff, larger))

    def _set(self, scale: Any) -> None:
        if not isinstance(scale, Tensor):
            _check("new_scale", scale)
            scale = Tensor.full((), float(scale), float32, device=self._scale.device)
        if scale.numel() != 1:
            raise ValueError(
                f"GradScaler.update({describe(scale)}): the scale must be one number: pass a 0-d tensor"
            )
        self._scale.assign_(scale.detach().float().reshape(()))

    def _move_to(self, device: Any) -> None:
        if self._scale.device is not device:
            names = ("_scale", "_tracker", "_status")
            for name in names:
                setattr(self, name, getattr(self, name).to(device))
            realize(*(getattr(self, name) for name in names))

    # --- options ---

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale now, 1.0 of one that is not enabled; waits for the device."""
        return self._scale.item() if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """The factor of the scale after `growth_interval` steps."""
        return self._options["growth_factor"]

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor, above 1; ValueError for others. new_factor: the factor."""
        self._set_option("growth_factor", new_factor)

    def get_backoff_factor(self) -> float:
        """The factor of the scale after a skipped step."""
        return self._options["backoff_factor"]

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor, between 0 and 1; ValueError for others. new_factor: the factor."""
        self._set_option("backoff_factor", new_factor)

    def get_growth_interval(self) -> int:
        """The number of consecutive steps after which the scale grows."""
        return int(self._options["growth_interval"])

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of consecutive steps after which the scale grows; ValueError below 1. new_interval:
        the number."""
        self._set_option("growth_interval", new_interval)

    def _set_option(self, name: str, value: Any) -> None:
        _check(name, value)
        self._options[name] = value

    def state_dict(self) -> dict[str, Any]:
        """All that a later run needs to continue, as in PyTorch; {} if it is not enabled. It waits for the
        device."""
        if not self._enabled:
            return {}
        scale, tracker = stack([self._scale, self._tracker]).tolist()  # with one wait
        return {"scale": scale, **self._options, "_growth_tracker": int(tracker)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state_dict, also PyTorch's; ValueError if a key is missing, as in the state of a
        scaler that is not enabled.
        """
        if not self._enabled:
            return
        missing = [n for n in ("scale", *OPTIONS, "_growth_tracker") if n not in state_dict]
        if missing:
            rule = "it may come from a scaler that was disabled"
            raise ValueError(f"GradScaler.load_state_dict(...): missing: {', '.join(missing)}: {rule}")
        for name in OPTIONS:
            self._set_option(name, state_dict[name])
        for t, name in ((self._scale, "scale"), (self._tracker, "_growth_tracker")):
            t.assign_(Tensor.full((), float(state_dict[name]), float32, device=t.device))
        realize(self._scale, self._tracker)


RULES: dict[str, tuple[Callable[[float], bool], str]] = {
    "init_scale": (lambda v: v > 0, "must be above 0"),
    "new_scale": (lambda v: v > 0, "must be above 0"),
    "growth_factor": (lambda v: v > 1, "must be above 1"),
    "backoff_factor": (lambda v: 0 < v < 1, "must be between 0 and 1"),
    "growth_interval": (lambda v: v >= 1, "must be at least 1"),
}


def _are_gradients(value: Any) -> TypeGuard[Gradients]:
    return isinstance(value, Gradients)


def _check(name: str, value: Any) -> None:
    holds, rule = RULES[name]
    if not holds(value):
        raise ValueError(f"GradScaler({name}={value}): {rule}: pass another value")


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast works for a kind of device: whether there is a device of that kind.

    device_type: "gpu" ("cuda", "mps") or "cpu". ValueError for others.
    """
    try:
        get_device(kind_of(device_type, "is_autocast_available"))
        return True
    except DeviceError:
        return False


__all__ = [
    "GradScaler",
    "autocast",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
]
