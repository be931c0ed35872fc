"""Training and eval mode of models: set it, and restore it for each module."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

Modes = dict[Any, bool]  # module -> whether it trains; outer modules first


def modes_of(model: Any) -> Modes:
    """The mode of each module of a model."""
    return {m: m.training for m in model.modules()}


def restore_modes(modes: Modes) -> None:
    """Restore the modes of modules. Calls `train` only on modules whose mode differs."""
    for m, mode in modes.items():
        if m.training is not mode:
            m.train(mode)


@contextmanager
def in_eval(model: Any) -> Generator[None]:
    """Put a model into eval mode for this block, and restore its modes afterwards."""
    modes = modes_of(model)
    try:
        model.eval()
        yield
    finally:
        restore_modes(modes)


def begin_training(model: Any) -> None:
    """Put a model into training mode, except frozen layers: those in eval mode inside a training module."""
    modes = modes_of(model) if model.training else {}
    model.train()
    for m, mode in modes.items():
        if not mode and m.training:
            # `train(False)` also reaches inner modules, so their modes are restored afterwards.
            m.train(False)
            restore_modes({inner: modes[inner] for inner in m.modules() if inner is not m})
