"""torch.utils.checkpoint: calls whose values backward computes again."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..autodiff.checkpoint import checkpoint as _checkpoint
from ..errors import ValueError


def checkpoint(
    function: Any,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = None,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), whose values backward computes again. use_reentrant, context_fn,
    determinism_check, debug, early_stop and preserve_rng_state are accepted and ignored."""
    for name in ("determinism_check", "debug", "early_stop", "preserve_rng_state"):
        kwargs.pop(name, None)

    def call(*values: Any) -> Any:
        return function(*values, **kwargs)

    return _checkpoint(call, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **_more: Any
) -> Any:
    """The functions one after the other, in segments whose values backward computes again, except the last.

    functions: modules or functions, or a Sequential. segments: how many parts they are divided into.
    """
    listed = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if segments > len(listed):
        rule = "there are fewer functions than segments: pass a smaller number"
        raise ValueError(f"checkpoint_sequential({len(listed)} functions, {segments}): {rule}")
    size = len(listed) // segments

    def of(part: list[Any]) -> Any:
        def run(x: Any) -> Any:
            for f in part:
                x = f(x)
            return x

        return run

    for i in range(segments - 1):
        input = checkpoint(of(listed[i * size : (i + 1) * size]), input)
    return of(listed[(segments - 1) * size :])(input)


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts that do nothing."""
    return nullcontext(), nullcontext()


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """A context that does nothing: backward computes only the values that it needs."""
    return nullcontext()


set_checkpoint_debug_enabled = set_checkpoint_early_stop
