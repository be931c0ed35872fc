"""Where `.grad` is kept: a slot of each tensor, or the frame of a recorded call until the call ends."""

import threading
from typing import Any

from ..tensor import Tensor


class Frame:
    """The gradients that a recorded call sees and sets. A replay runs no Python, so the caller of the
    recording passes gradients in, and stores those that the call returns.

    initial: tensors that represent gradients from before the call, by the id of their leaf. now: the
    gradients of leaves that the call has read or set, with the leaf. asked: leaves whose gradient was read
    before it was set. cleared: leaves whose gradient was set, so it is another object than before.
    outside: leaves in `asked` whose gradient was not among the initial ones.
    """

    def __init__(self, initial: dict[int, Tensor]):
        self.initial = initial
        self.now: dict[int, tuple[Tensor, Any]] = {}
        self.asked: list[Tensor] = []
        self.cleared: set[int] = set()
        self.outside = False
        self.has_passed = False  # a backward pass ran in the call

    def read(self, leaf: Tensor) -> Any:
        """The gradient of a leaf as the call sees it."""
        key = id(leaf)
        if key not in self.now:
            self.asked.append(leaf)
            initial = self.initial.get(key)
            # a separate tensor: the call may write to it, but not to its arguments
            value = _read_slot(leaf) if initial is None else Tensor(initial.node)
            # A gradient from before the call that the recording did not get: its value would be frozen in
            # replays.
            self.outside = self.outside or (initial is None and value is not None)
            self.now[key] = leaf, value
        return self.now[key][1]

    def write(self, leaf: Tensor, gradient: Any) -> None:
        """Set the gradient of a leaf for the rest of the call."""
        key = id(leaf)
        self.cleared.add(key)
        self.now[key] = leaf, gradient

    def add(self, leaf: Tensor, total: Tensor) -> None:
        """Set the gradient of a leaf that had one: the same object has another value."""
        self.now[id(leaf)] = leaf, total


class _Current(threading.local):
    frame: Frame | None = None


current = _Current()


def _read_slot(t: Tensor) -> Any:
    try:
        return t.gradient
    except AttributeError:  # the slot is empty until the first gradient
        return None


def read(t: Tensor) -> Any:
    """The gradient of a tensor; None if it has none."""
    frame = current.frame
    return _read_slot(t) if frame is None or t.node.param is None else frame.read(t)


def write(t: Tensor, gradient: Any) -> None:
    """Set the gradient of a tensor."""
    frame = current.frame
    if frame is None or t.node.param is None:
        t.gradient = gradient
    else:
        frame.write(t, gradient)


def add(t: Tensor, before: Tensor, gradient: Tensor) -> Tensor:
    """Add to `before`, the gradient of a tensor, in place; returns it."""
    frame = current.frame
    if frame is None or t.node.param is None:
        return before.assign_(before + gradient.to(before.dtype))
    total = before + gradient.to(before.dtype)
    frame.add(t, total)
    return total
