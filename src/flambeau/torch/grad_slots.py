"""Where `.grad` is kept: a slot of each tensor, or the frame of a recorded call until the call ends."""

import threading
from typing import Any

from ..tensor import Tensor

NOT_SET: Any = object()


class Frame:
    """The gradients that a recorded call sees and sets. A replay can't run Python, so the caller of the
    recording passes gradients in, and stores those that the call returns.

    given: tensors that stand for gradients from before the call. written: gradients set by the call, or None.
    asked: tensors whose gradient was read before the call set it.
    """

    def __init__(self, given: dict[int, Tensor]):
        self.given = given
        self.written: dict[int, tuple[Tensor, Any]] = {}
        self.asked: dict[int, Tensor] = {}

    def read(self, t: Tensor) -> Any:
        """The gradient of a tensor as the call sees it."""
        key = id(t)
        if key in self.written:
            return self.written[key][1]
        self.asked[key] = t
        return self.given[key] if key in self.given else _stored(t)

    def write(self, t: Tensor, gradient: Any) -> None:
        """Set the gradient of a tensor for the rest of the call."""
        self.written[id(t)] = t, gradient


class _Current(threading.local):
    frame: Frame | None = None


current = _Current()


def _stored(t: Tensor) -> Any:
    try:
        return t.gradient
    except AttributeError:  # the slot is empty until the first gradient
        return None


def read(t: Tensor) -> Any:
    """The gradient of a tensor; None if it has none."""
    frame = current.frame
    return _stored(t) if frame is None else frame.read(t)


def write(t: Tensor, gradient: Any) -> None:
    """Set the gradient of a tensor."""
    frame = current.frame
    if frame is None:
        t.gradient = gradient
    else:
        frame.write(t, gradient)
