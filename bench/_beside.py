"""Peers that run in the same process: what they make of an array, and how to wait for them."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Peer(NamedTuple):
    """A framework: its name here, its tensor of a NumPy array, how a result is computed, how to wait."""

    name: str
    tensor: Callable[[Any], Any]
    run: Callable[[Any], object]
    wait: Callable[[], object]


def torch_here() -> Peer:
    """PyTorch on the card that it sees, else on the CPU."""
    import torch

    cuda = torch.cuda.is_available()
    wait = torch.cuda.synchronize if cuda else lambda: None
    place = "cuda" if cuda else "cpu"
    return Peer(f"torch {place}", lambda a: torch.tensor(a, device=place), lambda y: y, wait)


def tinygrad_here() -> Peer:
    """tinygrad on WebGPU through Dawn."""
    from peers.tinygrad_side import choose_webgpu

    choose_webgpu()
    from tinygrad import Device, Tensor

    def run(y):
        return [t.realize() for t in (y if isinstance(y, tuple) else (y,))]

    return Peer(
        "tinygrad WEBGPU", lambda a: Tensor(a).realize(), run, lambda: Device[Device.DEFAULT].synchronize()
    )


PEERS = {"torch": torch_here, "tinygrad": tinygrad_here}


def installed(names: list[str]) -> list[Peer]:
    """The peers asked for that are here; those that are not are named on stdout."""
    found = []
    for name in names:
        try:
            found.append(PEERS[name]())
        except ImportError as e:
            print(f"{name}: left out: {e}")
    return found
