"""The device of shapes: tensors on "meta" have a shape and a dtype, and no value."""

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ..core.dtype import DType
from ..core.limits import Limits
from ..core.node import Node
from ..core.shape import Shape
from ..errors import FlambeauError
from .cpu import Array
from .protocol import Caches


class NoValue(FlambeauError, NotImplementedError):
    """A value of a tensor on the meta device was read."""

    def __init__(self, call: str = "") -> None:
        start = f"{call}: " if call else ""
        cure = "use Module.to_empty(device=...) or empty_like(x, device=...), and load values"
        super().__init__(f"{start}Cannot copy out of meta tensor; no data!: its device is 'meta': {cure}")


class MetaDevice(Caches):
    """The device "meta": operations compute shapes and dtypes; a read raises NoValue."""

    kind: Literal["cpu"] = "cpu"  # not a GPU: it has no memory and takes every dtype
    holds_values = False
    name = "meta"
    lost = pool = adapter = identity = None
    can_wait = True
    xp: Any  # a read of it raises
    numpy: Any

    def __init__(self) -> None:
        super().__init__()
        self.limits = Limits()
        self.lock = threading.RLock()
        self.fault: Any = None

    def __repr__(self) -> str:
        return self.name

    def store(self, data: Any, shape: Shape, dtype: DType) -> Array:
        """The place of a value, without its data."""
        return Array(None)

    def hold(self, array: Any) -> Array:
        """The place of a value, without its data."""
        return Array(None)

    def take(self, array: Any, device: Any, dtype: Any) -> Array:
        """The place of another device's value, without its data."""
        return Array(None)

    def load(self, array: Array, dtype: DType) -> NoReturn:
        """Raise NoValue."""
        raise NoValue

    def compute(self, roots: Iterable[Node], order: list[Node] | None = None) -> None:
        """Mark the values as computed, so that their graphs are dropped."""
        for n in roots:
            n.buffer = Array(None)

    def __getattr__(self, name: str) -> Any:
        if name in ("xp", "numpy"):  # an array device's library: something asks for values
            raise NoValue
        raise AttributeError(f"MetaDevice has no attribute {name!r}", name=name, obj=self)

    def wait(self) -> None:
        """Do nothing: nothing runs."""

    def keep_pace(self) -> None:
        """Do nothing: nothing runs."""

    def after_fork(self) -> None:
        """Replace the lock in a forked child, because its holder does not exist there."""
        self.lock = threading.RLock()


if TYPE_CHECKING:
    from .protocol import Arrays

    IS_A_DEVICE: type[Arrays] = MetaDevice
