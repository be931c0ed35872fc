"""torch.utils.checkpoint."""

from typing import Any

from ..autodiff.checkpoint import checkpoint as _checkpoint


def checkpoint(
    function: Any,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), whose values backward computes again. The other arguments are ignored."""
    return _checkpoint(lambda *a: function(*a, **kwargs), *args)
