"""Whether models train or evaluate: put into one, and back as they were, each module by its own `train`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Modes = dict[Any, bool]  # of modules, outer ones first


def modes_of(model: Any) -> Modes:
    """Which modules train."""
    return {m: m.training for m in model.modules()}


def restore_modes(modes: Modes) -> None:
    """Have modules train or not as they did; those that do so already are not called."""
    for m, mode in modes.items():
        if m.training is not mode:
            m.train(mode)


@contextmanager
def in_eval(model: Any) -> Iterator[None]:
    """A model that evaluates in this block, and after it, whatever is raised, does what it did."""
    modes = modes_of(model)
    try:
        model.eval()
        yield
    finally:
        restore_modes(modes)


def begin_training(model: Any) -> None:
    """Put a model into training, but for layers in eval inside of one that trains: somebody froze them."""
    modes = modes_of(model) if model.training else {}
    model.train()
    for m, mode in modes.items():
        if not mode and m.training:
            m.train(False)
            restore_modes({inner: modes[inner] for inner in m.modules() if inner is not m})
