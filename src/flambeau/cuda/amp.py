"""PyTorch's torch.cuda.amp: flambeau.amp for the GPU, with arguments in the order of older scripts."""

from .. import amp
from ..core.dtype import DTypeLike, float16


def autocast(enabled: bool = True, dtype: DTypeLike = float16, cache_enabled: bool = True) -> amp.autocast:
    """Return fb.autocast("gpu", dtype, enabled)."""
    return amp.autocast("gpu", dtype, enabled, cache_enabled)


def GradScaler(
    init_scale: float = 2.0**16,
    growth_factor: float = 2.0,
    backoff_factor: float = 0.5,
    growth_interval: int = 2000,
    enabled: bool = True,
) -> amp.GradScaler:
    """Return fb.GradScaler("gpu", ...)."""
    return amp.GradScaler("gpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__all__ = ["GradScaler", "autocast"]
