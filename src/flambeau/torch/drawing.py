"""Random numbers of torch mode: PyTorch's own on the CPU, and the state of the default generator."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from ..core import dtype as dt
from ..errors import ValueError
from ..ops import random as philox
from ..ops.mersenne import MersenneGenerator, use_torch_numbers
from ..ops.mersenne import default_generator as default_generator
from ..ops.random import manual_seed as manual_seed
from ..tensor import Tensor, tensor
from .switch import at_start


def _generator() -> MersenneGenerator:
    host = philox.defaults.host
    assert isinstance(host, MersenneGenerator)  # torch mode is on
    return host


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


def seed_gpu(seed: int) -> None:
    """Seed the random numbers of GPUs."""
    philox.generator.manual_seed(seed)


def get_gpu_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the GPU's random numbers: seed and position. device: accepted and ignored: there is one
    stream. -> [16], uint8"""
    raw = b"".join(word.to_bytes(8, "little") for word in philox.generator.get_state())
    return tensor(list(raw), dtype=dt.uint8, device="cpu")


def set_gpu_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Continue the GPU's random numbers from a state of torch.cuda.get_rng_state. ValueError for other
    tensors. device: accepted and ignored."""
    raw = bytes(new_state.tolist())
    if len(raw) != 16:
        raise ValueError(f"set_rng_state({len(raw)} bytes): takes the 16 bytes of torch.cuda.get_rng_state()")
    seed, position = (int.from_bytes(raw[i : i + 8], "little") for i in (0, 8))
    philox.generator.set_state((seed, position))


def get_rng_state_all() -> list[Tensor]:
    """The state of the GPU's random numbers, in a list."""
    return [get_gpu_rng_state()]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Continue the GPU's random numbers from get_rng_state_all."""
    for state in new_states:
        set_gpu_rng_state(state)


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
