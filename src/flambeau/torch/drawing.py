"""Random numbers of torch mode: PyTorch's own on the CPU, and the state of the default generator."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from ..ops import random as philox
from ..ops.mersenne import MersenneGenerator, use_torch_numbers
from ..tensor import Tensor
from .switch import at_start


class _DefaultGenerator:
    """torch.default_generator, which is another one in a loader's worker."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_generator(), name)


def _generator() -> MersenneGenerator:
    host = philox.defaults.host
    assert isinstance(host, MersenneGenerator)  # torch mode is on
    return host


default_generator: Any = _DefaultGenerator()


def get_rng_state() -> Tensor:
    """The state of the CPU's random numbers. -> [5056], uint8"""
    return _generator().get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue from a state of get_rng_state. ValueError for another tensor."""
    _generator().set_state(new_state)


def initial_seed() -> int:
    """The seed of the default generator."""
    return _generator().initial_seed()


def seed() -> int:
    """Seed the random numbers from the operating system; returns the seed."""
    number = philox.seed()
    _generator().manual_seed(number)
    return number


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "", _devices_kw: str = "",
    device_type: str = "cuda",
) -> Generator[None]:  # fmt: skip
    """Restore the state of the random numbers of all devices after the block.

    devices, device_type: accepted and ignored. enabled: False does nothing.
    """
    if not enabled:
        yield
        return
    before, position = get_rng_state(), philox.generator.get_state()
    try:
        yield
    finally:
        set_rng_state(before)
        philox.generator.set_state(position)


@at_start
def _use_torch_numbers() -> Callable[[], None]:
    """The CPU draws PyTorch's numbers; afterwards Philox's, as GPUs do."""
    use_torch_numbers()
    return lambda: use_torch_numbers(False)
