"""Peers that run in the same process: what they make of an array, and how to wait for them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from _measure import interleave, queued, show_table


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


def show_speeds(title: str, table: dict[str, tuple], seconds: float) -> None:
    """Time contestants, name: (call, wait, bytes that must move), and show each beside the one named copy."""
    found = interleave(
        {name: (lambda s, c=c, w=w: queued(c, w, s)) for name, (c, w, _) in table.items()}, 3, seconds
    )
    speed = {name: max(t.rate for t in timings) * table[name][2] / 1e9 for name, timings in found.items()}
    rows = [(name, f"{s:.1f}", f"{s / speed['copy']:.2f}") for name, s in speed.items()]
    show_table(title, ("what", "GB/s", "/ copy"), rows)
